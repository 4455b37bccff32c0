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
WavescopeMarkerRecord* new_marker(Session& session, const char* text, uint8_t flags) {
  const uint64_t text_id = session.texts().intern(view_of(text));
  WavescopeMarkerRecord* record = session.new_marker();
  if (record == nullptr) return nullptr;
  const ThreadState& thread = thread_state();
  record->flags = flags;
  record->depth = static_cast<uint16_t>(std::min<uint32_t>(thread_ranges().depth(), UINT16_MAX));
  record->thread = thread.thread_id;
  record->id = session.next_marker_id();
  record->parent = thread.marker;
  record->text = text_id;
  record->correlation = thread.correlation;
  return record;
}

WavescopeMarkerRecord* open_range(Session& session, const char* text, uint8_t flags) {
  WavescopeMarkerRecord* record = new_marker(session, text, flags);
  if (record == nullptr) return nullptr;
  record->start = boottime_ns();
  publish(record, WAVESCOPE_MARKER_OPEN);
  return record;
}

void close_range(WavescopeMarkerRecord* record) {
  record->end = boottime_ns();
  publish(record, WAVESCOPE_MARKER_RANGE);
}

}  // namespace

void mark(const char* text, uint8_t flags) {
  Session* session = recording_session();
  if (session == nullptr) return;
  const uint64_t now_ns = boottime_ns();
  WavescopeMarkerRecord* record = new_marker(*session, text, flags);
  if (record == nullptr) return;
  record->start = record->end = now_ns;
  publish(record, WAVESCOPE_MARKER_MARK);
}

int push_range(const char* text, uint8_t flags) {
  RangeStack& ranges = thread_ranges();
  const uint32_t level = ranges.depth();
  OpenRange range{nullptr, ranges.innermost()};
  Session* session = recording_session();
  if (session != nullptr && ranges.has_room()) range.record = open_range(*session, text, flags);
  if (range.record != nullptr) range.marker = range.record->id;
  ranges.push(range);
  thread_state().marker = range.marker;
  return static_cast<int>(level);
}

int pop_range() {
  RangeStack& ranges = thread_ranges();
  if (ranges.depth() == 0) return -1;
  const OpenRange range = ranges.pop();
  if (range.record != nullptr) close_range(range.record);
  thread_state().marker = ranges.innermost();
  return static_cast<int>(ranges.depth());
}

uint64_t start_range(const char* text, uint8_t flags, uint64_t id_of_next) {
  StartedRange range{nullptr, id_of_next};
  Session* session = recording_session();
  if (session != nullptr)
    range.record = open_range(*session, text, static_cast<uint8_t>(flags | WAVESCOPE_MARKER_START_STOP));
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
  if (range.record->thread != current_thread()) range.record->flags |= WAVESCOPE_MARKER_OTHER_THREAD;
  close_range(range.record);
  return range;
}

}  // namespace wavescope::roctx
