#include "softgpu/thunk_5x/machine.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

namespace softgpu {

namespace {

std::atomic<Machine*> opened{nullptr};

void flush_at_exit() {
  if (Machine* here = machine()) here->engine.flush_truth();
}

// A child of fork has no schedulers: as with the kernel driver, it must open the GPUs anew.
void forget_after_fork() { opened.store(nullptr, std::memory_order_release); }

void prepare_process() {
  static const bool is_prepared = [] {
    pthread_atfork(nullptr, nullptr, forget_after_fork);
    std::atexit(flush_at_exit);
    return true;
  }();
  static_cast<void>(is_prepared);
}

bool is_usable(const Configuration& configuration) {
  if (configuration.problem.empty()) return true;
  std::fprintf(stderr, "wavescope softgpu: %s\n", configuration.problem.c_str());
  return false;
}

}  // namespace

QueueRecords::QueueRecords()
    : doorbells_(static_cast<uint64_t*>(new_pages(limit * sizeof(uint64_t), false))) {}

QueueRecords::~QueueRecords() { munmap(doorbells_, limit * sizeof(uint64_t)); }

QueueRecords::Record* QueueRecords::create(uint32_t gpu_index) {
  const std::lock_guard<std::mutex> guard(mutex_);
  uint32_t slot = 0;
  while (slot < limit && is_used_[slot]) ++slot;
  if (slot == limit) return nullptr;
  is_used_[slot] = true;
  const uint64_t id = next_id_++;
  auto& record = records_[id];
  record = std::make_unique<Record>(Record{id, gpu_index, slot, {}});
  return record.get();
}

std::optional<uint32_t> QueueRecords::gpu_of(uint64_t id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = records_.find(id);
  return found == records_.end() ? std::nullopt : std::optional<uint32_t>(found->second->gpu_index);
}

void QueueRecords::remove(uint64_t id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = records_.find(id);
  if (found == records_.end()) return;
  is_used_[found->second->doorbell_slot] = false;
  records_.erase(found);
}

Machine::Machine(std::unique_ptr<Configuration> given)
    : configuration(std::move(given)),
      engine(*configuration, clock, memory, events),
      register_page(new_pages(4096, false)) {}

Machine::~Machine() { munmap(register_page, 4096); }

Machine* machine() { return opened.load(std::memory_order_acquire); }

HSAKMT_STATUS open_machine() {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> guard(mutex);
  if (machine()) return HSAKMT_STATUS_SUCCESS;
  auto configuration = std::make_unique<Configuration>();
  read_configuration(std::getenv, *configuration);
  if (!is_usable(*configuration)) return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
  prepare_process();
  auto here = std::make_unique<Machine>(std::move(configuration));
  if (here->engine.lacks_truth_file()) {
    std::fprintf(stderr, "wavescope softgpu: cannot write the truth log %s\n",
                 here->configuration->truth_path.c_str());
    return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
  }
  opened.store(here.release(), std::memory_order_release);
  return HSAKMT_STATUS_SUCCESS;
}

}  // namespace softgpu
