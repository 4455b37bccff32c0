// Header-only NVTX 3, of which the test plays the program's side: tables of functions that a tool may replace.
#include <string>
#include <vector>

#include "check.h"
#include "recorded_session.h"

extern "C" int InitializeInjectionNvtx2(const void* (*get_export_table)(uint32_t));

namespace {

using FunctionPointer = void (*)();

struct Event {
  uint16_t version = 3;
  uint16_t bytes = 0;
  uint32_t category = 0;
  int32_t color_type = 0;
  uint32_t color = 0;
  int32_t payload_type = 0;
  int32_t reserved = 0;
  uint64_t payload = 0;
  int32_t message_type = 0;
  const void* message = nullptr;

  Event(int32_t type, const void* text) : message_type(type), message(text) { bytes = sizeof *this; }
};

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

template <typename Signature, typename... Arguments>
auto call(FunctionPointer function, Arguments... arguments) {
  CHECK(function != nullptr);
  return reinterpret_cast<Signature*>(function)(arguments...);
}

void unknown_tables_are_left_alone() {
  CHECK(InitializeInjectionNvtx2(nullptr) == 0);
  CHECK(InitializeInjectionNvtx2([](uint32_t) -> const void* { return nullptr; }) == 0);
  CHECK(InitializeInjectionNvtx2(get_export_table) == 1);  // all places are empty, nothing is put anywhere
  CHECK(core[9] == nullptr);
}

void every_way_to_mark_is_recorded(const RecordedSession& session) {
  for (int place = 0; place < 16; ++place) {
    core_table[place] = &core[place];
    domain_table[place] = &domains[place];
  }
  CHECK(InitializeInjectionNvtx2(get_export_table) == 1);
  CHECK(core[0] == nullptr && core[12] == nullptr && domains[12] == nullptr);

  CHECK(call<int(const char*)>(core[9], "plain") == 0);
  const Event wide(2, L"wide \u00fc");
  CHECK(call<int(const Event*)>(core[8], &wide) == 1);
  const void* handle = call<const void*(void*, const char*)>(domains[10], nullptr, "registered");
  const Event registered(3, handle);
  CHECK(call<int(void*, const Event*)>(domains[4], nullptr, &registered) == 2);
  CHECK(call<int(void*)>(domains[5], nullptr) == 2);
  CHECK(call<int()>(core[11]) == 1 && call<int()>(core[11]) == 0);
  const Event ascii(1, "started");
  const auto id = call<uint64_t(const Event*)>(core[4], &ascii);
  call<void(void*, uint64_t)>(domains[3], nullptr, id);
  call<void(const char*)>(core[2], "moment");
  Event old(1, "too old to have a message");
  old.bytes = 16;
  call<void(const Event*)>(core[1], &old);

  const auto texts = session.texts();
  std::vector<std::string> names;
  for (const auto& record : session.records<WavescopeMarkerRecord>("markers")) {
    CHECK((record.flags & WAVESCOPE_MARKER_NVTX) != 0 && record.kind != WAVESCOPE_MARKER_OPEN);
    names.push_back(texts.at(record.text));
  }
  CHECK((names == std::vector<std::string>{"plain", "wide \u00fc", "registered", "started", "moment", ""}));
}

}  // namespace

int main() {
  const RecordedSession session("standard");
  unknown_tables_are_left_alone();
  every_way_to_mark_is_recorded(session);
  return 0;
}
