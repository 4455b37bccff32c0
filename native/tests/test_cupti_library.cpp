// Where CUPTI is looked for, which is taken, and why not.
#include <algorithm>
#include <string>
#include <vector>

#include "check.h"
#include "collector_cupti/cupti_library.h"

using namespace wavescope::cupti;

namespace {

using Paths = std::vector<std::string>;

// Those before the folders of /usr/local, which this machine may have.
Paths candidates(const CuptiSearch& search) {
  Paths found = cupti_candidates(search);
  found.erase(
      std::remove_if(found.begin(), found.end(), [](const std::string& path) { return path.find("/usr/local/") == 0; }),
      found.end());
  return found;
}

void the_processs_own_is_the_only_one() {
  CHECK(candidates({{"/lib/libc.so.6", "/own/libcupti.so.12"}, "/wanted/libcupti.so.13", 13}) ==
        Paths{"/own/libcupti.so.12"});
  CHECK(candidates({{"/lib/libc.so.6"}, "/wanted/libcupti.so.13", 13}) ==
        Paths({"/wanted/libcupti.so.13", "libcupti.so.13", "libcupti.so.12"}));
  CHECK(candidates({{}, "libcupti.so.12", 0}) == Paths({"libcupti.so.12", "libcupti.so.13"}));
}

void it_lies_beside_the_runtime() {
  CHECK(candidates({{"/s/nvidia/cuda_runtime/lib/libcudart.so.12"}, "", 12}) ==
        Paths({"/s/nvidia/cuda_runtime/lib/libcupti.so.12", "/s/nvidia/cuda_runtime/lib/../../cuda_cupti/lib/libcupti.so.12",
               "/s/nvidia/cuda_runtime/lib/../extras/CUPTI/lib64/libcupti.so.12", "libcupti.so.12"}));
  const Paths both = candidates({{"/s/nvidia/cu13/lib/libcudart.so.13"}, "", 13});
  CHECK(both[0] == "/s/nvidia/cu13/lib/libcupti.so.13" && both[1] == "/s/nvidia/cu13/lib/libcupti.so.12");
}

// A driver that is older or newer than all that is known here does not leave nothing to try.
void a_newer_one_than_the_driver_is_not_tried() {
  CHECK(candidates({{}, "", 12}) == Paths{"libcupti.so.12"});
  CHECK(candidates({{}, "", 11}) == Paths({"libcupti.so.13", "libcupti.so.12"}));
  CHECK(candidates({{}, "", 14}) == Paths({"libcupti.so.13", "libcupti.so.12"}));
}

// This program has none of its functions.
void what_lacks_functions_is_not_taken() {
  CuptiLibrary library;
  std::string reason;
  CHECK(!find_cupti("/nowhere/libcupti.so.13", library, reason) || !library.path.empty());
  if (library.handle == nullptr) CHECK(reason.find("libcupti was not found") == 0);
  CHECK(!find_cupti("libm.so.6", library, reason) || library.path.find("libm") == std::string::npos);
  if (library.handle == nullptr)
    CHECK(reason.find("libm.so.6 cannot be used: it has no cuptiGetVersion") != std::string::npos);
}

void versions_are_spelled_as_people_do() {
  CHECK(spelled_version(20) == "12.2");
  CHECK(spelled_version(24) == "12.6");
  CHECK(spelled_version(28) == "12.9.1");
  CHECK(spelled_version(130000) == "13.0");
  CHECK(spelled_version(130401) == "13.4.1");
  CHECK(spelled_version(17) == "17" && spelled_version(99) == "99");
}

void errors_have_names() {
  CuptiLibrary library;
  CHECK(library.name_of(CuptiResult::kMultipleSubscribers) == "error 39");
  library.get_result_string = [](CuptiResult, const char** name) {
    *name = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
    return CuptiResult::kSuccess;
  };
  CHECK(library.name_of(CuptiResult::kMultipleSubscribers) == "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
}

}  // namespace

int main() {
  the_processs_own_is_the_only_one();
  it_lies_beside_the_runtime();
  a_newer_one_than_the_driver_is_not_tried();
  what_lacks_functions_is_not_taken();
  versions_are_spelled_as_people_do();
  errors_have_names();
  return 0;
}
