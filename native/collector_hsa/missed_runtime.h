// Which of two tools in a process the HSA runtime gave its work to, when the other one has none. The collector has none
// where the runtime was there and never called it: another tool registered with the runtime, which then ignores
// HSA_TOOLS_LIB without a word; or somebody changed that variable. The other tool has none where the runtime may not
// register with it. The session gets a note of it when the process ends.
#ifndef WAVESCOPE_COLLECTOR_HSA_MISSED_RUNTIME_H
#define WAVESCOPE_COLLECTOR_HSA_MISSED_RUNTIME_H

#include <string>

namespace wavescope {

// What is to be seen at the end of a process whose HSA runtime never called the collector.
struct MissedRuntime {
  bool is_loaded = false;   // its library
  bool is_in_use = false;   // initialized and not shut down
  std::string tools;        // HSA_TOOLS_LIB
  std::string other_tool;   // with which the runtime registers; empty: none
};

// The note; empty when nothing was missed, as far as that can be known.
std::string why_missed(const MissedRuntime& seen);

// The note of a tool that the runtime could not register with; empty without one.
std::string why_left_out(const std::string& tool);

// The runtime called the collector after all.
void runtime_came();

}  // namespace wavescope

#endif
