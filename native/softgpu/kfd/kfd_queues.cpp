// Creating, pausing and destroying queues.
#include <cerrno>

#include "softgpu/kfd/kfd_handlers.h"
#include "softgpu/kfd/user_memory.h"

namespace softgpu::kfd {

namespace {

// Runtimes pass the address of the read index inside their queue (amd_queue_t), which also holds its properties.
constexpr uint64_t read_index_offset = 128;
constexpr uint64_t properties_offset = 180;

bool is_power_of_two(uint64_t number) { return number && (number & (number - 1)) == 0; }

bool is_sdma(QueueType type) {
  return type == QueueType::sdma || type == QueueType::sdma_xgmi || type == QueueType::sdma_by_engine;
}

uint64_t properties_address(const CreateQueueArguments& arguments) {
  return arguments.read_index_address - read_index_offset + properties_offset;
}

// Schedulers would read what is not there.
bool has_memory(const Machine& machine, const CreateQueueArguments& arguments) {
  const bool is_aql = arguments.queue_type == QueueType::compute_aql;
  return is_readable(machine.memory.translate(arguments.ring_address), arguments.ring_bytes) &&
         is_readable(arguments.read_index_address, sizeof(uint64_t)) &&
         is_readable(arguments.write_index_address, sizeof(uint64_t)) &&
         (!is_aql || is_readable(properties_address(arguments), sizeof(uint32_t)));
}

ErrorReport error_report(const CreateQueueArguments& arguments) {
  SaveAreaHeader header{};
  if (!arguments.save_area_address || !read_user(arguments.save_area_address, &header, sizeof header) ||
      !header.error_event_id || !is_readable(header.error_reason_address, sizeof(int64_t))) {
    return {};
  }
  return {reinterpret_cast<int64_t*>(header.error_reason_address), header.error_event_id};
}

}  // namespace

int create_queue(Machine& machine, CreateQueueArguments& arguments) {
  const auto gpu_index = machine.gpu_index(arguments.gpu_id);
  const bool is_aql = arguments.queue_type == QueueType::compute_aql;
  if (!gpu_index || (!is_aql && !is_sdma(arguments.queue_type)) || !is_power_of_two(arguments.ring_bytes)) {
    return EINVAL;
  }
  if (!has_memory(machine, arguments)) return EFAULT;
  arguments.queue_id = machine.queues.add(*gpu_index);
  const auto slot = machine.queues.find(arguments.queue_id);
  if (!slot) return ENOMEM;
  uint64_t* doorbell = machine.queues.doorbell(*slot);
  arguments.doorbell_offset = doorbell_offset(*gpu_index) + slot->slot * sizeof *doorbell;
  const QueueMemory memory{reinterpret_cast<char*>(machine.memory.translate(arguments.ring_address)), arguments.ring_bytes,
                           reinterpret_cast<uint64_t*>(arguments.read_index_address),
                           reinterpret_cast<uint64_t*>(arguments.write_index_address), doorbell};
  Device& device = machine.engine.device(*gpu_index);
  if (is_aql) {
    *doorbell = ~uint64_t{0};  // so that packet 0 is an announcement
    const auto* properties = reinterpret_cast<const uint32_t*>(properties_address(arguments));
    device.add_aql_queue(arguments.queue_id, memory, properties, error_report(arguments));
  } else {
    *doorbell = 0;
    device.add_sdma_queue(arguments.queue_id, memory);
  }
  return 0;
}

int destroy_queue(Machine& machine, DestroyQueueArguments& arguments) {
  const auto slot = machine.queues.find(arguments.queue_id);
  if (!slot || !machine.engine.device(slot->gpu_index).remove_queue(arguments.queue_id)) return EINVAL;
  machine.queues.remove(arguments.queue_id);
  return 0;
}

int update_queue(Machine& machine, UpdateQueueArguments& arguments) {
  const auto slot = machine.queues.find(arguments.queue_id);
  if (!slot) return EINVAL;
  machine.engine.device(slot->gpu_index).suspend_queue(arguments.queue_id, arguments.percentage == 0);
  return 0;
}

int set_cu_mask(Machine& machine, CuMaskArguments& arguments) {
  return machine.queues.find(arguments.queue_id) ? 0 : EINVAL;
}

int allocate_queue_gws(Machine& machine, QueueGwsArguments& arguments) {
  if (!machine.queues.find(arguments.queue_id)) return EINVAL;
  arguments.first = 0;
  return 0;
}

}  // namespace softgpu::kfd
