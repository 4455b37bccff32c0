// What is known of the process itself: the "process" fact.
#ifndef WAVESCOPE_CORE_PROCESS_FACTS_H
#define WAVESCOPE_CORE_PROCESS_FACTS_H

#include <cstdint>

#include "core/environment.h"
#include "core/facts_log.h"

namespace wavescope {

Fact process_fact(const Settings& settings, uint64_t start_ns);

struct Rank {
  int rank = -1;        // -1: not known
  int world_size = -1;
};

// Of the launcher that set its variables: a pair of rank and size with size > 1 first, then any pair, then a rank alone.
Rank launcher_rank(Lookup lookup);

}  // namespace wavescope

#endif
