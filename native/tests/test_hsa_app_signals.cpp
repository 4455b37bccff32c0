// Signals of the application under a runtime that the test plays: what they say is kept before it can be lost.
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collector_hsa/agents.h"
#include "collector_hsa/app_signals.h"
#include "collector_hsa/hsa_abi.h"
#include "collector_hsa/pending_file.h"
#include "collector_hsa/signal_watch.h"
#include "collector_hsa/slot_pool.h"
#include "core/clock.h"
#include "tests/check.h"
#include "tests/played_hsa_runtime.h"

using namespace wavescope;

// The session is never destroyed.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

// A block whose slots have signals of the application, without a worker that would write what they say.
struct SlotsInPlace {
  HsaApi api{};
  std::unique_ptr<Agents> agents;
  std::unique_ptr<PendingFile> file;
  std::unique_ptr<SlotPool> pool;
  std::unique_ptr<AppSignals> signals;
  SlotBlock* block = nullptr;

  SlotsInPlace() {
    keeps_memory = true;
    make_tables();
    HsaHooks hooks{};
    std::string reason;
    CHECK(take_tables(root, [](const HsaApiTable&, const char*) { return false; }, api, hooks, reason));
    Session& session = *Session::current();
    agents = std::make_unique<Agents>(api, session.facts());
    file = std::make_unique<PendingFile>(session);
    pool = std::make_unique<SlotPool>(api, *agents, *file);
    signals = std::make_unique<AppSignals>(api, *pool);
    block = pool->take();
    CHECK(block != nullptr && block->keeps_signals);
  }
  ~SlotsInPlace() {
    pool->destroy_signals();
    file->remove();
    keeps_memory = false;
  }

  bool take(uint32_t slot, hsa_signal_t signal) {
    block->set_kind(slot, SlotKind::kInPlace);
    if (!signals->adopt_app_signal(signal, block, slot)) return false;
    block->set_head(slot + 1);
    return true;
  }
};

void finish_on_gpu(hsa_signal_t signal, uint64_t start, uint64_t end) {
  Packet packet = a_dispatch(1, signal);
  complete(packet, start, end);
}

// What a signal of the application says is kept by whoever uses the signal next: nothing else may have looked before.
void a_signal_is_read_before_it_is_used_again() {
  SlotsInPlace slots;
  hsa_signal_t signal{};
  signal_create(1, 0, nullptr, 0, &signal);
  auto* value = reinterpret_cast<amd_signal_t*>(signal.handle);
  CHECK(slots.take(0, signal));
  value->value = 1;
  CHECK(!slots.take(1, signal));  // it is still to carry the times of the first
  finish_on_gpu(signal, 10, 20);
  value->value = 1;
  CHECK(slots.take(1, signal));
  WavescopePendingBlock kept = block_in_use();
  CHECK(kept.places[0] == WAVESCOPE_PLACE_LATER && kept.records[0].start == 10 && kept.records[0].end == 20);
  CHECK(kept.signals[1].value == 1 && kept.places[1] == 0);
  slots.signals->release_signal(signal, true);  // destroyed before the GPU was done
  kept = block_in_use();
  CHECK(kept.places[1] == WAVESCOPE_PLACE_LATER && kept.records[1].start == 0 && kept.records[1].end == 0);
  signal_destroy(signal);
}

// However many there are and wherever they lie, each signal is found again.
void many_signals_have_their_place() {
  SlotsInPlace slots;
  constexpr uint32_t kRegions = 24;
  constexpr uint32_t kInRegion = 1024;
  constexpr uint64_t kApart = uint64_t{8} << 20;  // so that their addresses differ in few bits
  void* memory =
      mmap(nullptr, kRegions * kApart, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(memory != MAP_FAILED);
  for (uint32_t region = 0; region < kRegions; ++region) {
    const uint64_t stride = region % 2 == 0 ? 128 : 64;
    const uint64_t first = reinterpret_cast<uint64_t>(memory) + region * kApart;
    for (uint32_t slot = 0; slot < kInRegion; ++slot) {
      const hsa_signal_t signal{first + slot * stride};
      reinterpret_cast<amd_signal_t*>(signal.handle)->value = 1;
      CHECK(slots.take(slot, signal));
      CHECK(!slots.signals->adopt_app_signal(signal, slots.block, slot));  // known to be in use
    }
    slots.block = slots.pool->take();
  }
  munmap(memory, kRegions * kApart);
}

// The watch keeps it, too, also behind dispatches that run on, and in every use of a block.
void the_watch_keeps_what_signals_say() {
  SlotsInPlace slots;
  SignalWatch watch(*slots.pool, *slots.signals);
  constexpr uint32_t kCount = 40;
  std::vector<hsa_signal_t> made(kCount);
  for (hsa_signal_t& signal : made) signal_create(1, 0, nullptr, 0, &signal);
  for (uint64_t use = 1; use <= 3; ++use) {
    for (uint32_t slot = 0; slot < kCount; ++slot) {
      reinterpret_cast<amd_signal_t*>(made[slot].handle)->value = 1;
      CHECK(slots.take(slot, made[slot]));
      watch.published(slots.block);
    }
    // The watch is done with a slot when it says so, which is after it has filled the kept record.
    const uint64_t taken = tag_of(slots.block->generation, kTaken);
    const auto is_kept = [&](uint32_t slot) { return slots.block->tag[slot].load(std::memory_order_acquire) == taken; };
    for (uint32_t slot = 0; slot < kCount; ++slot) {
      if (slot != 7) finish_on_gpu(made[slot], use * 1000 + slot, use * 1000 + slot + 1);
    }
    wait_until([&] {
      for (uint32_t slot = 0; slot < kCount; ++slot) {
        if (slot != 7 && !is_kept(slot)) return false;
      }
      return true;
    });
    CHECK(!is_kept(7));
    finish_on_gpu(made[7], 5, 6);
    wait_until([&] { return is_kept(7); });
    const WavescopePendingBlock kept = block_in_use();
    CHECK(kept.records[7].start == 5 && kept.records[7].end == 6);
    for (uint32_t slot = 0; slot < kCount; ++slot) CHECK(kept.places[slot] == WAVESCOPE_PLACE_LATER);
    CHECK(kept.records[39].start == use * 1000 + 39 && kept.records[39].end == use * 1000 + 40);
    slots.pool->give_back(slots.block);
    CHECK(slots.pool->take() == slots.block);
  }
  CHECK(watch.finish(120000000000));
  for (const hsa_signal_t signal : made) signal_destroy(signal);
}

// What the watch has seen of one block goes for all of its signals that are used next, but not for the one that it left.
void signals_that_the_watch_has_read_are_used_again() {
  SlotsInPlace slots;
  constexpr uint32_t kCount = 40;
  SignalWatch watch(*slots.pool, *slots.signals);
  watch.begin(slots.block);
  std::vector<hsa_signal_t> made(kCount);
  for (uint32_t slot = 0; slot < kCount; ++slot) {
    signal_create(1, 0, nullptr, 0, &made[slot]);
    CHECK(slots.take(slot, made[slot]));
    if (slot != 23) finish_on_gpu(made[slot], 100 + slot, 200 + slot);
  }
  watch.published(slots.block);
  SlotBlock* first = slots.block;
  const uint64_t use = first->generation;
  wait_until([&] { return first->tag[kCount - 1].load(std::memory_order_acquire) == tag_of(use, kTaken); });
  wait_until([&] { return first->watched_in(use) == 23; });
  slots.block = slots.pool->take();
  for (uint32_t slot = 0; slot < kCount; ++slot) {
    reinterpret_cast<amd_signal_t*>(made[slot].handle)->value = 1;
    CHECK(slots.take(slot, made[slot]) == (slot != 23));
  }
  finish_on_gpu(made[23], 5, 6);
  reinterpret_cast<amd_signal_t*>(made[23].handle)->value = 1;
  CHECK(slots.take(kCount, made[23]));
  CHECK(first->records[23].start == 5 && first->records[23].end == 6);
  CHECK(first->records[39].start == 139 && first->records[39].end == 239);
  // A block in other use has nothing to wait for.
  slots.pool->give_back(first);
  CHECK(first->watched_in(first->generation) == 0 && first->generation != use);
  CHECK(watch.finish(120000000000));
  for (const hsa_signal_t signal : made) signal_destroy(signal);
}

// The watch claims no signal before it reads it, so whoever is about to destroy one waits for it: what lies in the signal's
// memory afterwards never gets into a record.
void no_signal_is_read_after_its_release() {
  constexpr uint32_t kBlocks = 40;
  constexpr uint64_t kGarbage = 77;
  SlotsInPlace slots;
  std::atomic<SlotBlock*> watched{nullptr};
  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> taken_by_watch{0};
  std::thread watch([&] {
    while (!is_over.load(std::memory_order_relaxed)) {
      SlotBlock* block = watched.load(std::memory_order_acquire);
      if (block == nullptr) continue;
      const uint64_t generation = block->generation.load(std::memory_order_acquire);
      const uint32_t head = block->head();
      const uint32_t first = head < AppSignals::kTogether ? 0 : head - AppSignals::kTogether;
      const uint32_t count = head - first;
      if (count == 0) continue;
      const uint32_t open = slots.signals->take_times_together(block, first, count, generation);
      taken_by_watch.fetch_add(count - static_cast<uint32_t>(__builtin_popcount(open)), std::memory_order_relaxed);
    }
  });
  hsa_signal_t made{};
  signal_create(1, 0, nullptr, 0, &made);
  auto* signal = reinterpret_cast<amd_signal_t*>(made.handle);
  for (uint32_t use = 0; use < kBlocks; ++use) {
    watched.store(slots.block, std::memory_order_release);
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      __atomic_store_n(&signal->value, int64_t{1}, __ATOMIC_RELAXED);
      CHECK(slots.take(slot, made));
      const bool is_finished = slot % 3 != 0;
      if (is_finished) finish_on_gpu(made, 1000 + slot, 2000 + slot);
      slots.signals->release_signal(made, true);
      set_ticks(signal, Ticks{kGarbage, kGarbage});
      const WavescopeOpRecord& record = slots.block->records[slot];
      CHECK(slots.block->tag[slot] == tag_of(slots.block->generation, kTaken));
      CHECK(record.start == (is_finished ? 1000 + slot : 0) && record.end == (is_finished ? 2000 + slot : 0));
    }
    // Nor did it get there later.
    for (uint32_t slot = 1; slot < kSlots; slot += 3) CHECK(slots.block->records[slot].start == 1000 + slot);
    SlotBlock* next = slots.pool->take();
    slots.pool->give_back(slots.block);
    slots.block = next;
  }
  is_over.store(true);
  watch.join();
  CHECK(taken_by_watch.load() > 0);
  signal_destroy(made);
}

// A claim of a thread that the processor has left is waited for asleep, by a thread that is not cancelled meanwhile.
void who_waits_for_a_claim_sleeps() {
  SlotsInPlace slots;
  hsa_signal_t signal{};
  signal_create(1, 0, nullptr, 0, &signal);
  CHECK(slots.take(0, signal));
  finish_on_gpu(signal, 10, 20);
  const uint64_t generation = slots.block->generation;
  slots.block->tag[0].store(tag_of(generation, kClaimed));
  uint64_t cpu_ns = 0;
  uint64_t waited_ns = 0;
  std::atomic<bool> came_back{false};
  std::thread waiting([&] {
    const uint64_t began_ns = boottime_ns();
    const uint64_t before_ns = thread_cpu_ns();
    slots.signals->release_signal(signal, false);
    cpu_ns = thread_cpu_ns() - before_ns;
    waited_ns = boottime_ns() - began_ns;
    came_back = true;
  });
  pthread_cancel(waiting.native_handle());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  slots.block->tag[0].store(tag_of(generation, kPending));
  waiting.join();
  CHECK(came_back);
  CHECK(slots.block->records[0].start == 10 && slots.block->records[0].end == 20);
  CHECK(cpu_ns < waited_ns / 2);  // usually a twentieth
  signal_destroy(signal);
}

}  // namespace

int main() {
  char pattern[] = "/tmp/wavescope-signals-XXXXXX";
  folder = mkdtemp(pattern);
  setenv("WAVESCOPE_OUTPUT", folder.c_str(), 1);
  a_signal_is_read_before_it_is_used_again();
  many_signals_have_their_place();
  the_watch_keeps_what_signals_say();
  signals_that_the_watch_has_read_are_used_again();
  no_signal_is_read_after_its_release();
  who_waits_for_a_claim_sleeps();
  Session::finish("exit");
  return std::system(("rm -r " + folder).c_str());
}
