#include "collector_roctx/markers.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "collector_roctx/range_stack.h"
#include "core/clock.h"
#include "core/session.h"

namespace wavescope::roctx {
namespace {

constexpr std::size_t kLongestText = 65536;

// Never destroyed: threads stop ranges until the process is gone.
StartedRanges& started_ranges() {
  static StartedRanges& ranges = *new StartedRanges;
  return ranges;
}
std::atomic<uint32_t> last_unrecorded_id{0};

void forget_parent() {
  thread_ranges().forget_records();
  new (&started_ranges()) StartedRanges;  // what it held belongs to the parent, and its lock may be taken
}

__attribute__((constructor)) void watch_forks() { Session::at_fork_child(forget_parent); }

std::string_view view_of(const char* text) {
  return text == nullptr ? std::string_view("") : std::string_view(text, strnlen(text, kLongestText));
}

Session* recording_session() {
  Session* session = Session::current();
  return session != nullptr && session->recording() ? session : nullptr;
}

// A record with everything but its times and kind; null when it is lost.
WavescopeMarkerRecord* new_marker(Session& session, const Marker& marker) {
  const uint64_t text_id = session.texts().intern(view_of(marker.text));
  const uint32_t domain = marker.domain == nullptr ? 0 : marker.domain->text_in(session);
  WavescopeMarkerRecord* record = session.new_marker();
  if (record == nullptr) return nullptr;
  const ThreadState& thread = thread_state();
  record->flags = marker.flags;
  record->depth = static_cast<uint16_t>(std::min<uint32_t>(thread_ranges().depth(), UINT16_MAX));
  record->thread = thread.thread_id;
  record->id = session.next_marker_id();
  record->parent = thread.marker;
  record->text = text_id;
  record->correlation = thread.correlation;
  record->domain = domain;
  record->category = marker.category;
  record->payload_kind = marker.payload_kind;
  record->payload = marker.payload;
  return record;
}

WavescopeMarkerRecord* open_range(Session& session, const Marker& marker) {
  WavescopeMarkerRecord* record = new_marker(session, marker);
  if (record == nullptr) return nullptr;
  record->start = boottime_ns();
  publish(record, WAVESCOPE_MARKER_OPEN);
  return record;
}

void close_range(WavescopeMarkerRecord* record) {
  record->end = boottime_ns();
  publish(record, WAVESCOPE_MARKER_RANGE);
}

uint32_t number_of(const NvtxDomain* domain) { return domain == nullptr ? 0 : domain->number(); }

}  // namespace

void mark(const Marker& marker) {
  Session* session = recording_session();
  if (session == nullptr) return;
  const uint64_t now_ns = boottime_ns();
  WavescopeMarkerRecord* record = new_marker(*session, marker);
  if (record == nullptr) return;
  record->start = record->end = now_ns;
  publish(record, WAVESCOPE_MARKER_MARK);
}

int push_range(const Marker& marker) {
  RangeStack& ranges = thread_ranges();
  const uint32_t domain = number_of(marker.domain);
  const uint32_t level = ranges.depth_of(domain);
  OpenRange range{nullptr, ranges.innermost(), domain};
  Session* session = recording_session();
  if (session != nullptr && ranges.has_room()) range.record = open_range(*session, marker);
  if (range.record != nullptr) range.marker = range.record->id;
  ranges.push(range);
  thread_state().marker = range.marker;
  return static_cast<int>(level);
}

int pop_range(const NvtxDomain* domain) {
  RangeStack& ranges = thread_ranges();
  const uint32_t number = number_of(domain);
  if (ranges.depth_of(number) == 0) return -1;
  const OpenRange range = ranges.pop(number);
  if (range.record != nullptr) close_range(range.record);
  thread_state().marker = ranges.innermost();
  return static_cast<int>(ranges.depth_of(number));
}

uint64_t start_range(const Marker& marker, uint64_t id_of_next) {
  StartedRange range{nullptr, id_of_next};
  Marker started = marker;
  started.flags |= WAVESCOPE_MARKER_START_STOP;
  if (Session* session = recording_session()) range.record = open_range(*session, started);
  // Ids that have no record are told apart by their upper half.
  const uint64_t id = range.record != nullptr
                          ? range.record->id
                          : (uint64_t{1} << 32) + last_unrecorded_id.fetch_add(1, std::memory_order_relaxed);
  if (range.record != nullptr || id_of_next != 0) started_ranges().add(id, range);
  return id;
}

StartedRange stop_range(uint64_t id) {
  const StartedRange range = started_ranges().take(id).value_or(StartedRange{});
  if (range.record == nullptr) return range;
  if (range.record->thread != current_thread()) {
    __atomic_fetch_or(&range.record->flags, uint8_t{WAVESCOPE_MARKER_OTHER_THREAD}, __ATOMIC_RELAXED);
  }
  close_range(range.record);
  return range;
}

}  // namespace wavescope::roctx
