// The GPUs of a machine: the engine behind any front end.
#ifndef WAVESCOPE_SOFTGPU_ENGINE_H
#define WAVESCOPE_SOFTGPU_ENGINE_H

#include <memory>
#include <string>
#include <vector>

#include "softgpu/device.h"

namespace softgpu {

class Engine {
 public:
  // What is passed must live as long as the engine.
  Engine(Configuration& configuration, const Clock& clock, const Memory& memory, Interrupts& interrupts);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Whether the truth log was asked for and cannot be written.
  bool lacks_truth_file() const { return truth_file_ && !truth_file_->is_made(); }

  // The file of the truth log, or nothing.
  std::string truth_path() const { return truth_file_ ? truth_file_->path() : std::string(); }

  Device& device(uint32_t gpu_index) { return *devices_[gpu_index]; }

  // A thread of the host starts to wait: work may be pending that sleeping schedulers have not seen.
  void host_waits();
  void flush_truth();

 private:
  std::unique_ptr<TruthFile> truth_file_;
  SignalEnds signal_ends_;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace softgpu

#endif
