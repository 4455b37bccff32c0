// Whole recordings with a ring of the collector's before the queue, under a runtime that the test plays.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "core/session.h"
#include "tests/file_content.h"
#include "tests/played_queue.h"

extern "C" bool OnLoad(void* tables, uint64_t, uint64_t, const char* const*);
extern "C" void OnUnload();

// The session is never destroyed.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

constexpr uint64_t kKernel = 0x4000;

hsa_status_t make_queue(hsa_agent_t, uint32_t size, hsa_queue_type32_t, void (*)(hsa_status_t, hsa_queue_t*, void*), void*,
                        uint32_t, uint32_t, hsa_queue_t** made) {
  CHECK(size == ring_size);
  *made = &queue;
  return HSA_STATUS_SUCCESS;
}

std::vector<WavescopeOpRecord> recorded_ops() {
  std::vector<WavescopeOpRecord> found;
  const std::string content = content_of(folder + "/" + Session::if_open()->name() + ".ops");
  for (std::size_t at = WAVESCOPE_PAGE_BYTES; at + sizeof(WavescopeOpRecord) <= content.size();
       at += sizeof(WavescopeOpRecord)) {
    WavescopeOpRecord record;
    std::memcpy(&record, content.data() + at, sizeof record);
    if (record.kind != 0) found.push_back(record);
  }
  return found;
}

hsa_queue_t* begin_recording(uint32_t size = kMostSize) {
  new_queue(size);
  make_tables();
  core.hsa_queue_create_fn = make_queue;
  core.hsa_queue_load_read_index_scacquire_fn = load_consumed;
  core.hsa_queue_load_write_index_scacquire_fn = load_reserved;
  core.hsa_signal_store_relaxed_fn = store;
  core.hsa_signal_store_screlease_fn = store;
  CHECK(OnLoad(&root, 0, 0, nullptr));
  CHECK(core.hsa_signal_store_screlease_fn != store && core.hsa_signal_store_relaxed_fn != store);
  hsa_queue_t* made = nullptr;
  CHECK(core.hsa_queue_create_fn(kGpu, ring_size, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &made) ==
        HSA_STATUS_SUCCESS);
  CHECK(made == &queue && queue.base_address != below);
  return made;
}

// Several threads submit through one queue; a GPU completes what it reads. All of it is recorded once, with its times. In a
// ring of one packet the place is used again at the very moment that the GPU has read it.
void threads_submit_and_all_is_recorded(uint32_t size) {
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kEach = 2000;
  const std::size_t before = recorded_ops().size();
  hsa_queue_t* made = begin_recording(size);
  std::vector<uint32_t> executed;
  std::thread gpu([&] {
    while (executed.size() < kThreads * kEach) {
      Packet& packet = below[consumed % ring_size];
      const uint16_t header = __atomic_load_n(&packet.header, __ATOMIC_ACQUIRE);
      if ((header & 0xff) == HSA_PACKET_TYPE_INVALID) {
        std::this_thread::yield();
        continue;
      }
      const Packet taken = packet;
      __atomic_store_n(&packet.header, uint16_t{HSA_PACKET_TYPE_INVALID}, __ATOMIC_RELEASE);
      consumed.fetch_add(1);
      executed.push_back(taken.grid_size_x);
      complete(taken, 1000 + executed.size(), 2000 + executed.size());
    }
  });
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([thread] {
      for (uint32_t i = 0; i < kEach; ++i) {
        const uint64_t index = reserved.fetch_add(1);
        while (index - consumed.load() >= ring_size) std::this_thread::yield();
        fill(index, a_dispatch(thread * kEach + i + 1));
        const auto ring = i % 2 == 0 ? core.hsa_signal_store_screlease_fn : core.hsa_signal_store_relaxed_fn;
        ring(queue.doorbell_signal, static_cast<hsa_signal_value_t>(index));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  gpu.join();
  CHECK(std::is_sorted(rung.begin(), rung.end()) && rung.back() == kThreads * kEach - 1);
  std::vector<WavescopeOpRecord> ops;
  wait_until([&] { return (ops = recorded_ops()).size() == before + kThreads * kEach; });
  ops.erase(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(before));
  for (const WavescopeOpRecord& op : ops) {
    CHECK(op.kernel == kKernel && executed[op.start - 1001] == op.grid[0] && op.end - op.start == 1000);
  }
  std::vector<uint32_t> grids;
  for (const WavescopeOpRecord& op : ops) grids.push_back(op.grid[0]);
  std::sort(grids.begin(), grids.end());
  for (uint32_t at = 0; at < grids.size(); ++at) CHECK(grids[at] == at + 1);
  CHECK(core.hsa_queue_destroy_fn(made) == HSA_STATUS_SUCCESS && queue.base_address == below);
  OnUnload();
}

// Signals of the program keep their values; one that several dispatches count down cannot be timed this way.
void signals_of_the_program_stay() {
  const std::size_t before = recorded_ops().size();
  hsa_queue_t* made = begin_recording();
  hsa_signal_t own{};
  hsa_signal_t shared{};
  signal_create(1, 0, nullptr, 0, &own);
  signal_create(2, 0, nullptr, 0, &shared);
  core.hsa_signal_store_relaxed_fn(own, 1);  // no doorbell
  CHECK(rung.empty() && reinterpret_cast<amd_signal_t*>(own.handle)->value == 1);
  for (const hsa_signal_t signal : {own, shared, shared}) submit(a_dispatch(1, signal));
  core.hsa_signal_store_screlease_fn(queue.doorbell_signal, 2);
  CHECK((rung == std::vector<int64_t>{2}));
  for (const hsa_signal_t signal : {own, shared, shared}) {
    const Packet packet = consume();
    CHECK(packet.completion_signal.handle == signal.handle);
    complete(packet, 5000, 6000);
  }
  wait_until([&] { return recorded_ops().size() == before + 1; });
  CHECK(recorded_ops().back().flags == (WAVESCOPE_OP_RAW_TICKS | WAVESCOPE_OP_APP_SIGNAL));
  CHECK(reinterpret_cast<amd_signal_t*>(shared.handle)->value == 0);
  CHECK(core.hsa_queue_destroy_fn(made) == HSA_STATUS_SUCCESS);
  core.hsa_signal_destroy_fn(own);
  core.hsa_signal_destroy_fn(shared);
  OnUnload();
}

// The worker passes on what was never rung for, and says so.
void a_program_that_rings_by_itself_goes_on() {
  hsa_queue_t* made = begin_recording();
  submit(a_dispatch(1));
  wait_until([&] { return __atomic_load_n(&below[0].header, __ATOMIC_ACQUIRE) == HSA_PACKET_TYPE_KERNEL_DISPATCH; });
  complete(consume(), 7000, 8000);
  const std::string facts = folder + "/" + Session::if_open()->name() + ".facts";
  wait_until([&] { return content_of(facts).find("passed on late") != std::string::npos; });
  CHECK(core.hsa_queue_destroy_fn(made) == HSA_STATUS_SUCCESS);
  OnUnload();
}

}  // namespace

int main() {
  char made[] = "/tmp/wavescope-own-ring-XXXXXX";
  folder = mkdtemp(made);
  setenv("WAVESCOPE_OUTPUT", folder.c_str(), 1);
  setenv("WAVESCOPE_INTERCEPTION", "own", 1);
  setenv("WAVESCOPE_SIGNALS", "runtime", 1);
  Session::current();
  for (const uint32_t size : {64u, 2u, 1u}) threads_submit_and_all_is_recorded(size);
  signals_of_the_program_stay();
  a_program_that_rings_by_itself_goes_on();
  return std::system(("rm -r " + folder).c_str());
}
