#include "core/next_symbol.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

namespace wavescope {
namespace {

struct Search {
  const char* const* prefixes;
  std::vector<std::string> paths;
};

const char* file_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

int note_library(dl_phdr_info* library, std::size_t, void* opaque) {
  auto* search = static_cast<Search*>(opaque);
  for (const char* const* prefix = search->prefixes; *prefix != nullptr; ++prefix) {
    if (std::strncmp(file_name(library->dlpi_name), *prefix, std::strlen(*prefix)) == 0) {
      search->paths.emplace_back(library->dlpi_name);
    }
  }
  return 0;
}

void* symbol_of(const std::string& path, const char* symbol) {
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* found = linker_dlsym()(library, symbol);
  dlclose(library);
  return found;
}

}  // namespace

Dlsym linker_dlsym() {
  static std::atomic<Dlsym> known{nullptr};
  Dlsym found = known.load(std::memory_order_relaxed);
  if (found != nullptr) return found;
  // Since it moved from libdl to libc it has both versions.
  for (const char* version : {"GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.17"}) {
    if ((found = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", version))) != nullptr) break;
  }
  known.store(found, std::memory_order_relaxed);
  return found;
}

void* next_symbol(const char* symbol, const char* const* libraries) {
  void* found = dlsym(RTLD_NEXT, symbol);
  if (found == nullptr) {
    // The libraries are only noted inside the walk: it holds a lock of the linker that dlopen takes the other way round.
    Search search{libraries, {}};
    dl_iterate_phdr(note_library, &search);
    for (std::size_t i = 0; i < search.paths.size() && found == nullptr; ++i) found = symbol_of(search.paths[i], symbol);
  }
  dlerror();  // the program must not read our failure as its own
  return found;
}

}  // namespace wavescope
