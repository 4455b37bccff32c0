// Whether the driver's descriptor is still what it was.
#include <fcntl.h>
#include <unistd.h>

#include "collector_hsa/driver_link.h"
#include "tests/check.h"

using namespace wavescope;

namespace {

constexpr const char* kDevice = "/dev/zero";  // stands for the driver's: nothing else here has it open

void a_driver_that_nobody_opened_counts_as_there() {
  CHECK(DriverLink("/dev/no-such-device").is_there());
  CHECK(DriverLink(kDevice).is_there());
}

void a_closed_descriptor_is_noticed_whatever_takes_its_number() {
  const int descriptor = open(kDevice, O_RDWR);
  const DriverLink link(kDevice);
  CHECK(link.is_there());

  close(descriptor);
  CHECK(!link.is_there());

  CHECK(open("/dev/null", O_RDWR) == descriptor);
  CHECK(!link.is_there());
  close(descriptor);
}

}  // namespace

int main() {
  a_driver_that_nobody_opened_counts_as_there();
  a_closed_descriptor_is_noticed_whatever_takes_its_number();
}
