#include "collector_hsa/driver_link.h"

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

namespace wavescope {
namespace {

bool is_device(int descriptor, dev_t number) {
  const int error = errno;
  struct stat state{};
  const bool is_same = fstat(descriptor, &state) == 0 && S_ISCHR(state.st_mode) && state.st_rdev == number;
  errno = error;
  return is_same;
}

}  // namespace

DriverLink::DriverLink(const char* device) {
  struct stat state{};
  if (stat(device, &state) != 0 || !S_ISCHR(state.st_mode)) return;
  device_number_ = state.st_rdev;
  DIR* descriptors = opendir("/proc/self/fd");
  if (descriptors == nullptr) return;
  while (const dirent* entry = descriptor_ < 0 ? readdir(descriptors) : nullptr) {
    const int descriptor = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && is_device(descriptor, device_number_)) descriptor_ = descriptor;
  }
  closedir(descriptors);
  if (descriptor_ < 0) return;
  const auto is_kept = [descriptor = descriptor_, number = device_number_] { return is_device(descriptor, number); };
  thread_ = std::make_unique<ApartThread>("wavescope-clock", descriptor_, is_kept);
}

bool DriverLink::is_there() const { return descriptor_ < 0 || is_device(descriptor_, device_number_); }

void DriverLink::end() {
  if (thread_ != nullptr) thread_->end();
}

}  // namespace wavescope
