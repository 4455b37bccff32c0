// What the recorder asked for, by variables of the environment. Read once per process, then frozen.
//
//   WAVESCOPE_OUTPUT       session folder; absent: the collector does nothing at all
//   WAVESCOPE_MODE         lite, standard (default), full, hip
//   WAVESCOPE_START_PAUSED 1: record only after a resume
//   WAVESCOPE_MAX_BYTES    most bytes that one process keeps in its files
//   WAVESCOPE_KEEP         newest: then the oldest records make room for new ones, instead of no more being recorded
//   WAVESCOPE_DELAY_MS     record from so long after the start of the process
//   WAVESCOPE_DURATION_MS  record for so long
//   WAVESCOPE_SIGNALS      runtime: completion signals of the HSA runtime, instead of ones in memory that outlives the
//                          process
//   WAVESCOPE_INTERCEPTION own: a ring of the collector's before each queue, instead of the runtime's interception
//   WAVESCOPE_VERBOSE      1: say on stderr what is done
// Of CUDA programs:
//   WAVESCOPE_CUPTI            path of the libcupti to open where the process has none yet
//   WAVESCOPE_SLICE_MS         lite mode records kernels that are launched in so long a slice (20); 0: no slices, but all
//                              kernels that are not of graphs, and graphs as a whole
//   WAVESCOPE_SLICE_PERIOD_MS  from the beginning of one slice to that of the next, on average (400)
//   WAVESCOPE_FLUSH_MS         records are asked for so often (250): what a kill loses is at most so old
#ifndef WAVESCOPE_CORE_ENVIRONMENT_H
#define WAVESCOPE_CORE_ENVIRONMENT_H

#include <cstdint>
#include <string>

namespace wavescope {

enum class Interception { kRuntime, kOwn };
enum class Keep { kOldest, kNewest };
enum class Mode { kLite, kStandard, kFull, kHip };

struct Settings {
  std::string output;
  Mode mode = Mode::kStandard;
  bool start_paused = false;
  uint64_t max_bytes = UINT64_MAX;
  Keep keep = Keep::kOldest;
  uint64_t delay_ns = 0;
  uint64_t duration_ns = UINT64_MAX;
  bool keeps_signals = true;
  Interception interception = Interception::kRuntime;
  bool verbose = false;
  std::string cupti;
  uint64_t slice_ns = 20000000;
  uint64_t slice_period_ns = 400000000;
  uint64_t flush_ns = 250000000;

  bool enabled() const { return !output.empty(); }
};

using Lookup = const char* (*)(const char* name);

// Settings as `lookup` gives the variables; what cannot be understood keeps its default.
Settings read_settings(Lookup lookup);

// The settings of this process, read at the first call. Never destroyed: it is used until the very end of the process.
const Settings& settings();

const char* name_of(Mode mode);

// Whether batches of packets, as graph replays submit them, are timed packet by packet.
constexpr bool times_batches(Mode mode) { return mode != Mode::kLite; }

}  // namespace wavescope

#endif
