// Says once of each driver call that is not known here that it was made: beside the truth log, or on stderr when asked.
#ifndef WAVESCOPE_SOFTGPU_KFD_CALL_LOG_H
#define WAVESCOPE_SOFTGPU_KFD_CALL_LOG_H

#include <bitset>
#include <cstddef>
#include <mutex>
#include <string>

namespace softgpu::kfd {

class CallLog {
 public:
  // Without a truth log and unless `verbose` is "1" nothing is said.
  CallLog(std::string truth_path, const char* verbose);

  enum class Device { kfd, render };
  void unknown(Device device, unsigned number, size_t bytes);

 private:
  std::string path_;
  bool is_verbose_;
  std::mutex mutex_;
  std::bitset<512> said_;
};

}  // namespace softgpu::kfd

#endif
