#include "collector_hsa/ring_guard.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "collector_hsa/runtime_versions.h"
#include "collector_hsa/slot_block.h"
#include "collector_hsa/stalled_queues.h"
#include "core/clock.h"
#include "core/not_cancelled.h"
#include "core/spin_pause.h"

namespace wavescope {
namespace {

constexpr uint32_t kSpins = 1000;
constexpr useconds_t kShortSleepUs = 5;
constexpr useconds_t kLongSleepUs = 50;  // most of a large ring is still full then: the GPU does not run dry
constexpr uint64_t kLargeRing = 1024;
constexpr uint64_t kLongKernelNs = 100000000;
constexpr useconds_t kLongKernelSleepUs = 1000;

// A packet that the runtime can set aside waits a moment only, as the thread that submits it may be the one that the GPU
// waits for. Others wait until the GPU has done nothing for minutes: a kernel may wait long for other machines.
constexpr uint64_t kPatienceNs = 600000000000;
constexpr uint64_t kShortPatienceNs = 1000000000;

constexpr uint64_t kFewPackets = 64;
constexpr uint64_t kNoMark = UINT64_MAX;

// A barrier that waits for nothing, not even for what runs.
hsa_kernel_dispatch_packet_t barrier_for_a_mark() {
  hsa_kernel_dispatch_packet_t packet;
  std::memset(static_cast<void*>(&packet), 0, sizeof packet);
  packet.header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE;
  return packet;
}

// Other kinds may keep something else where these have their signal.
bool can_carry_mark(const hsa_kernel_dispatch_packet_t& packet) {
  const int type = packet.header >> HSA_PACKET_HEADER_TYPE & 0xff;
  const bool is_known =
      type == HSA_PACKET_TYPE_KERNEL_DISPATCH || type == HSA_PACKET_TYPE_BARRIER_AND || type == HSA_PACKET_TYPE_BARRIER_OR;
  return is_known && packet.completion_signal.handle == 0;
}

amd_signal_t* at(hsa_signal_t signal) { return reinterpret_cast<amd_signal_t*>(signal.handle); }

// Waits between two looks at the same mark, the longer the longer it lasts.
class Patience {
 public:
  explicit Patience(uint64_t ring_size) : sleep_us_(ring_size > kLargeRing ? kLongSleepUs : kShortSleepUs) {}

  void renew() { spins_ = since_ns_ = 0; }

  // False after `limit_ns` without a renewal.
  bool wait(uint64_t limit_ns) {
    if (++spins_ < kSpins) {
      spin_pause();
      return true;
    }
    const uint64_t now_ns = boottime_ns();
    if (since_ns_ == 0) since_ns_ = now_ns;
    if (now_ns - since_ns_ > limit_ns) return false;
    sleep_not_cancelled(now_ns - since_ns_ > kLongKernelNs ? kLongKernelSleepUs : sleep_us_);
    return true;
  }

 private:
  const useconds_t sleep_us_;
  uint64_t spins_ = 0;
  uint64_t since_ns_ = 0;
};

}  // namespace

WhenFull when_full(uint32_t release) {
  if (may_have(RuntimeLimit::kFullQueue, release)) return WhenFull::kStops;
  return may_have(RuntimeLimit::kLargeBatch, release) ? WhenFull::kStagesFew : WhenFull::kSetsAside;
}

RingGuard::RingGuard(const HsaApi& api, const hsa_queue_t* queue, WhenFull when_full)
    : api_(api),
      queue_(queue),
      size_(queue->size),
      when_full_(when_full),
      next_mark_(std::max<uint64_t>(1, size_ / kMarksInRing)) {
  for (Mark& mark : marks_) {
    if (api_.signal_create(1, 0, nullptr, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &mark.handle) != HSA_STATUS_SUCCESS) break;
    ++signal_count_;
  }
  set_checkpoint();
}

void RingGuard::give_back_signals() {
  if (is_retired_.exchange(true)) return;
  stalled_queues.remove(queue_);
  for (uint64_t signal = 0; signal < signal_count_; ++signal) api_.signal_destroy(marks_[signal].handle);
}

void RingGuard::set_checkpoint() {
  const uint64_t full = left_ + size_ - reserve_;
  checkpoint_ = std::min(full, next_mark_ - 1);
}

bool RingGuard::take_oldest_mark() {
  Mark& mark = marks_[oldest_ % signal_count_];
  if (value_of(at(mark.handle)) > 0) return false;
  // The GPU may count the mark itself as gone only when it begins with the packet behind it.
  left_ = mark.packets - 1;
  __atomic_store_n(&at(mark.handle)->value, int64_t{1}, __ATOMIC_RELEASE);
  ++oldest_;
  return true;
}

// Whether the last `count` packets of those that were announced may go to the runtime without room for them.
bool RingGuard::may_set_aside(uint64_t count) const {
  return when_full_ == WhenFull::kStops ? api_.queue_load_write_index(queue_) <= next_index_ : count < size_;
}

// Waits for room; false where it was given up.
bool RingGuard::make_room(uint64_t count, bool may_be_set_aside) {
  const uint64_t limit_ns = may_be_set_aside ? kShortPatienceNs : kPatienceNs;
  Patience patience(size_);
  while (oldest_ != next_ && !has_room(count)) {
    if (take_oldest_mark()) {
      patience.renew();
    } else if ((may_be_set_aside && stuck_mark_ == oldest_) || !patience.wait(limit_ns)) {
      stuck_mark_ = oldest_;
      reserve_ = 2;  // the runtime may put a barrier of its own into the ring
      return false;
    }
  }
  return true;
}

// Which packet is to be a mark: the last without a signal, or an additional one at place `count`; kNoMark when none is due,
// or when there is no room for one more, as in a small ring or behind a large batch.
uint64_t RingGuard::place_of_mark(const Packet* packets, uint64_t count) const {
  if (passed_ + count < next_mark_ || next_ - oldest_ == signal_count_) return kNoMark;
  for (uint64_t place = count; place-- > 0;) {
    if (can_carry_mark(packets[place])) return place;
  }
  return count + 1 + reserve_ < size_ / 2 ? count : kNoMark;
}

void RingGuard::make_mark(Packet* packet, uint64_t packets_up_to_it) {
  Mark& mark = marks_[next_++ % signal_count_];
  packet->completion_signal = mark.handle;
  mark.packets = packets_up_to_it;
  next_mark_ = packets_up_to_it + std::max<uint64_t>(1, size_ / kMarksInRing);
}

void RingGuard::pass_checked(const Packet* packets, uint64_t count, Writer writer) {
  if (is_retired_.load(std::memory_order_relaxed) || signal_count_ == 0) return writer(packets, count);
  if (is_stalled_) stalled_queues.remove(queue_);  // what was set aside is on its way
  is_stalled_ = false;
  const uint64_t largest_part = when_full_ == WhenFull::kStops ? count : std::max<uint64_t>(1, size_ / kMarksInRing);
  while (count > 0) {
    while (oldest_ != next_ && take_oldest_mark()) {
    }
    const uint64_t part = std::min(count, largest_part);
    const bool adds_mark = place_of_mark(packets, part) == part;
    const bool has_room = make_room(part + adds_mark, may_set_aside(count));
    // What is set aside has to come with one call.
    const uint64_t passing = has_room ? part : count;
    is_stalled_ = !has_room && when_full_ == WhenFull::kStagesFew;
    if (is_stalled_) stalled_queues.add(queue_);
    pass_marked(packets, passing, writer);
    packets += passing;
    count -= passing;
  }
}

void RingGuard::pass_marked(const Packet* packets, uint64_t count, Writer writer) {
  const uint64_t place = place_of_mark(packets, count);
  const uint64_t total = place == count ? count + 1 : count;
  alignas(64) Packet few[kFewPackets];
  std::unique_ptr<Packet[]> many;
  if (place != kNoMark && total > kFewPackets) many.reset(new (std::nothrow) Packet[total]);
  Packet* copies = place == kNoMark ? nullptr : total > kFewPackets ? many.get() : few;
  if (copies != nullptr) {
    std::memcpy(copies, packets, count * sizeof(Packet));
    if (place == count) copies[place] = barrier_for_a_mark();
    make_mark(&copies[place], passed_ + place + 1);
  }
  const uint64_t written = copies == nullptr ? count : total;
  passed_ += written;
  set_checkpoint();
  writer(copies == nullptr ? packets : copies, written);
}

}  // namespace wavescope
