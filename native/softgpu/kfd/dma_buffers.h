// Descriptors for buffers, to be passed to other GPUs and processes.
//
// Such a descriptor is a small memory file, as long as the buffer, whose first bytes say where the pages are: which
// process, which of its descriptors, where in that file; and what was noted at the buffer until then. Another process opens
// the file through /proc, so the one that made the buffer must be alive then.
#ifndef WAVESCOPE_SOFTGPU_KFD_DMA_BUFFERS_H
#define WAVESCOPE_SOFTGPU_KFD_DMA_BUFFERS_H

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>

#include "softgpu/kfd/buffers.h"

namespace softgpu::kfd {

class DmaBuffers {
 public:
  explicit DmaBuffers(uint32_t gpu_count) : gpu_count_(gpu_count) {}

  // A descriptor of the buffer; -1 and errno when it cannot be made.
  int exported(const std::shared_ptr<Buffer>& buffer, bool closes_on_exec);
  // The buffer of a descriptor, of this process or another; nullptr when it is of none.
  std::shared_ptr<Buffer> imported(int descriptor);

 private:
  uint32_t gpu_count_;
  std::mutex mutex_;
  std::map<ino_t, std::weak_ptr<Buffer>> exported_;  // by the descriptor's file
};

}  // namespace softgpu::kfd

#endif
