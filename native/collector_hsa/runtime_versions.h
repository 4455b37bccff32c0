// Which HSA runtime a process has, and what is known of it. What releases do differently is a row of a table here.
#ifndef WAVESCOPE_COLLECTOR_HSA_RUNTIME_VERSIONS_H
#define WAVESCOPE_COLLECTOR_HSA_RUNTIME_VERSIONS_H

#include <cstdint>
#include <string>
#include <vector>

#include "collector_hsa/hsa_api.h"

namespace wavescope {

struct RuntimeVersion {
  std::string hsa;        // of the standard: "1.1" for all there are
  std::string extension;  // of AMD's extensions, such as "1.7"; empty in runtimes that do not tell
  std::string library;    // such as "1.14.60403"
  std::string path;       // of the library, links resolved
  uint32_t release = 0;   // of ROCm, such as 60403; 0: not known
};

// As the runtime itself and the name of its file tell.
RuntimeVersion version_of_runtime(const HsaApi& api);

// The first version within a text, with at least two numbers: "1.14.60403" of "libhsa-runtime64.so.1.14.60403".
std::string version_within(const std::string& text);

// AMD builds have ROCm's release as the last number of the library's version; for others it is that of the first release
// with such a library, without its last number.
uint32_t release_of(const std::string& library_version);
std::string spelled_release(uint32_t release);

enum class RuntimeLimit {
  kFullQueue,   // an intercepted queue must not run full
  kLargeBatch,  // nor get too many packets at once
  kRegistry,    // another tool may keep the runtime from loading the collector
};

// Whether it has to be reckoned with, which it has to where the release is not known.
bool may_have(RuntimeLimit limit, uint32_t release);

// What the runtime of a release does that a user may have to know.
std::vector<std::string> limits_of(uint32_t release);

}  // namespace wavescope

#endif
