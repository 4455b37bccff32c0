// The HSA collector under a runtime that the test plays: tables of other versions, batches of packets, kernels that end
// out of order, and the writing of what they left.
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "collector_hsa/hsa_abi.h"
#include "collector_hsa/hsa_api.h"
#include "core/session.h"
#include "format/chunk_format.h"
#include "tests/check.h"
#include "tests/file_content.h"
#include "tests/played_hsa_runtime.h"

using namespace wavescope;

extern "C" bool OnLoad(void* tables, uint64_t, uint64_t, const char* const*);
extern "C" void OnUnload();

// The session is never destroyed.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

std::string refusal(Exports exports) {
  HsaApi api{};
  HsaHooks hooks{};
  std::string reason;
  return take_tables(root, exports, api, hooks, reason) ? "" : reason;
}

void unknown_runtimes_are_refused_with_a_reason() {
  const Exports older = [](const HsaApiTable&, const char*) { return false; };
  const Exports newer = [](const HsaApiTable&, const char*) { return true; };
  make_tables();
  CHECK(refusal(older).empty());
  root.version.major_id = 9;
  CHECK(refusal(older) == "the runtime's root table has the unknown version 9 (" + std::to_string(sizeof root) + " bytes)");
  make_tables();
  core.version.minor_id = 64;
  CHECK(refusal(older) == "the runtime's core table has the unknown version 1 (64 bytes)");
  make_tables();
  extension.table.version.major_id = 3;
  CHECK(refusal(older).find("AMD extension") != std::string::npos);
  make_tables();
  extension.table.version.minor_id = 300;
  CHECK(refusal(older) == "the runtime's AMD extension table is too small for queue interception");
  make_tables();
  extension.table.hsa_amd_queue_intercept_create_fn = nullptr;
  CHECK(refusal(older) == "the runtime offers no queue interception");
  make_tables();
  extension.table.version.minor_id = 16 + 8 * 40;
  CHECK(refusal(newer) == "the runtime's AMD extension table is too small for queue interception");
  make_tables();
  root.amd_ext_ = nullptr;
  CHECK(!refusal(older).empty());
}

// Behind hsa_amd_memory_async_copy the newer layout has two functions more.
void the_newer_layout_is_found() {
  make_tables();
  auto** functions = reinterpret_cast<void**>(reinterpret_cast<char*>(&extension) + sizeof(ApiTableVersion));
  for (uintptr_t place = 0; place < 48; ++place) functions[place] = reinterpret_cast<void*>(0x1000 + place);
  extension.table.version.minor_id = sizeof extension;
  HsaApi api{};
  HsaHooks hooks{};
  std::string reason;
  CHECK(take_tables(root, [](const HsaApiTable&, const char*) { return true; }, api, hooks, reason));
  CHECK(reinterpret_cast<uintptr_t>(api.async_copy) == 0x1000 + 15);
  CHECK(reinterpret_cast<uintptr_t>(api.async_copy_on_engine) == 0x1000 + 16);
  CHECK(reinterpret_cast<uintptr_t>(api.signal_create) == 0x1000 + 33);
  CHECK(reinterpret_cast<uintptr_t>(api.queue_intercept_create) == 0x1000 + 37);
  CHECK(reinterpret_cast<uintptr_t>(api.async_copy_rect) == 0x1000 + 40);
  CHECK(reinterpret_cast<void**>(hooks.async_copy_rect) == &functions[40]);
  CHECK(take_tables(root, [](const HsaApiTable&, const char*) { return false; }, api, hooks, reason));
  CHECK(api.async_copy_on_engine == nullptr && hooks.async_copy_on_engine == nullptr);
  CHECK(reinterpret_cast<uintptr_t>(api.queue_intercept_create) == 0x1000 + 35);
}

void submit(const std::vector<Packet>& packets) {
  handler(packets.data(), packets.size(), 0, handler_data, [](const void* passed, uint64_t count) {
    const auto* typed = static_cast<const Packet*>(passed);
    submitted.insert(submitted.end(), typed, typed + count);
  });
}

std::string file_content(const std::string& suffix) {
  std::string found;
  DIR* entries = opendir(folder.c_str());
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (name.size() > suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0) found = name;
  }
  closedir(entries);
  return content_of(folder + "/" + found);
}

template <typename Record>
std::vector<Record> records(const std::string& suffix) {
  const std::string content = file_content(suffix);
  std::vector<Record> found;
  for (std::size_t at = WAVESCOPE_PAGE_BYTES; at + sizeof(Record) <= content.size(); at += sizeof(Record)) {
    Record record;
    std::memcpy(&record, content.data() + at, sizeof record);
    if (record.kind != 0) found.push_back(record);
  }
  return found;
}

std::vector<WavescopeOpRecord> ops_once(const std::function<bool(const std::vector<WavescopeOpRecord>&)>& enough) {
  std::vector<WavescopeOpRecord> ops;
  wait_until([&] { return enough(ops = records<WavescopeOpRecord>(".ops")); });
  return ops;
}

hsa_queue_t* begin(uint32_t size = 65536) {
  make_tables();
  submitted.clear();
  CHECK(OnLoad(&root, 0, 0, nullptr));
  hsa_queue_t* queue = nullptr;
  CHECK(core.hsa_queue_create_fn(kGpu, size, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue) == HSA_STATUS_SUCCESS);
  CHECK(queue == &application_queue && handler != nullptr);
  return queue;
}

// Batches are timed packet by packet; nothing is added to them, so a signal that is shared is left alone.
void a_batch_is_recorded_packet_by_packet() {
  hsa_queue_t* queue = begin();
  hsa_signal_t own{};
  hsa_signal_t shared{};
  signal_create(1, 0, nullptr, 0, &own);
  signal_create(2, 0, nullptr, 0, &shared);
  std::vector<Packet> batch;
  for (uint32_t i = 0; i < 100; ++i) batch.push_back(a_dispatch(i + 1));
  batch.push_back(a_dispatch(101, own));
  batch.push_back(a_dispatch(102, shared));
  Packet barrier{};
  barrier.header = HSA_PACKET_TYPE_BARRIER_AND;
  batch.push_back(barrier);
  submit(batch);
  CHECK(submitted.size() == batch.size());
  CHECK(submitted[100].completion_signal.handle == own.handle && submitted[101].completion_signal.handle == shared.handle);
  CHECK(submitted[102].completion_signal.handle == 0);
  for (uint32_t i = 0; i < 101; ++i) complete(submitted[i], 1000 + 10 * i, 1005 + 10 * i);
  auto ops = ops_once([](const auto& all) { return all.size() == 101; });
  // The worker steps over what runs long, and this thread may have paused between two completions.
  std::sort(ops.begin(), ops.end(), [](const auto& one, const auto& other) { return one.start < other.start; });
  for (uint32_t i = 0; i < 101; ++i) {
    CHECK(ops[i].grid[0] == i + 1 && ops[i].start == 1000 + 10 * i && ops[i].end == 1005 + 10 * i);
    CHECK((ops[i].flags & WAVESCOPE_OP_GRAPH) != 0);
  }
  CHECK(core.hsa_queue_destroy_fn(queue) == HSA_STATUS_SUCCESS);
  OnUnload();
  const WavescopeCounterRecord counters = records<WavescopeCounterRecord>(".counters").back();
  CHECK(counters.packets == 103 && counters.seen == 102 && counters.timed == 101);
  CHECK(counters.skipped[WAVESCOPE_SKIP_APP_SIGNAL] == 1);
}

// A kernel that runs on does not keep what ran beside it from the file, and its block from being used again.
void a_long_kernel_holds_nothing_back() {
  const std::size_t before = records<WavescopeOpRecord>(".ops").size();
  hsa_queue_t* queue = begin();
  for (uint32_t i = 0; i < 5000; ++i) submit({a_dispatch(i + 1)});
  CHECK(submitted.size() == 5000);
  for (uint32_t i = 0; i < 5000; ++i) {
    if (i != 10 && i != 2000) complete(submitted[i], 100 + i, 101 + i);
  }
  ops_once([&](const auto& all) { return all.size() == before + 4998; });
  complete(submitted[2000], 2100, 9000);
  auto ops = ops_once([&](const auto& all) { return all.size() == before + 4999; });
  CHECK(ops.back().grid[0] == 2001 && ops.back().end == 9000);
  std::vector<bool> seen(5001, false);
  for (std::size_t i = before; i < ops.size(); ++i) {
    CHECK(!seen[ops[i].grid[0]]);
    seen[ops[i].grid[0]] = true;
  }
  CHECK(core.hsa_queue_destroy_fn(queue) == HSA_STATUS_SUCCESS);
  OnUnload();
  const WavescopeCounterRecord counters = records<WavescopeCounterRecord>(".counters").back();
  CHECK(counters.seen == 5000 && counters.timed == 4999 && counters.lost[WAVESCOPE_LOSS_PENDING_AT_EXIT] == 1);
}

// When nothing ever completes, the collector stops timing at its bound and counts; packets pass.
void memory_is_bounded() {
  hsa_queue_t* queue = begin(1u << 30);
  constexpr uint32_t kMany = 600 * 1024;
  std::vector<Packet> batch(1024, a_dispatch(1));
  for (uint32_t i = 0; i < kMany; i += 1024) {
    submitted.clear();
    submit(batch);
    CHECK(submitted.size() == 1024);
  }
  CHECK(submitted[0].completion_signal.handle == 0);
  CHECK(core.hsa_queue_destroy_fn(queue) == HSA_STATUS_SUCCESS);
  OnUnload();
  const WavescopeCounterRecord counters = records<WavescopeCounterRecord>(".counters").back();
  CHECK(counters.seen == kMany && counters.timed == 0);
  CHECK(counters.lost[WAVESCOPE_LOSS_BUFFER_FULL] + counters.lost[WAVESCOPE_LOSS_PENDING_AT_EXIT] == kMany);
  CHECK(counters.lost[WAVESCOPE_LOSS_BUFFER_FULL] >= kMany - 512 * 1024);
}

// A GPU that does not complete signals of our own making gets the runtime's.
void unwilling_gpus_get_signals_of_the_runtime() {
  const std::size_t before = records<WavescopeOpRecord>(".ops").size();
  keeps_memory = true;
  completes_kept_signals = false;
  hsa_queue_t* queue = begin();
  submit({a_dispatch(7)});
  CHECK(block_in_use().filled == 0);
  complete(submitted[0], 600, 610);
  const auto ops = ops_once([&](const auto& all) { return all.size() == before + 1; });
  CHECK(ops.back().grid[0] == 7 && ops.back().start == 600);
  CHECK(core.hsa_queue_destroy_fn(queue) == HSA_STATUS_SUCCESS);
  OnUnload();
  CHECK(locked.empty());
  CHECK(file_content(".facts").find("the GPU does not complete them") != std::string::npos);
  completes_kept_signals = true;
}

// What is in flight lies in memory that outlives the process: the records, and the signals that the GPU writes.
void what_is_in_flight_is_kept() {
  const std::size_t before = records<WavescopeOpRecord>(".ops").size();
  keeps_memory = true;
  hsa_queue_t* queue = begin();
  CHECK(!locked.empty());
  for (uint32_t i = 0; i < 3; ++i) submit({a_dispatch(i + 1)});
  WavescopePendingBlock block = block_in_use();
  CHECK(block.filled == 3);
  for (uint32_t i = 0; i < 3; ++i) {
    CHECK(block.records[i].kind == WAVESCOPE_OP_DISPATCH && block.records[i].grid[0] == i + 1);
    CHECK(block.signals[i].value == 1 && block.places[i] == 0);
    submitted[i].completion_signal.handle -= kGpuOffset;
  }
  complete(submitted[0], 500, 510);
  ops_once([&](const auto& all) { return all.size() == before + 1; });  // or a sweep in between finds the third alone
  complete(submitted[2], 520, 530);
  ops_once([&](const auto& all) { return all.size() == before + 2; });
  block = block_in_use();
  CHECK(block.places[0] == before + 1 && block.places[1] == 0 && block.places[2] == before + 2);
  CHECK(block.records[2].start == 520 && block.records[2].end == 530);
  CHECK(block.signals[0].value == 1 && block.signals[0].start_ticks == 0);
  CHECK(core.hsa_queue_destroy_fn(queue) == HSA_STATUS_SUCCESS);
  OnUnload();
  CHECK(locked.empty());
  for (const WavescopePendingBlock& left : pending_blocks()) CHECK(left.filled == 0);
  Session::finish("exit");
  CHECK(pending_blocks().empty());
}

}  // namespace

int main() {
  unknown_runtimes_are_refused_with_a_reason();
  the_newer_layout_is_found();
  char pattern[] = "/tmp/wavescope-hsa-XXXXXX";
  folder = mkdtemp(pattern);
  setenv("WAVESCOPE_OUTPUT", folder.c_str(), 1);
  setenv("WAVESCOPE_MODE", "hip", 1);  // which times all that full mode does
  a_batch_is_recorded_packet_by_packet();
  a_long_kernel_holds_nothing_back();
  memory_is_bounded();
  unwilling_gpus_get_signals_of_the_runtime();
  what_is_in_flight_is_kept();
  return std::system(("rm -r " + folder).c_str());
}
