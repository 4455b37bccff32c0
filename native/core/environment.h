// What the recorder asked for, by variables of the environment. Read once per process, then frozen.
//
//   WAVESCOPE_OUTPUT       session folder; absent: the collector does nothing at all
//   WAVESCOPE_MODE         lite, standard (default), full, hip
//   WAVESCOPE_START_PAUSED 1: record only after a resume
//   WAVESCOPE_MAX_BYTES    most bytes that one process writes
//   WAVESCOPE_DELAY_MS     record from so long after the start of the process
//   WAVESCOPE_DURATION_MS  record for so long
//   WAVESCOPE_SIGNALS      runtime: completion signals of the HSA runtime, instead of ones in memory that outlives the
//   process WAVESCOPE_VERBOSE      1: say on stderr what is done
#ifndef WAVESCOPE_CORE_ENVIRONMENT_H
#define WAVESCOPE_CORE_ENVIRONMENT_H

#include <cstdint>
#include <string>

namespace wavescope {

enum class Mode { kLite, kStandard, kFull, kHip };

struct Settings {
  std::string output;
  Mode mode = Mode::kStandard;
  bool start_paused = false;
  uint64_t max_bytes = UINT64_MAX;
  uint64_t delay_ns = 0;
  uint64_t duration_ns = UINT64_MAX;
  bool keeps_signals = true;
  bool verbose = false;

  bool enabled() const { return !output.empty(); }
};

using Lookup = const char* (*)(const char* name);

// Settings as `lookup` gives the variables; what cannot be understood keeps its default.
Settings read_settings(Lookup lookup);

// The settings of this process, read at the first call. Never destroyed: it is used until the very end of the process.
const Settings& settings();

const char* name_of(Mode mode);

// Whether batches of packets, as graph replays submit them, are timed packet by packet.
constexpr bool times_batches(Mode mode) { return mode == Mode::kFull || mode == Mode::kHip; }

}  // namespace wavescope

#endif
