// What is said of a runtime that never called the collector, and of a tool that it could not register with.
#include "collector_hsa/missed_runtime.h"
#include "tests/check.h"

using wavescope::MissedRuntime;
using wavescope::why_left_out;
using wavescope::why_missed;

int main() {
  CHECK(why_left_out("").empty());
  CHECK(why_left_out("libtool.so") ==
        "another tool in the program (libtool.so) got no dispatches and copies, as they are recorded here; --other-tools "
        "keep leaves them to it");
  CHECK(why_missed(MissedRuntime{}).empty());
  CHECK(why_missed(MissedRuntime{false, false, "", "libtool.so"}).empty());  // no runtime: nothing to miss
  CHECK(why_missed(MissedRuntime{true, false, "libcollector.so", ""}).empty());  // loaded, but never used
  const std::string registered =
      "dispatches and copies not recorded: another tool (libtool.so) is registered with the HSA runtime and records them "
      "instead; --other-tools off turns it off";
  CHECK(why_missed(MissedRuntime{true, true, "libcollector.so", "libtool.so"}) == registered);
  CHECK(why_missed(MissedRuntime{true, false, "", "libtool.so"}) == registered);  // it may have been shut down
  const std::string changed =
      "dispatches and copies not recorded: the HSA runtime did not load the collector, because HSA_TOOLS_LIB was ";
  CHECK(why_missed(MissedRuntime{true, true, "", ""}) == changed + "unset");
  CHECK(why_missed(MissedRuntime{true, true, "libother.so", ""}) == changed + "'libother.so'");
  return 0;
}
