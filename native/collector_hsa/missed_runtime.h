// Why a program's GPU work is missing although the collector was in the process: the HSA runtime was there and never called
// it. Another tool may have registered with the runtime, which then ignores HSA_TOOLS_LIB without a word; or somebody
// changed that variable. The session gets a note of it when the process ends.
#ifndef WAVESCOPE_COLLECTOR_HSA_MISSED_RUNTIME_H
#define WAVESCOPE_COLLECTOR_HSA_MISSED_RUNTIME_H

#include <string>

namespace wavescope {

// What is to be seen at the end of a process whose HSA runtime never called the collector.
struct MissedRuntime {
  bool is_loaded = false;   // its library
  bool is_in_use = false;   // initialized and not shut down
  std::string tools;        // HSA_TOOLS_LIB
  std::string other_tool;   // what rocprofiler-register takes for a tool; empty: nothing
};

// The note; empty when nothing was missed, as far as that can be known.
std::string why_missed(const MissedRuntime& seen);

// The runtime called the collector after all.
void runtime_came();

}  // namespace wavescope

#endif
