// Which runtime it is: told by the runtime, by the name of its file, and by tables of what is known.
#include "collector_hsa/runtime_versions.h"
#include "tests/check.h"

using namespace wavescope;

namespace {

void versions_are_found_in_texts() {
  CHECK(version_within("libhsa-runtime64.so.1.14.60403") == "1.14.60403");
  CHECK(version_within("\"1.5.0-local-build-unknown\"") == "1.5.0");
  CHECK(version_within(".so.1").empty() && version_within("").empty() && version_within("64.").empty());
  CHECK(version_within("7 1.18.") == "1.18");
}

void releases_are_known_by_the_library() {
  CHECK(release_of("1.14.60403") == 60403 && spelled_release(60403) == "6.4.3");
  CHECK(release_of("1.5.0") == 50200 && spelled_release(50200) == "5.2");
  CHECK(release_of("1.18.70002") == 70002 && spelled_release(70002) == "7.0.2");
  CHECK(release_of("1.15.0") == 60400 && release_of("1.99") == 70000);
  CHECK(release_of("1.2.3") == 0 && release_of("2.5.0") == 0 && release_of("") == 0 && spelled_release(0).empty());
}

std::size_t limits_with(uint32_t release, const char* word) {
  std::size_t found = 0;
  for (const std::string& limit : limits_of(release)) found += limit.find(word) != std::string::npos;
  return found;
}

void limits_belong_to_releases() {
  CHECK(limits_of(0).empty());
  CHECK(limits_of(50203).size() == 1 && limits_with(50203, "runs full") == 1);
  CHECK(limits_of(60102).empty());
  CHECK(limits_with(60403, "256 packets") == 0 && limits_with(60403, "rocprofiler") == 1);
  CHECK(limits_with(70002, "256 packets") == 1 && limits_with(70002, "rocprofiler") == 1);
  CHECK(limits_with(71300, "256 packets") == 0 && limits_with(71300, "rocprofiler") == 1);
}

void unknown_releases_may_have_every_limit() {
  CHECK(may_have(RuntimeLimit::kFullQueue, 0) && may_have(RuntimeLimit::kRegistry, 0));
  CHECK(may_have(RuntimeLimit::kFullQueue, 50203) && !may_have(RuntimeLimit::kFullQueue, 60102));
  CHECK(may_have(RuntimeLimit::kLargeBatch, 70002) && !may_have(RuntimeLimit::kLargeBatch, 71300));
}

hsa_status_t get_info(hsa_system_info_t attribute, void* value) {
  if (attribute == HSA_AMD_SYSTEM_INFO_BUILD_VERSION) {
    *static_cast<const char**>(value) = "1.14.60403-build";
    return HSA_STATUS_SUCCESS;
  }
  const uint16_t number = attribute == static_cast<hsa_system_info_t>(0x208) ? 7 : 1;
  *static_cast<uint16_t*>(value) = number;
  return HSA_STATUS_SUCCESS;
}

void a_runtime_is_asked() {
  HsaApi api{};
  api.system_get_info = get_info;
  const RuntimeVersion version = version_of_runtime(api);
  CHECK(version.hsa == "1.1" && version.extension == "1.7");
  CHECK(version.library == "1.14.60403" && version.release == 60403);
  CHECK(version.path.find("test_hsa_runtime_versions") != std::string::npos);
  api.system_get_info = [](hsa_system_info_t, void*) { return HSA_STATUS_ERROR_INVALID_ARGUMENT; };
  const RuntimeVersion silent = version_of_runtime(api);
  CHECK(silent.hsa.empty() && silent.extension.empty() && silent.library.empty() && silent.release == 0);
}

}  // namespace

int main() {
  versions_are_found_in_texts();
  releases_are_known_by_the_library();
  limits_belong_to_releases();
  unknown_releases_may_have_every_limit();
  a_runtime_is_asked();
  return 0;
}
