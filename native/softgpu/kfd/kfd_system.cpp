// Versions, clocks, address ranges, and what needs no more than an answer.
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "softgpu/kfd/kfd_handlers.h"
#include "softgpu/kfd/user_memory.h"

namespace softgpu::kfd {

namespace {

constexpr uint64_t four_gib = uint64_t{4} << 30;
constexpr uint64_t lds_first = uint64_t{1} << 48;
constexpr uint64_t scratch_first = uint64_t{2} << 48;
// With 47 bits runtimes take addresses from plain mmap, so that GPUs and host have the same ones.
constexpr uint64_t gpu_first = 0x4000;
constexpr uint64_t gpu_last = 0x7fff'ffff'ffff;

int known_gpu(const Machine& machine, uint32_t gpu_id) { return machine.gpu_index(gpu_id) ? 0 : EINVAL; }

}  // namespace

// From 1.14 on runtimes use ages of events.
int get_version(Machine&, VersionArguments& version) {
  version = {1, 17};
  return 0;
}

int get_apertures(Machine& machine, AperturesArguments& arguments) {
  const uint32_t all = machine.gpu_count();
  if (arguments.count == 0) {
    arguments.count = all;
    return 0;
  }
  std::vector<Apertures> apertures(std::min(all, arguments.count));
  for (size_t index = 0; index < apertures.size(); ++index) {
    apertures[index] = {lds_first,
                        lds_first + four_gib - 1,
                        scratch_first,
                        scratch_first + four_gib - 1,
                        gpu_first,
                        gpu_last,
                        machine.tree.gpus[index].gpu_id,
                        0};
  }
  arguments.count = static_cast<uint32_t>(apertures.size());
  const size_t bytes = apertures.size() * sizeof(Apertures);
  return write_user(arguments.apertures_address, apertures.data(), bytes) ? 0 : EFAULT;
}

int acquire_vm(Machine& machine, AcquireVmArguments& arguments) {
  const DeviceKind device = machine.kind_of(static_cast<int>(arguments.render_descriptor));
  return device.type == DeviceKind::Type::render ? known_gpu(machine, arguments.gpu_id) : EINVAL;
}

int get_clock_counters(Machine& machine, ClockCountersArguments& counters) {
  const auto gpu_index = machine.gpu_index(counters.gpu_id);
  uint64_t now = machine.clock.now_ns();
  counters.gpu_ticks = 0;
  if (gpu_index) {  // of the same moment: runtimes convert timestamps by such pairs
    const GpuClock& gpu_clock = machine.engine.device(*gpu_index).gpu_clock();
    now = gpu_clock.last_tick_ns(now);
    counters.gpu_ticks = gpu_clock.ticks(now);
  }
  counters.system_ticks = counters.cpu_ticks = now;
  counters.system_hz = 1'000'000'000;
  return 0;
}

int set_memory_policy(Machine& machine, MemoryPolicyArguments& arguments) { return known_gpu(machine, arguments.gpu_id); }

int set_scratch_backing(Machine& machine, ScratchArguments& arguments) { return known_gpu(machine, arguments.gpu_id); }

int set_trap_handler(Machine& machine, TrapHandlerArguments& arguments) { return known_gpu(machine, arguments.gpu_id); }

int get_tile_config(Machine& machine, TileConfigArguments& arguments) {
  arguments.tile_count = arguments.macro_tile_count = 0;
  arguments.address_config = 0x24000042;
  arguments.bank_count = arguments.rank_count = 0;
  return known_gpu(machine, arguments.gpu_id);
}

int set_xnack_mode(Machine&, XnackModeArguments& arguments) {
  if (arguments.is_enabled > 0) return EPERM;
  arguments.is_enabled = 0;
  return 0;
}

// Success makes runtimes give each queue an error reason and event.
int runtime_enable(Machine&, RuntimeEnableArguments&) { return 0; }

// Debugging is not offered, but the oldest thunks enable the runtime through it.
int debug_trap(Machine&, DebugTrapArguments& arguments) {
  switch (arguments.operation) {
    case DebugOperation::get_version:
      arguments.data[0] = 10;  // the only one with which they go on
      arguments.data[1] = 0;
      return 0;
    case DebugOperation::runtime_enable: return 0;
  }
  return ENOTTY;
}

// Nothing of what it would tell happens here.
int open_smi_events(Machine& machine, SmiEventsArguments& arguments) {
  if (known_gpu(machine, arguments.gpu_id)) return EINVAL;
  const int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) return errno;
  arguments.descriptor = static_cast<uint32_t>(descriptor);
  return 0;
}

}  // namespace softgpu::kfd
