// The kernel driver's calls, made directly: answers, limits, and arguments that make no sense.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "machine_fixture.h"
#include "softgpu/file_text.h"
#include "softgpu/kfd/drm_abi.h"
#include "softgpu/packets.h"

using namespace softgpu;
using namespace softgpu::kfd;

namespace {

void test_trees_that_are_not_whole() {
  const TreeFolder tree;
  CHECK(read_machine_tree(tree.path()).gpus.size() == 2);
  const GpuFacts gpu = read_machine_tree(tree.path()).gpus[1];
  CHECK(gpu.gpu_id == gpu_ids[1] && gpu.render_minor == 129 && gpu.memory_bytes == vram_bytes);
  CHECK(gpu.target_version == 90010 && gpu.memory_mhz == 1600 && gpu.engine_mhz == 1700);
  CHECK(read_machine_tree("/no/such/folder").problem ==
        "there is no machine of 1 to 16 GPUs in /no/such/folder (No such file or directory)");
  tree.write("nodes/2/gpu_id", "none\n");
  CHECK(read_machine_tree(tree.path()).problem.find("node 2 of the machine in") == 0);
}

void test_versions_and_apertures() {
  TestMachine test;
  VersionArguments version{};
  CHECK(test.call(0x01, version) == 0 && version.major == 1 && version.minor == 17);
  Apertures apertures[3]{};
  AperturesArguments arguments{0, 0, 0};
  CHECK(test.call(0x14, arguments) == 0 && arguments.count == 2);
  arguments = {reinterpret_cast<uint64_t>(apertures), 3, 0};
  CHECK(test.call(0x14, arguments) == 0 && arguments.count == 2);
  CHECK(apertures[0].gpu_id == gpu_ids[0] && apertures[1].gpu_id == gpu_ids[1] && apertures[2].gpu_id == 0);
  CHECK(apertures[1].gpu_last == 0x7fffffffffff && apertures[1].lds_first == uint64_t{1} << 48);
  arguments = {8, 3, 0};
  CHECK(test.call(0x14, arguments) == EFAULT);
  XnackModeArguments xnack{-1};
  CHECK(test.call(0x21, xnack) == 0 && xnack.is_enabled == 0);
  xnack.is_enabled = 1;
  CHECK(test.call(0x21, xnack) == EPERM);
  ClockCountersArguments clocks{0, 0, 0, 0, gpu_ids[0], 0};
  CHECK(test.call(0x05, clocks) == 0 && clocks.system_hz == 1'000'000'000 && clocks.gpu_ticks > 0);
  const ClockCountersArguments first = clocks;
  for (int reading = 0; reading < 100; ++reading) {  // the rate is exact, from readings of any distance
    CHECK(test.call(0x05, clocks) == 0);
    CHECK((clocks.gpu_ticks - first.gpu_ticks) * ns_per_gpu_tick == clocks.system_ticks - first.system_ticks);
  }
}

void test_memory_is_limited_and_reused() {
  TestMachine test;
  uint64_t first_offset = 1;
  uint64_t second_offset = 0;
  const uint32_t visible = memory_vram | memory_public;
  const uint64_t first = test.allocate(0x10'0000'0000, 40 * mebibyte, visible, &first_offset);
  CHECK(first && test.allocate(0x20'0000'0000, 40 * mebibyte, visible) == 0);
  AvailableMemoryArguments available{0, gpu_ids[0], 0};
  CHECK(test.call(0x23, available) == 0 && available.bytes == 24 * mebibyte);
  const uint64_t second = test.allocate(0x20'0000'0000, 24 * mebibyte, visible, &second_offset);
  CHECK(second && second_offset == first_offset + 40 * mebibyte);
  CHECK(test.allocate(0x30'0000'0000, 100 * mebibyte, memory_gtt));  // of the host: no limit
  CHECK(test.machine->memory.find(0x10'0000'0000)->bytes == 40 * mebibyte);

  FreeArguments release{first};
  CHECK(test.call(0x17, release) == 0 && test.call(0x17, release) == EINVAL);
  CHECK(!test.machine->memory.find(0x10'0000'0000));
  uint64_t again = 1;
  CHECK(test.allocate(0x10'0000'0000, mebibyte, visible, &again) && again == first_offset);
  CHECK(test.allocate(0x40'0000'0000, 0, visible) == 0);
  CHECK(test.allocate(0x40'0000'0000, UINT64_MAX, memory_gtt) == 0);
  AllocateArguments unknown{0x1000, 4096, 0, 0, 77, visible};
  CHECK(test.call(0x16, unknown) == EINVAL);
  MapArguments map{second, 0, 2, 0};
  CHECK(test.call(0x18, map) == 0 && map.success_count == 2);
  map.handle = 999;
  CHECK(test.call(0x18, map) == EINVAL);
}

void test_freed_memory_comes_back_zeroed() {
  TestMachine test;
  uint64_t offset = 0;
  const uint64_t handle = test.allocate(0, mebibyte, memory_vram, &offset);
  const int file = test.machine->gpu_files[0]->file().descriptor();
  CHECK(pwrite(file, "x", 1, static_cast<off_t>(offset)) == 1);
  FreeArguments release{handle};
  CHECK(test.call(0x17, release) == 0);
  CHECK(test.allocate(0, mebibyte, memory_vram, &offset));
  char byte = 'y';
  CHECK(pread(file, &byte, 1, static_cast<off_t>(offset)) == 1 && byte == 0);
}

void test_addresses_that_only_gpus_see() {
  TestMachine test;
  constexpr uint64_t hidden = 0x50'0000'0000;
  uint64_t offset = 0;
  CHECK(test.allocate(hidden, mebibyte, memory_vram, &offset));
  auto* seen = reinterpret_cast<char*>(test.machine->memory.translate(hidden + 5));
  *seen = 'z';
  char byte = 0;
  CHECK(pread(test.machine->gpu_files[0]->file().descriptor(), &byte, 1, static_cast<off_t>(offset + 5)) == 1);
  CHECK(byte == 'z');
  std::vector<char> host(8192);
  AllocateArguments registered{0x60'0000'0000, 8192, 0, reinterpret_cast<uint64_t>(host.data()), gpu_ids[1], memory_user};
  CHECK(test.call(0x16, registered) == 0);
  CHECK(test.machine->memory.translate(0x60'0000'0010) == reinterpret_cast<uintptr_t>(host.data()) + 16);
}

void test_a_limit_on_files_is_none_on_memory() {
  rlimit before{};
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{mebibyte, before.rlim_max};
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  {
    TestMachine test;
    const DeviceFile& file = test.machine->gpu_files[0]->file();
    CHECK(!file.has_pages());
    constexpr uint64_t hidden = 0x50'0000'0000;
    uint64_t offset = 0;
    const uint64_t handle = test.allocate(hidden, 4 * mebibyte, memory_vram, &offset);
    CHECK(handle && offset == 0);
    *reinterpret_cast<char*>(test.machine->memory.translate(hidden + 3 * mebibyte)) = 'z';
    auto* mapped = static_cast<char*>(file.map(nullptr, 4 * mebibyte, PROT_READ | PROT_WRITE, offset));
    CHECK(mapped != MAP_FAILED && mapped[3 * mebibyte] == 'z');
    FreeArguments release{handle};
    CHECK(test.call(0x17, release) == 0 && mapped[3 * mebibyte] == 0);
    munmap(mapped, 4 * mebibyte);
    ExportDmaBufferArguments exported{test.allocate(0, 4 * mebibyte, memory_vram), 0, 0};
    CHECK(exported.handle && test.call(0x24, exported) == ENOMEM);
  }
  CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
}

// What a runtime keeps of a queue.
struct alignas(4096) QueueArea {
  Packet ring[64]{};
  char queue[256]{};
  SaveAreaHeader header{};
  int64_t error_reason = 0;
};

CreateQueueArguments queue_arguments(QueueArea& area) {
  for (Packet& packet : area.ring) packet.dispatch.header = static_cast<uint16_t>(PacketType::invalid);
  CreateQueueArguments arguments{};
  arguments.ring_address = reinterpret_cast<uint64_t>(area.ring);
  arguments.ring_bytes = sizeof area.ring;
  arguments.read_index_address = reinterpret_cast<uint64_t>(area.queue + 128);
  arguments.write_index_address = reinterpret_cast<uint64_t>(area.queue + 56);
  arguments.save_area_address = reinterpret_cast<uint64_t>(&area.header);
  arguments.queue_type = QueueType::compute_aql;
  arguments.gpu_id = gpu_ids[1];
  arguments.percentage = 100;
  return arguments;
}

void test_queues() {
  TestMachine test;
  auto area = std::make_unique<QueueArea>();
  CreateQueueArguments arguments = queue_arguments(*area);
  const CreateQueueArguments whole = arguments;
  CHECK(test.call(0x02, arguments, 88) == 0);  // as long as in older versions
  CHECK(arguments.queue_id == 1 && arguments.doorbell_offset == uint64_t{2} << 41);
  CreateQueueArguments second = whole;
  CHECK(test.call(0x02, second) == 0 && second.doorbell_offset == arguments.doorbell_offset + 8);

  Signal signal{};
  signal.value = 1;
  Packet packet{};
  packet.barrier.completion_signal = reinterpret_cast<uint64_t>(&signal);
  area->ring[0] = packet;
  __atomic_store_n(&area->ring[0].barrier.header, static_cast<uint16_t>(PacketType::barrier_and), __ATOMIC_RELEASE);
  __atomic_store_n(reinterpret_cast<uint64_t*>(area->queue + 56), uint64_t{1}, __ATOMIC_RELEASE);
  while (__atomic_load_n(&signal.value, __ATOMIC_ACQUIRE) != 0) std::this_thread::yield();

  UpdateQueueArguments update{0, 1, 0, 0, 0};
  CHECK(test.call(0x07, update) == 0);
  DestroyQueueArguments destroy{1, 0};
  CHECK(test.call(0x03, destroy) == 0 && test.call(0x03, destroy) == EINVAL && test.call(0x07, update) == EINVAL);
  CreateQueueArguments third = whole;
  CHECK(test.call(0x02, third) == 0 && third.queue_id == 3 && third.doorbell_offset == arguments.doorbell_offset);
  QueueGwsArguments gws{3, 64, 7, 0};
  CHECK(test.call(0x1e, gws) == 0 && gws.first == 0);

  const auto refused = [&](auto change) {
    CreateQueueArguments wrong = whole;
    change(wrong);
    return test.call(0x02, wrong);
  };
  CHECK(refused([](auto& wrong) { wrong.gpu_id = 1; }) == EINVAL);
  CHECK(refused([](auto& wrong) { wrong.ring_bytes = 100; }) == EINVAL);
  CHECK(refused([](auto& wrong) { wrong.queue_type = QueueType::compute; }) == EINVAL);
  CHECK(refused([](auto& wrong) { wrong.ring_address = 16; }) == EFAULT);
  CHECK(refused([](auto& wrong) { wrong.read_index_address = 0; }) == EFAULT);
  CHECK(refused([](auto& wrong) { wrong.write_index_address = ~uint64_t{0}; }) == EFAULT);
  for (const uint32_t id : {2U, 3U}) {
    destroy.queue_id = id;
    CHECK(test.call(0x03, destroy) == 0);
  }
}

void test_sdma_queues_of_all_kinds() {
  TestMachine test;
  auto area = std::make_unique<QueueArea>();
  for (const QueueType type : {QueueType::sdma, QueueType::sdma_xgmi, QueueType::sdma_by_engine}) {
    CreateQueueArguments arguments = queue_arguments(*area);
    arguments.queue_type = type;
    CHECK(test.call(0x02, arguments) == 0);
    DestroyQueueArguments destroy{arguments.queue_id, 0};
    CHECK(test.call(0x03, destroy) == 0);
  }
}

uint32_t new_event(TestMachine& test) {
  CreateEventArguments arguments{0, 0, 0, 1, 0, 0, 0};
  CHECK(test.call(0x08, arguments) == 0);
  CHECK(arguments.page_offset > 0 && arguments.slot == arguments.event_id && arguments.trigger_data == arguments.slot);
  return arguments.event_id;
}

void test_events_with_ages() {
  TestMachine test;
  EventData data[2]{};
  data[0].event_id = new_event(test);
  data[1].event_id = new_event(test);
  data[0].last_age = data[1].last_age = 1;
  WaitEventsArguments wait{reinterpret_cast<uint64_t>(data), 2, 0, 1, WaitResult::complete};
  CHECK(test.call(0x0c, wait) == 0 && wait.result == WaitResult::timeout && data[0].last_age == 1);
  EventArguments event{data[1].event_id, 0};
  CHECK(test.call(0x0a, event) == 0);
  CHECK(test.call(0x0c, wait) == 0 && wait.result == WaitResult::complete);
  CHECK(data[0].last_age == 1 && data[1].last_age == 2);
  wait.timeout_ms = 0;
  CHECK(test.call(0x0c, wait) == 0 && wait.result == WaitResult::timeout);

  data[1].last_age = 0;  // ages are not used: each setting comes once to each thread
  CHECK(test.call(0x0a, event) == 0);
  CHECK(test.call(0x0c, wait) == 0 && wait.result == WaitResult::complete && data[1].last_age == 0);
  CHECK(test.call(0x0c, wait) == 0 && wait.result == WaitResult::timeout);
  CHECK(test.call(0x0b, event) == 0 && test.call(0x09, event) == 0);
  wait.events_address = 4;
  CHECK(test.call(0x0c, wait) == EFAULT);
  wait.event_count = UINT32_MAX;
  CHECK(test.call(0x0c, wait) == EINVAL);
}

void test_buffers_are_shared_by_descriptor() {
  TestMachine test;
  const uint64_t handle = test.allocate(0, mebibyte, memory_vram);
  ExportDmaBufferArguments exported{handle, O_CLOEXEC, 0};
  CHECK(test.call(0x24, exported) == 0);
  const auto descriptor = static_cast<int>(exported.descriptor);
  CHECK(lseek(descriptor, 0, SEEK_END) == static_cast<off_t>(mebibyte));
  DmaBufferInfoArguments info{0, 0, 7, 0, 0, exported.descriptor};
  CHECK(test.call(0x1c, info) == 0 && info.bytes == mebibyte && info.gpu_id == gpu_ids[0] && info.metadata_bytes == 0);
  ImportDmaBufferArguments imported{0x70'0000'0000, 0, gpu_ids[1], exported.descriptor};
  CHECK(test.call(0x1d, imported) == 0 && imported.handle != handle);

  PrimeHandleArguments prime{0, 0, descriptor};
  CHECK(test.render(0x2e, prime) == 0 && prime.handle);
  constexpr uint64_t mapped_at = 0x71'0000'0000;
  GemVaArguments map{prime.handle, 0, GemVaOperation::map, 0, mapped_at, 4096, 8192, {}};
  CHECK(test.render(0x48, map) == 0 && test.render(0x48, map, 1) == 0);
  *reinterpret_cast<char*>(test.machine->memory.translate(mapped_at)) = 'a';
  CHECK(*reinterpret_cast<char*>(test.machine->memory.translate(0x70'0000'1000)) == 'a');
  FreeArguments release{handle};
  CHECK(test.call(0x17, release) == 0);  // still imported and mapped
  AvailableMemoryArguments available{0, gpu_ids[0], 0};
  CHECK(test.call(0x23, available) == 0 && available.bytes == vram_bytes - mebibyte);

  map.operation = GemVaOperation::unmap;
  CHECK(test.render(0x48, map) == 0 && test.machine->memory.find(mapped_at));
  CHECK(test.render(0x48, map, 1) == 0 && !test.machine->memory.find(mapped_at));
  GemCloseArguments close_handle{prime.handle, 0};
  CHECK(test.render(0x09, close_handle) == 0 && test.render(0x09, close_handle) == EINVAL);
  release.handle = imported.handle;
  CHECK(test.call(0x17, release) == 0);
  CHECK(test.call(0x23, available) == 0 && available.bytes == vram_bytes);
  CHECK(test.call(0x1d, imported) == EINVAL);
  close(descriptor);
  prime.descriptor = STDERR_FILENO;
  CHECK(test.render(0x2e, prime) == EINVAL);
}

// By what it notes at a buffer ROCr 7 knows the memory that another process shares.
void test_buffers_carry_notes() {
  TestMachine test;
  ExportDmaBufferArguments exported{test.allocate(0, mebibyte, memory_vram), O_CLOEXEC, 0};
  CHECK(test.call(0x24, exported) == 0);
  PrimeHandleArguments prime{0, 0, static_cast<int>(exported.descriptor)};
  CHECK(test.render(0x2e, prime) == 0);
  GemMetadataArguments note{prime.handle, GemMetadataOperation::set, {3, 5, 4, {4711}}};
  CHECK(test.render(0x46, note) == 0);
  PrimeHandleArguments again{0, 0, prime.descriptor};
  CHECK(test.render(0x2e, again) == 0 && again.handle != prime.handle);
  GemMetadataArguments read{again.handle, GemMetadataOperation::get, {}};
  CHECK(test.render(0x46, read) == 0 && read.metadata.bytes == 4 && read.metadata.data[0] == 4711);
  CHECK(read.metadata.flags == 3 && read.metadata.tiling == 5);
  note.metadata.bytes = sizeof note.metadata.data + 1;
  CHECK(test.render(0x46, note) == EINVAL);
  note.operation = static_cast<GemMetadataOperation>(3);
  CHECK(test.render(0x46, note) == EINVAL);
  note.handle = 99;
  CHECK(test.render(0x46, note) == ENOENT);

  BufferCreation creation{};
  GemOperationArguments creation_of{prime.handle, GemOperation::tell_creation, reinterpret_cast<uint64_t>(&creation)};
  CHECK(test.render(0x50, creation_of) == 0 && creation.bytes == mebibyte && creation.domains == domain_vram);
  creation_of.address = 8;
  CHECK(test.render(0x50, creation_of) == EFAULT);
  creation_of.handle = 99;
  CHECK(test.render(0x50, creation_of) == ENOENT);
  close(prime.descriptor);
}

void test_render_nodes() {
  TestMachine test;
  char name[8] = "";
  DrmVersionArguments version{};
  CHECK(test.render(0x00, version) == 0 && version.major == 3 && version.name_bytes == 6);
  version.name_address = reinterpret_cast<uint64_t>(name);
  CHECK(test.render(0x00, version) == 0 && std::strcmp(name, "amdgpu") == 0);
  GpuInfo facts{};
  GpuInfoArguments info{reinterpret_cast<uint64_t>(&facts), sizeof facts, GpuInfoQuery::device, {}};
  CHECK(test.render(0x45, info) == 0 && facts.device_id == 0x740f && facts.active_units == 104 && facts.family == 141);
  info.result_address = 1;
  CHECK(test.render(0x45, info) == EFAULT);
  info.result_bytes = UINT32_MAX;
  CHECK(test.render(0x45, info) == EINVAL);
  CHECK(test.render(0x7f, info) == EINVAL);
}

void test_unknown_calls_are_noted_once() {
  TestMachine test("truth.csv");
  uint64_t word = 0;
  CHECK(test.call(0x60, word) == ENOTTY && test.call(0x60, word) == ENOTTY);
  CHECK(test.call(0x81, word) == ENOTTY);  // known, and refused
  CHECK(test.render(0x33, word) == EINVAL);
  CHECK(*file_text(test.tree.path() + "/truth.csv.calls") ==
        "wavescope softgpu: unknown call 0x60 of 8 bytes to /dev/kfd\n"
        "wavescope softgpu: unknown call 0x33 of 8 bytes to a render node\n");
}

void test_a_truth_log_that_cannot_be_written() {
  const TreeFolder tree;
  std::string problem;
  const auto variable = [](const char* name) {
    return std::string(name) == "WAVESCOPE_SOFTGPU_TRUTH" ? "/no/such/folder/x" : nullptr;
  };
  CHECK(!Machine::open(tree.path(), variable, problem) && problem == "cannot write the truth log /no/such/folder/x");
}

// Nothing that a caller passes may end the process.
void test_garbage() {
  TestMachine test;
  std::mt19937_64 random(7);
  const int kept = open("/dev/null", O_RDONLY);
  for (int round = 0; round < 20'000; ++round) {
    uint64_t words[40];
    for (uint64_t& word : words) word = random() % 3 ? random() % 64 : random();
    const auto number = static_cast<unsigned>(random() % 0x30);
    const auto bytes = static_cast<size_t>(random() % 300);
    if (number == 0x0c) words[2] = 0;  // no timeout
    const unsigned long request = _IOC(_IOC_READ | _IOC_WRITE, 'K', number, bytes);
    void* user = random() % 8 ? static_cast<void*>(words) : reinterpret_cast<void*>(random() % 4096);
    if (number != 0x1f) kfd_ioctl(*test.machine, request, user);  // 0x1f hands out descriptors
    render_ioctl(*test.machine, 0, _IOC(_IOC_READ | _IOC_WRITE, 'd', random() % 0x60, bytes), user);
  }
  CHECK(kept >= 0 && close(kept) == 0);
}

}  // namespace

int main() {
  test_trees_that_are_not_whole();
  test_versions_and_apertures();
  test_memory_is_limited_and_reused();
  test_freed_memory_comes_back_zeroed();
  test_addresses_that_only_gpus_see();
  test_a_limit_on_files_is_none_on_memory();
  test_queues();
  test_sdma_queues_of_all_kinds();
  test_events_with_ages();
  test_buffers_are_shared_by_descriptor();
  test_buffers_carry_notes();
  test_render_nodes();
  test_unknown_calls_are_noted_once();
  test_a_truth_log_that_cannot_be_written();
  test_garbage();
  return 0;
}
