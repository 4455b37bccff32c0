// Header-only NVTX 3, of which the test plays the program's side: tables of functions that a tool may replace.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "check.h"
#include "collector_roctx/next_function.h"
#include "collector_roctx/nvtx_event.h"
#include "core/thread_state.h"
#include "recorded_session.h"

extern "C" int InitializeInjectionNvtx2(const void* (*get_export_table)(uint32_t));
extern "C" void nvtxMarkEx(const void* event);

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
  CHECK(core[0] == nullptr && domains[6] == nullptr && domains[14] == nullptr);

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
    CHECK(record.domain == 0 && record.payload_kind == WAVESCOPE_PAYLOAD_NONE && record.category == 0);
    CHECK((record.flags & WAVESCOPE_MARKER_NVTX) != 0 && record.kind != WAVESCOPE_MARKER_OPEN);
    names.push_back(texts.at(record.text));
  }
  CHECK((names == std::vector<std::string>{"plain", "wide \u00fc", "registered", "started", "moment", ""}));
}

// Functions by their places in NVTX's tables.
const void* create_domain(const char* name) { return call<const void*(const char*)>(domains[12], name); }
int push(const void* domain, const Event& event) { return call<int(const void*, const Event*)>(domains[4], domain, &event); }
int pop(const void* domain) { return call<int(const void*)>(domains[5], domain); }

std::map<std::string, WavescopeMarkerRecord> markers_by_text(const RecordedSession& session) {
  std::map<std::string, WavescopeMarkerRecord> found;
  const auto texts = session.texts();
  for (const auto& record : session.records<WavescopeMarkerRecord>("markers")) found[texts.at(record.text)] = record;
  return found;
}

void domains_nest_by_themselves(const RecordedSession& session) {
  const void* library = create_domain("a library");
  const void* other = call<const void*(const wchar_t*)>(domains[13], L"\u00fcber");
  CHECK(library != nullptr && other != nullptr && library != other && create_domain("a library") == library);
  CHECK(create_domain(nullptr) == nullptr);

  CHECK(push(nullptr, Event(1, "phase")) == 0);
  CHECK(push(library, Event(1, "outer")) == 0);
  CHECK(push(library, Event(1, "inner")) == 1);
  CHECK(push(other, Event(1, "elsewhere")) == 0);
  const uint32_t innermost = wavescope::current_marker();
  CHECK(pop(nullptr) == 0 && pop(nullptr) == -1);  // "phase" ends although others are open
  CHECK(wavescope::current_marker() == innermost);
  const auto open = markers_by_text(session);
  CHECK(open.at("phase").kind == WAVESCOPE_MARKER_RANGE && open.at("inner").kind == WAVESCOPE_MARKER_OPEN);
  CHECK(pop(library) == 1 && pop(library) == 0 && pop(library) == -1);
  CHECK(markers_by_text(session).at("elsewhere").kind == WAVESCOPE_MARKER_OPEN);
  CHECK(wavescope::current_marker() == innermost);
  CHECK(pop(other) == 0 && wavescope::current_marker() == 0);

  const auto markers = markers_by_text(session);
  const auto texts = session.texts();
  CHECK(markers.at("phase").domain == 0);
  CHECK(texts.at(markers.at("outer").domain) == "a library");
  CHECK(markers.at("inner").domain == markers.at("outer").domain && markers.at("inner").depth == 2);
  CHECK(texts.at(markers.at("elsewhere").domain) == "\u00fcber");
  CHECK(markers.at("inner").parent == markers.at("outer").id && markers.at("outer").parent == markers.at("phase").id);
  CHECK(markers.at("inner").end >= markers.at("inner").start && markers.at("outer").end >= markers.at("inner").end);

  const Event started(1, "started in a domain");
  const auto id = call<uint64_t(const void*, const Event*)>(domains[2], library, &started);
  call<void(const void*, uint64_t)>(domains[3], library, id);
  const Event moment(1, "moment in a domain");
  call<void(const void*, const Event*)>(domains[1], other, &moment);
  CHECK(markers_by_text(session).at("started in a domain").domain == markers.at("outer").domain);
  CHECK(markers_by_text(session).at("moment in a domain").domain == markers.at("elsewhere").domain);
}

template <typename Number>
Event event_with(const char* text, int32_t type, Number number) {
  Event event(1, text);
  event.payload = UINT64_MAX;  // what a program leaves behind a short number
  std::memcpy(&event.payload, &number, sizeof number);
  event.payload_type = type;
  return event;
}

void payloads_are_kept(const RecordedSession& session) {
  const auto mark = [](const Event& event) { call<void(const Event*)>(core[1], &event); };
  mark(event_with("uint64", 1, uint64_t{1} << 63));
  mark(event_with("int64", 2, int64_t{-5}));
  mark(event_with("double", 3, 0.5));
  mark(event_with("uint32", 4, 4000000000u));
  mark(event_with("int32", 5, -7));
  mark(event_with("float", 6, 1.5f));
  mark(event_with("unknown", 7, 1));
  const auto markers = markers_by_text(session);
  CHECK(markers.at("uint64").payload == uint64_t{1} << 63 && markers.at("uint64").payload_kind == WAVESCOPE_PAYLOAD_UINT64);
  CHECK(markers.at("int64").payload == static_cast<uint64_t>(-5) && markers.at("int64").payload_kind == 2);
  CHECK(markers.at("double").payload == 0x3fe0000000000000 && markers.at("double").payload_kind == 3);
  CHECK(markers.at("uint32").payload == 4000000000u && markers.at("uint32").payload_kind == 4);
  CHECK(markers.at("int32").payload == 0xfffffff9 && markers.at("int32").payload_kind == 5);
  CHECK(markers.at("float").payload == 0x3fc00000 && markers.at("float").payload_kind == 6);
  CHECK(markers.at("unknown").payload == 0 && markers.at("unknown").payload_kind == WAVESCOPE_PAYLOAD_NONE);
}

void names_are_kept(const RecordedSession& session) {
  const void* domain = create_domain("a library");
  call<void(uint32_t, const char*)>(core[12], 3, "loading");
  call<void(const void*, uint32_t, const wchar_t*)>(domains[9], domain, 4, L"saving");
  call<void(uint32_t, const wchar_t*)>(core[15], 1234, L"reader");
  CHECK(session.facts("\"fact\":\"category\"") ==
        (std::vector<std::string>{"{\"fact\":\"category\",\"category\":3,\"name\":\"loading\"}\n",
                                  "{\"fact\":\"category\",\"domain\":\"a library\",\"category\":4,\"name\":\"saving\"}\n"}));
  CHECK(session.facts("\"fact\":\"thread\"") ==
        std::vector<std::string>{"{\"fact\":\"thread\",\"thread\":1234,\"name\":\"reader\"}\n"});
  Event event(1, "of a category"), high(1, "of one that is too high");
  event.category = 3;
  high.category = 70000;
  call<void(const Event*)>(core[1], &event);
  call<void(const Event*)>(core[1], &high);
  CHECK(markers_by_text(session).at("of a category").category == 3);
  CHECK(markers_by_text(session).at("of one that is too high").category == 0);
}

// The real libnvToolsExt calls the functions that were put into its tables, while ours call it.
void what_is_passed_on_is_recorded_once(const RecordedSession& session) {
  const std::size_t before = session.records<WavescopeMarkerRecord>("markers").size();
  {
    const wavescope::roctx::PassingOn passing_on;
    const Event event(1, "again");
    CHECK(call<int(const char*)>(core[9], "again") == 0 && push(nullptr, event) == 0 && pop(nullptr) == 0);
    CHECK(call<uint64_t(const char*)>(core[5], "again") == 0);
    call<void(const char*)>(core[2], "again");
    call<void(const Event*)>(core[1], &event);
  }
  CHECK(session.records<WavescopeMarkerRecord>("markers").size() == before);
  CHECK(wavescope::current_marker() == 0);
  call<void(const char*)>(core[2], "once");
  CHECK(session.records<WavescopeMarkerRecord>("markers").size() == before + 1);
}

// The classic functions cannot tell whose handle a registered text is.
void handles_of_others_are_not_touched(const RecordedSession& session) {
  const int somebody_elses = 0;
  const Event foreign(3, &somebody_elses);
  nvtxMarkEx(&foreign);
  const Event ours(3, call<const void*(void*, const char*)>(domains[10], nullptr, "registered here"));
  nvtxMarkEx(&ours);
  const auto records = session.records<WavescopeMarkerRecord>("markers");
  const auto texts = session.texts();
  CHECK(texts.at(records[records.size() - 2].text).empty() && texts.at(records.back().text) == "registered here");
}

void children_name_domains_anew(const RecordedSession& session) {
  const void* domain = create_domain("a library");
  const pid_t child = fork();
  if (child == 0) {
    call<void(const char*)>(core[2], "first");
    push(domain, Event(1, "in the child"));
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  const auto records = session.records<WavescopeMarkerRecord>("markers", child);
  CHECK(records.size() == 2);
  CHECK(session.texts(child).at(records[1].domain) == "a library");
}

}  // namespace

int main() {
  const RecordedSession session("standard");
  unknown_tables_are_left_alone();
  every_way_to_mark_is_recorded(session);
  domains_nest_by_themselves(session);
  payloads_are_kept(session);
  names_are_kept(session);
  what_is_passed_on_is_recorded_once(session);
  handles_of_others_are_not_touched(session);
  children_name_domains_anew(session);
  return 0;
}
