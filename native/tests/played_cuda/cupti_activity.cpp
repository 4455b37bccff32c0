// The stand-in for libcupti: activity records, in buffers that a thread of its own asks for and delivers.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "cupti_records.h"
#include "cupti_state.h"

namespace played {
namespace {

constexpr std::size_t kManyPending = 2000;  // so many that a thread delivers full buffers without being asked

struct Waiting {
  Record record;
  uint64_t ready_ns;
  bool is_dropped;
};

struct Buffer {
  uint8_t* bytes = nullptr;
  std::size_t size = 0, used = 0, records = 0, most_records = 0;
};

struct Activities {
  std::mutex mutex;  // of what follows
  std::condition_variable changed;
  std::array<std::atomic<bool>, 128> enabled{};
  std::atomic<bool> kernels_went_off{false};
  std::deque<Waiting> waiting;
  abi::CuptiBufferRequested request = nullptr;
  abi::CuptiBufferCompleted complete = nullptr;
  uint64_t flushes_wanted = 0, flushes_done = 0;
  bool is_forced = false, has_thread = false;
  uint32_t period_ms = 0;
  bool gives_zeroed = false;
  std::size_t dropped = 0;
  std::map<uint32_t, uint64_t> attributes;

  std::mutex delivering;  // of the buffer
  Buffer buffer;
};

Activities& activities() {
  static Activities& one = *new Activities;
  return one;
}

void deliver(Buffer& buffer, abi::CuptiBufferCompleted complete) {
  const Buffer full = std::exchange(buffer, Buffer());
  if (full.bytes == nullptr) return;
  const Inside before = std::exchange(inside(), Inside::kBuffer);
  complete(nullptr, 0, full.bytes, full.size, full.used);
  inside() = before;
}

bool has_room(const Buffer& buffer, std::size_t bytes) {
  return buffer.bytes != nullptr && buffer.used + bytes <= buffer.size &&
         (buffer.most_records == 0 || buffer.records < buffer.most_records);
}

void request(Buffer& buffer, abi::CuptiBufferRequested function) {
  const Inside before = std::exchange(inside(), Inside::kBuffer);
  function(&buffer.bytes, &buffer.size, &buffer.most_records);
  inside() = before;
  if (buffer.bytes != nullptr && reinterpret_cast<uintptr_t>(buffer.bytes) % 8 != 0) complain("a buffer is not aligned");
}

void write(Buffer& buffer, const Record& record, bool is_zeroed) {
  uint8_t* place = buffer.bytes + buffer.used;
  if (is_zeroed && std::any_of(place, place + record.bytes, [](uint8_t byte) { return byte != 0; }))
    complain("a buffer that should hold zeros does not");
  std::memcpy(place, record.data, record.bytes);
  buffer.used += record.bytes;
  ++buffer.records;
}

// Writes what is ready into buffers; full ones are delivered, and the last one too when `all` is set.
void work_off(bool is_forced, bool all) {
  Activities& own = activities();
  const std::lock_guard<std::mutex> one_at_a_time(own.delivering);
  std::deque<Waiting> ready;
  abi::CuptiBufferRequested request_function = nullptr;
  abi::CuptiBufferCompleted complete = nullptr;
  bool is_zeroed = false;
  {
    const std::lock_guard<std::mutex> lock(own.mutex);
    request_function = own.request;
    complete = own.complete;
    is_zeroed = own.gives_zeroed;
    if (complete == nullptr) return;
    const uint64_t now = boot_ns();
    std::deque<Waiting> left;
    for (auto& waiting : own.waiting) {
      const bool is_ready = is_forced || waiting.ready_ns <= now;
      if (is_ready && waiting.ready_ns > now && waiting.record.end_ns > now) waiting.record.forget_times();
      (is_ready ? ready : left).push_back(waiting);
    }
    own.waiting.swap(left);
  }
  std::size_t dropped = 0;
  for (const auto& waiting : ready) {
    if (!has_room(own.buffer, waiting.record.bytes)) {
      deliver(own.buffer, complete);
      request(own.buffer, request_function);
    }
    if (has_room(own.buffer, waiting.record.bytes) && !waiting.is_dropped) {
      write(own.buffer, waiting.record, is_zeroed);
    } else {
      ++dropped;
    }
  }
  {
    const std::lock_guard<std::mutex> lock(own.mutex);
    own.dropped += dropped;
  }
  if (all) deliver(own.buffer, complete);
}

void work() {
  Activities& own = activities();
  std::unique_lock<std::mutex> lock(own.mutex);
  for (;;) {
    const auto pause = std::chrono::milliseconds(own.period_ms == 0 ? 1000 : own.period_ms);
    const bool was_called = own.changed.wait_for(
        lock, pause, [&own] { return own.flushes_wanted != own.flushes_done || own.waiting.size() >= kManyPending; });
    const uint64_t wanted = own.flushes_wanted;
    const bool flushes = wanted != own.flushes_done || (!was_called && own.period_ms != 0);
    const bool is_forced = std::exchange(own.is_forced, false);
    lock.unlock();
    if (flushes || was_called) work_off(is_forced, flushes);
    if (!flushes) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    lock.lock();
    own.flushes_done = wanted;
    own.changed.notify_all();
  }
}

void need_thread(Activities& own) {
  if (std::exchange(own.has_thread, true)) return;
  std::thread(work).detach();
}

void put(Record record, uint64_t ready_ns, bool is_dropped = false) {
  Activities& own = activities();
  if (setting("request_on_launcher", 0) != 0) {
    const std::lock_guard<std::mutex> lock(own.delivering);
    if (own.buffer.bytes == nullptr && own.request != nullptr) request(own.buffer, own.request);
  }
  const std::lock_guard<std::mutex> lock(own.mutex);
  own.waiting.push_back({record, ready_ns, is_dropped});
  need_thread(own);
  if (own.waiting.size() >= kManyPending) own.changed.notify_all();
}

bool is_each(const char* name, uint64_t number) {
  const uint64_t every = setting(name, 0);
  return every != 0 && number % every == 0;
}

// On an H200 a program crashed in CUPTI at its next launch of a graph when records of whole graphs came or went.
void change(CuptiActivityKind kind, bool is_enabled) {
  const bool before = activities().enabled[static_cast<std::size_t>(kind)].exchange(is_enabled);
  if (kind == CuptiActivityKind::kGraphTrace && before != is_enabled && has_instantiated())
    complain("records of whole graphs were turned on or off while there were graphs");
  if (kind != CuptiActivityKind::kConcurrentKernel || before == is_enabled) return;
  // With CUPTI 12.9 most programs crashed there or soon after.
  const bool went_off = activities().kernels_went_off.exchange(!is_enabled);
  if (is_enabled && went_off && PLAYED_CUPTI_VERSION < abi::kVersion13_0) complain("records of kernels went on again");
}

bool is_recorded(const Op& op) {
  if (op.kind == OpKind::kGraph) return is_enabled(CuptiActivityKind::kGraphTrace);
  if (op.graph != 0 && is_enabled(CuptiActivityKind::kGraphTrace)) return false;
  switch (op.kind) {
    case OpKind::kCopy:
      return is_enabled(op.copy_kind == abi::CopyKind::kPeer ? CuptiActivityKind::kMemcpyPeer : CuptiActivityKind::kMemcpy);
    case OpKind::kFill: return is_enabled(CuptiActivityKind::kMemset);
    default: return is_enabled(CuptiActivityKind::kConcurrentKernel) || is_enabled(CuptiActivityKind::kKernel);
  }
}

}  // namespace

bool is_enabled(CuptiActivityKind kind) { return activities().enabled[static_cast<std::size_t>(kind)]; }

void record_op(const Op& op) {
  static std::atomic<uint64_t> kernels{0};
  if (!is_recorded(op)) return;
  const uint64_t ready_ns = op.end_ns + setting("late_ms", 0) * 1'000'000;
  if (op.kind != OpKind::kKernel) {
    put(record_of(op), ready_ns);
    return;
  }
  const uint64_t number = ++kernels;
  Record record = record_of(op);
  if (is_each("zero_every", number)) record.forget_times();
  if (is_each("inverted_every", number)) record.invert_times();
  put(record, ready_ns, is_each("drop_every", number));
  if (is_each("unknown_every", number)) put(unknown_record(), ready_ns);
}

void record_call(const Call& call, uint64_t end_ns) { put(call_record(call, end_ns), end_ns); }

void deliver_all() {
  uint64_t until = 0;
  {
    const std::lock_guard<std::mutex> lock(activities().mutex);
    for (const auto& waiting : activities().waiting) until = std::max(until, waiting.record.end_ns);
  }
  wait_for(until);
  work_off(true, true);
}

bool has_undelivered() {
  Activities& own = activities();
  const std::lock_guard<std::mutex> one_at_a_time(own.delivering);
  const std::lock_guard<std::mutex> lock(own.mutex);
  return !own.waiting.empty() || own.buffer.used != 0;
}

void forget_activities() {
  Activities& own = activities();
  const std::lock_guard<std::mutex> one_at_a_time(own.delivering);
  abi::CuptiBufferCompleted complete = nullptr;
  {
    const std::lock_guard<std::mutex> lock(own.mutex);
    for (auto& is_enabled : own.enabled) is_enabled = false;
    own.kernels_went_off = false;
    own.waiting.clear();
    complete = std::exchange(own.complete, nullptr);
    own.request = nullptr;
    own.period_ms = 0;
    own.gives_zeroed = false;
    own.dropped = 0;
    own.attributes.clear();
  }
  deliver(own.buffer, complete);
}

}  // namespace played

using played::activities;
using played::CuptiActivityKind;
using played::CuptiResult;

CUPTI_FUNCTION cuptiActivityRegisterCallbacks(played::abi::CuptiBufferRequested request,
                                              played::abi::CuptiBufferCompleted complete) {
  if (request == nullptr || complete == nullptr) return CuptiResult::kInvalidParameter;
  if (played::is_torn_down()) return CuptiResult::kNotInitialized;
  const std::lock_guard<std::mutex> lock(activities().mutex);
  activities().request = request;
  activities().complete = complete;
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiActivityEnable(CuptiActivityKind kind) {
  if (static_cast<uint32_t>(kind) >= 60) return CuptiResult::kInvalidKind;
  if (played::is_torn_down()) return CuptiResult::kNotInitialized;
  if (played::setting("fail_enable", 0) == static_cast<uint64_t>(kind)) return CuptiResult::kInsufficientPrivileges;
  played::change(kind, true);
  played::attach();
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiActivityEnableAndDump(CuptiActivityKind kind) { return cuptiActivityEnable(kind); }

CUPTI_FUNCTION cuptiActivityDisable(CuptiActivityKind kind) {
  if (static_cast<uint32_t>(kind) >= 60) return CuptiResult::kInvalidKind;
  played::change(kind, false);
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiActivityFlushAll(uint32_t flag) {
  using namespace played;
  if (is_torn_down()) return CuptiResult::kNotInitialized;
  if (inside() == Inside::kBuffer || inside() == Inside::kResource)
    complain("cuptiActivityFlushAll inside of a callback that is not one of a call");
  Activities& own = activities();
  std::this_thread::sleep_for(std::chrono::milliseconds(setting("flush_takes_ms", 0)));
  std::unique_lock<std::mutex> lock(own.mutex);
  if (own.complete == nullptr) return CuptiResult::kInvalidOperation;
  if (setting("complete_on_caller", 0) != 0 || inside() == Inside::kBuffer) {
    lock.unlock();
    work_off(flag != 0, true);
    return CuptiResult::kSuccess;
  }
  need_thread(own);
  own.is_forced = own.is_forced || flag != 0;
  const uint64_t mine = ++own.flushes_wanted;
  own.changed.notify_all();
  own.changed.wait(lock, [&own, mine] { return own.flushes_done >= mine; });
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiActivityFlushPeriod(uint32_t period_ms) {
  const std::lock_guard<std::mutex> lock(activities().mutex);
  activities().period_ms = period_ms;
  played::need_thread(activities());
  return CuptiResult::kSuccess;
}

#ifndef PLAYED_LACKS_NEXT_RECORD
CUPTI_FUNCTION cuptiActivityGetNextRecord(uint8_t* buffer, std::size_t valid_bytes, played::abi::CuptiActivity** record) {
  if (buffer == nullptr || record == nullptr) return CuptiResult::kInvalidParameter;
  uint8_t* next = buffer;
  if (*record != nullptr) {
    const std::size_t bytes = played::bytes_of((*record)->kind);
    if (bytes == 0) return CuptiResult::kInvalidKind;
    next = reinterpret_cast<uint8_t*>(*record) + bytes;
  }
  if (next >= buffer + valid_bytes) return CuptiResult::kMaxLimitReached;
  *record = reinterpret_cast<played::abi::CuptiActivity*>(next);
  return CuptiResult::kSuccess;
}
#endif

CUPTI_FUNCTION cuptiActivityGetNumDroppedRecords(void*, uint32_t, std::size_t* dropped) {
  const std::lock_guard<std::mutex> lock(activities().mutex);
  *dropped = std::exchange(activities().dropped, 0);
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiActivitySetAttribute(uint32_t attribute, std::size_t* bytes, void* value) {
  uint64_t number = 0;
  std::memcpy(&number, value, std::min(*bytes, sizeof number));
  const std::lock_guard<std::mutex> lock(activities().mutex);
  activities().attributes[attribute] = number;
  if (attribute == static_cast<uint32_t>(played::abi::ActivityAttribute::kZeroedOutBuffers))
    activities().gives_zeroed = (number & 0xff) != 0;
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiActivityGetAttribute(uint32_t attribute, std::size_t* bytes, void* value) {
  const std::lock_guard<std::mutex> lock(activities().mutex);
  const uint64_t number = activities().attributes[attribute];
  std::memcpy(value, &number, std::min(*bytes, sizeof number));
  return CuptiResult::kSuccess;
}

// For programs that wait until they are recorded.
extern "C" PLAYED_EXPORT int played_records_kernels() {
  return played::is_enabled(CuptiActivityKind::kConcurrentKernel) ? 1 : 0;
}
