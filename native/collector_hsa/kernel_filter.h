// Which kernels to record, when only some are wanted.
#ifndef WAVESCOPE_COLLECTOR_HSA_KERNEL_FILTER_H
#define WAVESCOPE_COLLECTOR_HSA_KERNEL_FILTER_H

#include <regex.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace wavescope {

class KernelFilter {
 public:
  // An extended regular expression (\d is understood too); what is none is looked for as it stands. Empty: all kernels.
  explicit KernelFilter(const std::string& pattern);
  ~KernelFilter();
  KernelFilter(const KernelFilter&) = delete;
  KernelFilter& operator=(const KernelFilter&) = delete;

  bool active() const { return active_; }

  // Remembers the answer for a kernel object; any thread.
  void learn(uint64_t kernel_object, const std::string& name);

  // Whether to record the kernel; lock free. Kernels that were never learned are not wanted.
  bool wants(uint64_t kernel_object) const;

  // Whether the name of a code object matches, or the name that people read.
  bool matches(const std::string& name) const;

 private:
  bool matches_text(const std::string& name) const;

  static constexpr uint32_t kTableBits = 16;

  const std::string pattern_;
  const bool active_;
  bool compiled_ = false;
  regex_t expression_{};
  std::atomic<uint64_t>* table_ = nullptr;  // kernel objects (64-byte aligned), the lowest bit set when wanted
};

}  // namespace wavescope

#endif
