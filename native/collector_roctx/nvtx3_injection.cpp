// Header-only NVTX 3: it exports nothing, but at its first use in a program it opens the library that NVTX_INJECTION64_PATH
// names and lets it put its own functions into NVTX's tables. Every module of a program that carries the header does so.
//
// Ranges of all domains of a thread are nested in one another here, as they are in time.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "collector_roctx/markers.h"
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
  kThreadA = 14
};
enum DomainFunction { kDomainMark = 1, kDomainStart, kDomainEnd, kDomainPush, kDomainPop, kRegisterA = 10, kRegisterW = 11 };

using FunctionPointer = void (*)();
struct Callbacks {
  std::size_t bytes;
  int (*get_module_functions)(int module, FunctionPointer*** table, unsigned* count);
};

// The text of an event; a registered one is a handle that we gave out.
std::string text_of(const EventAttributes* event) {
  const bool is_registered = has_message(event) && event->message_type == MessageType::kRegistered;
  return is_registered ? *static_cast<const std::string*>(event->message) : text_in(event);
}

void mark_ex(const EventAttributes* event) { mark(text_of(event).c_str(), kNvtx); }
void mark_a(const char* text) { mark(text, kNvtx); }
void mark_w(const wchar_t* text) { mark(utf8_of(text).c_str(), kNvtx); }
uint64_t start_ex(const EventAttributes* event) { return start_range(text_of(event).c_str(), kNvtx, 0); }
uint64_t start_a(const char* text) { return start_range(text, kNvtx, 0); }
uint64_t start_w(const wchar_t* text) { return start_range(utf8_of(text).c_str(), kNvtx, 0); }
void end(uint64_t id) { stop_range(id); }
int push_ex(const EventAttributes* event) { return push_range(text_of(event).c_str(), kNvtx); }
int push_a(const char* text) { return push_range(text, kNvtx); }
int push_w(const wchar_t* text) { return push_range(utf8_of(text).c_str(), kNvtx); }
int pop() { return pop_range(); }
void name_thread(uint32_t thread, const char* name) {
  Session* session = Session::current();
  if (session != nullptr && name != nullptr) session->facts().append(Fact("thread").add("thread", thread).add("name", name));
}

void domain_mark(void*, const EventAttributes* event) { mark_ex(event); }
uint64_t domain_start(void*, const EventAttributes* event) { return start_ex(event); }
void domain_end(void*, uint64_t id) { end(id); }
int domain_push(void*, const EventAttributes* event) { return push_ex(event); }
int domain_pop(void*) { return pop(); }
// Each text once and never freed: a program may use the handle until its end.
const void* registered(const std::string& text) {
  static std::mutex& mutex = *new std::mutex;
  static std::set<std::string>& texts = *new std::set<std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  return &*texts.insert(text).first;
}
const void* register_a(void*, const char* text) { return registered(text == nullptr ? "" : text); }
const void* register_w(void*, const wchar_t* text) { return registered(utf8_of(text)); }

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
  table.put(kThreadA, name_thread);
}

void put_domains(const FunctionTable& table) {
  table.put(kDomainMark, domain_mark);
  table.put(kDomainStart, domain_start);
  table.put(kDomainEnd, domain_end);
  table.put(kDomainPush, domain_push);
  table.put(kDomainPop, domain_pop);
  table.put(kRegisterA, register_a);
  table.put(kRegisterW, register_w);
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
