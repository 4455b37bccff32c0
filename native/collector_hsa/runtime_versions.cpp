#include "collector_hsa/runtime_versions.h"

#include <dlfcn.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace wavescope {
namespace {

struct LibraryOfRelease {
  uint32_t library;  // N of 1.N
  uint32_t release;
};
constexpr LibraryOfRelease kLibraries[] = {
    {5, 50200}, {11, 50700}, {12, 60000}, {13, 60100}, {14, 60200}, {15, 60400}, {18, 70000},
};

struct Limit {
  RuntimeLimit limit;
  uint32_t first;  // release
  uint32_t end;    // the first release without it, as far as is known
  const char* what;
};
constexpr Limit kLimits[] = {
    {RuntimeLimit::kFullQueue, 1, 60000,
     "stops the process, or changes the order of packets, when an intercepted queue runs full; the collector keeps it from "
     "that"},
    {RuntimeLimit::kLargeBatch, 70000, 71300,
     "may crash when more than 256 packets are announced at once to a queue that it intercepts: --interception own avoids "
     "that"},
    {RuntimeLimit::kRegistry, 60300, UINT32_MAX,
     "where built with rocprofiler-register, a tool of rocprofiler takes the collector's place"},
};

constexpr uint32_t kFirstReleaseNumber = 10000;  // the last number of a version is a release from here on

// Attributes that the headers at hand may not have.
constexpr auto kExtensionMajor = static_cast<hsa_system_info_t>(0x207);
constexpr auto kExtensionMinor = static_cast<hsa_system_info_t>(0x208);

std::string pair_of(const HsaApi& api, hsa_system_info_t major_attribute, hsa_system_info_t minor_attribute) {
  uint16_t major = 0;
  uint16_t minor = 0;
  if (api.system_get_info(major_attribute, &major) != HSA_STATUS_SUCCESS ||
      api.system_get_info(minor_attribute, &minor) != HSA_STATUS_SUCCESS) {
    return "";
  }
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string path_of_runtime(const HsaApi& api) {
  Dl_info where{};
  void* address = nullptr;
  std::memcpy(&address, &api.system_get_info, sizeof address);
  if (dladdr(address, &where) == 0 || where.dli_fname == nullptr) return "";
  const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(where.dli_fname, nullptr), &std::free);
  return resolved == nullptr ? where.dli_fname : resolved.get();
}

std::string build_version(const HsaApi& api) {
  const char* text = nullptr;
  const bool is_told = api.system_get_info(HSA_AMD_SYSTEM_INFO_BUILD_VERSION, &text) == HSA_STATUS_SUCCESS;
  return is_told && text != nullptr ? text : "";
}

bool has(const Limit& limit, uint32_t release) { return release >= limit.first && release < limit.end; }

bool is_digit(char character) { return std::isdigit(static_cast<unsigned char>(character)) != 0; }

}  // namespace

std::string version_within(const std::string& text) {
  for (std::size_t first = 0; first < text.size(); ++first) {
    const bool begins_number = is_digit(text[first]) && (first == 0 || !is_digit(text[first - 1]));
    if (!begins_number) continue;
    std::size_t end = first;
    bool has_dot = false;
    while (end < text.size() &&
           (is_digit(text[end]) || (text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1])))) {
      has_dot = has_dot || text[end] == '.';
      ++end;
    }
    if (has_dot) return text.substr(first, end - first);
    first = end;
  }
  return "";
}

uint32_t release_of(const std::string& library_version) {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned last = 0;
  if (std::sscanf(library_version.c_str(), "%5u.%5u.%6u", &major, &minor, &last) < 2 || major != 1) return 0;
  if (last >= kFirstReleaseNumber) return last;
  uint32_t release = 0;
  for (const LibraryOfRelease& row : kLibraries) {
    if (row.library <= minor) release = row.release;
  }
  return release;
}

std::string spelled_release(uint32_t release) {
  if (release == 0) return "";
  const std::string spelled = std::to_string(release / 10000) + "." + std::to_string(release / 100 % 100);
  return release % 100 == 0 ? spelled : spelled + "." + std::to_string(release % 100);
}

bool may_have(RuntimeLimit limit, uint32_t release) {
  bool found = release == 0;
  for (const Limit& row : kLimits) found = found || (row.limit == limit && has(row, release));
  return found;
}

std::vector<std::string> limits_of(uint32_t release) {
  std::vector<std::string> found;
  for (const Limit& limit : kLimits) {
    if (has(limit, release)) found.emplace_back(limit.what);
  }
  return found;
}

RuntimeVersion version_of_runtime(const HsaApi& api) {
  RuntimeVersion version;
  version.hsa = pair_of(api, HSA_SYSTEM_INFO_VERSION_MAJOR, HSA_SYSTEM_INFO_VERSION_MINOR);
  version.extension = pair_of(api, kExtensionMajor, kExtensionMinor);
  version.path = path_of_runtime(api);
  const std::size_t suffix = version.path.rfind(".so.");
  if (suffix != std::string::npos) version.library = version_within(version.path.substr(suffix));
  if (version.library.empty()) version.library = version_within(build_version(api));
  version.release = release_of(version.library);
  return version;
}

}  // namespace wavescope
