// Header-only NVTX 3: it exports nothing, but at its first use in a program it opens the library that NVTX_INJECTION64_PATH
// names and lets it put its own functions into NVTX's tables. Every module of a program that carries the header does so.
//
// Ranges of all domains of a thread are nested in one another here, as they are in time; a pop closes the innermost one of
// its own domain.
#include <cstddef>
#include <cstdint>
#include <string>

#include "collector_roctx/markers.h"
#include "collector_roctx/next_function.h"
#include "collector_roctx/nvtx_domains.h"
#include "collector_roctx/nvtx_event.h"
#include "core/facts_log.h"
#include "core/session.h"

namespace wavescope::roctx {
namespace {

// Numbers of NVTX's interface for tools.
constexpr uint32_t kCallbacksTable = 1;
constexpr int kCoreModule = 1;
constexpr int kDomainModule = 5;
enum CoreFunction {
  kMarkEx = 1,
  kMarkA,
  kMarkW,
  kStartEx,
  kStartA,
  kStartW,
  kEnd,
  kPushEx,
  kPushA,
  kPushW,
  kPop,
  kCategoryA,
  kCategoryW,
  kThreadA,
  kThreadW
};
enum DomainFunction {
  kDomainMark = 1,
  kDomainStart,
  kDomainEnd,
  kDomainPush,
  kDomainPop,
  kDomainCategoryA = 8,
  kDomainCategoryW,
  kRegisterA,
  kRegisterW,
  kCreateA,
  kCreateW
};

using FunctionPointer = void (*)();
struct Callbacks {
  std::size_t bytes;
  int (*get_module_functions)(int module, FunctionPointer*** table, unsigned* count);
};

constexpr auto kOurs = EventMarker::Handles::kOurs;

// A domain is a handle that we gave out, or null.
void domain_mark(const NvtxDomain* domain, const EventAttributes* event) {
  if (!PassingOn::is_under_way()) mark(EventMarker(event, domain, kOurs).marker());
}
uint64_t domain_start(const NvtxDomain* domain, const EventAttributes* event) {
  return PassingOn::is_under_way() ? 0 : start_range(EventMarker(event, domain, kOurs).marker(), 0);
}
void domain_end(const NvtxDomain*, uint64_t id) {
  if (!PassingOn::is_under_way()) stop_range(id);
}
int domain_push(const NvtxDomain* domain, const EventAttributes* event) {
  return PassingOn::is_under_way() ? 0 : push_range(EventMarker(event, domain, kOurs).marker());
}
int domain_pop(const NvtxDomain* domain) { return PassingOn::is_under_way() ? 0 : pop_range(domain); }

void mark_ex(const EventAttributes* event) { domain_mark(nullptr, event); }
void mark_a(const char* text) {
  if (!PassingOn::is_under_way()) mark(text, kNvtx);
}
void mark_w(const wchar_t* text) { mark_a(utf8_of(text).c_str()); }
uint64_t start_ex(const EventAttributes* event) { return domain_start(nullptr, event); }
uint64_t start_a(const char* text) { return PassingOn::is_under_way() ? 0 : start_range(text, kNvtx, 0); }
uint64_t start_w(const wchar_t* text) { return start_a(utf8_of(text).c_str()); }
void end(uint64_t id) { domain_end(nullptr, id); }
int push_ex(const EventAttributes* event) { return domain_push(nullptr, event); }
int push_a(const char* text) { return PassingOn::is_under_way() ? 0 : push_range(text, kNvtx); }
int push_w(const wchar_t* text) { return push_a(utf8_of(text).c_str()); }
int pop() { return domain_pop(nullptr); }

void name_thread(uint32_t thread, const char* name) {
  Session* session = Session::current();
  if (session != nullptr && name != nullptr) session->facts().append(Fact("thread").add("thread", thread).add("name", name));
}
void name_thread_w(uint32_t thread, const wchar_t* name) {
  if (name != nullptr) name_thread(thread, utf8_of(name).c_str());
}
void name_domain_category(const NvtxDomain* domain, uint32_t category, const char* name) {
  Session* session = Session::current();
  if (session == nullptr || name == nullptr) return;
  Fact fact("category");
  if (domain != nullptr) fact.add("domain", domain->name());
  session->facts().append(fact.add("category", category).add("name", name));
}
void name_domain_category_w(const NvtxDomain* domain, uint32_t category, const wchar_t* name) {
  if (name != nullptr) name_domain_category(domain, category, utf8_of(name).c_str());
}
void name_category(uint32_t category, const char* name) { name_domain_category(nullptr, category, name); }
void name_category_w(uint32_t category, const wchar_t* name) { name_domain_category_w(nullptr, category, name); }

const void* register_a(const NvtxDomain*, const char* text) { return nvtx_registered(text == nullptr ? "" : text); }
const void* register_w(const NvtxDomain*, const wchar_t* text) { return nvtx_registered(utf8_of(text)); }
const NvtxDomain* create_a(const char* name) { return name == nullptr ? nullptr : nvtx_domain(name); }
const NvtxDomain* create_w(const wchar_t* name) { return name == nullptr ? nullptr : nvtx_domain(utf8_of(name)); }

class FunctionTable {
 public:
  FunctionTable(const Callbacks& callbacks, int module) {
    if (callbacks.get_module_functions(module, &functions_, &count_) == 0) functions_ = nullptr;
  }

  template <typename Function>
  void put(unsigned place, Function* function) const {
    if (functions_ == nullptr || place >= count_ || functions_[place] == nullptr) return;
    *functions_[place] = reinterpret_cast<FunctionPointer>(function);
  }

 private:
  FunctionPointer** functions_ = nullptr;
  unsigned count_ = 0;
};

void put_core(const FunctionTable& table) {
  table.put(kMarkEx, mark_ex);
  table.put(kMarkA, mark_a);
  table.put(kMarkW, mark_w);
  table.put(kStartEx, start_ex);
  table.put(kStartA, start_a);
  table.put(kStartW, start_w);
  table.put(kEnd, end);
  table.put(kPushEx, push_ex);
  table.put(kPushA, push_a);
  table.put(kPushW, push_w);
  table.put(kPop, pop);
  table.put(kCategoryA, name_category);
  table.put(kCategoryW, name_category_w);
  table.put(kThreadA, name_thread);
  table.put(kThreadW, name_thread_w);
}

void put_domains(const FunctionTable& table) {
  table.put(kDomainMark, domain_mark);
  table.put(kDomainStart, domain_start);
  table.put(kDomainEnd, domain_end);
  table.put(kDomainPush, domain_push);
  table.put(kDomainPop, domain_pop);
  table.put(kDomainCategoryA, name_domain_category);
  table.put(kDomainCategoryW, name_domain_category_w);
  table.put(kRegisterA, register_a);
  table.put(kRegisterW, register_w);
  table.put(kCreateA, create_a);
  table.put(kCreateW, create_w);
}

}  // namespace
}  // namespace wavescope::roctx

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void* (*get_export_table)(uint32_t)) {
  using namespace wavescope::roctx;
  const auto* callbacks =
      get_export_table == nullptr ? nullptr : static_cast<const Callbacks*>(get_export_table(kCallbacksTable));
  if (callbacks == nullptr || callbacks->bytes < sizeof(Callbacks) || callbacks->get_module_functions == nullptr) return 0;
  put_core(FunctionTable(*callbacks, kCoreModule));
  put_domains(FunctionTable(*callbacks, kDomainModule));
  return 1;
}
