// The program's side of NVTX 3: a table of functions that the injected library fills in.
#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

#include "cuda_program.h"

namespace {

using FunctionPointer = void (*)();
FunctionPointer core[16], domains[16];
FunctionPointer* core_table[16];
FunctionPointer* domain_table[16];

int get_module_functions(int module, FunctionPointer*** table, unsigned* count) {
  if (module != 1 && module != 5) return 0;
  *table = module == 1 ? core_table : domain_table;
  *count = 16;
  return 1;
}

struct {
  std::size_t bytes = sizeof *this;
  int (*get)(int, FunctionPointer***, unsigned*) = get_module_functions;
} callbacks;

const void* get_export_table(uint32_t id) { return id == 1 ? &callbacks : nullptr; }

void begin() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (int place = 0; place < 16; ++place) {
      core_table[place] = &core[place];
      domain_table[place] = &domains[place];
    }
    const char* path = std::getenv("NVTX_INJECTION64_PATH");
    void* library = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY);
    if (library == nullptr) return;
    using Begin = int(const void* (*)(uint32_t));
    auto* function = reinterpret_cast<Begin*>(dlsym(library, "InitializeInjectionNvtx2"));
    if (function != nullptr) function(get_export_table);
  });
}

template <typename Signature, typename... Arguments>
void call(int place, Arguments... arguments) {
  begin();
  if (core[place] != nullptr) reinterpret_cast<Signature*>(core[place])(arguments...);
}

}  // namespace

Range::Range(const char* text) { call<int(const char*)>(9, text); }
Range::~Range() { call<int()>(11); }
void mark(const char* text) { call<void(const char*)>(2, text); }
