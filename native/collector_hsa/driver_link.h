// Whether the HSA runtime can still reach the kernel driver.
//
// A program may close all descriptors, that of the runtime too. Queues go on working then, but a call for which the runtime
// asks the driver fails, and builds with assertions end the process: calls that only the collector needs are not made.
#ifndef WAVESCOPE_COLLECTOR_HSA_DRIVER_LINK_H
#define WAVESCOPE_COLLECTOR_HSA_DRIVER_LINK_H

#include <sys/types.h>

namespace wavescope {

class DriverLink {
 public:
  // Looks for the descriptor of the driver's device. Where there is none, as with other drivers, nothing is known of it and
  // it counts as there.
  explicit DriverLink(const char* device = "/dev/kfd");

  bool is_there() const;

 private:
  dev_t device_number_ = 0;
  int descriptor_ = -1;
};

}  // namespace wavescope

#endif
