// The HSA runtime's way to the kernel driver, which the program may take away.
//
// A program may close all descriptors, that of the runtime too. Queues go on working then, but a call for which the runtime
// asks the driver fails, and builds with assertions end the process. What only the collector wants to know is therefore
// asked for in a thread that has the descriptor in a table of its own.
#ifndef WAVESCOPE_COLLECTOR_HSA_DRIVER_LINK_H
#define WAVESCOPE_COLLECTOR_HSA_DRIVER_LINK_H

#include <sys/types.h>

#include <memory>

#include "core/apart_thread.h"

namespace wavescope {

class DriverLink {
 public:
  // Looks for the descriptor of the driver's device. Where there is none, as with other drivers, nothing is known of it and
  // it counts as there.
  explicit DriverLink(const char* device = "/dev/kfd");

  // Whether the program still has it: the moment after, it may not.
  bool is_there() const;

  // Does what has the runtime ask the driver. False, with nothing done, when the driver cannot be reached. Where the system
  // refuses a thread it is done here, if the descriptor is there.
  template <typename Work>
  bool ask(Work& work) {
    if (thread_ != nullptr && thread_->run(work)) return true;
    if (!is_there()) return false;
    work();
    return true;
  }

  // Before the runtime closes the driver: nothing is to hold it open.
  void end();

 private:
  dev_t device_number_ = 0;
  int descriptor_ = -1;
  std::unique_ptr<ApartThread> thread_;
};

}  // namespace wavescope

#endif
