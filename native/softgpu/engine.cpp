#include "softgpu/engine.h"

namespace softgpu {

Engine::Engine(Configuration& configuration, const Clock& clock, const Memory& memory, Interrupts& interrupts) {
  if (!configuration.truth_path.empty()) {
    truth_file_ = std::make_unique<TruthFile>(configuration.truth_path);
  }
  const bool logs = truth_file_ && truth_file_->is_made();
  const uint64_t start_ns = clock.now_ns();
  for (uint32_t index = 0; index < configuration.gpu_count; ++index) {
    const auto wake_others = [this, index] {
      for (uint32_t other = 0; other < devices_.size(); ++other) {
        if (other != index) devices_[other]->nudge_if_blocked();
      }
    };
    devices_.push_back(std::make_unique<Device>(Device::Parts{index, configuration, clock, memory, interrupts, signal_ends_,
                                                              logs ? truth_file_.get() : nullptr, start_ns, wake_others}));
  }
}

// Schedulers end one after the other, and until then may nudge each other.
Engine::~Engine() {
  for (auto& device : devices_) device->stop();
}

void Engine::host_waits() {
  for (auto& device : devices_) device->nudge_if_asleep();
}

void Engine::flush_truth() {
  for (auto& device : devices_) device->flush_truth();
}

}  // namespace softgpu
