// Whether a GPU completes signals that no runtime made: tried once on each, before any dispatch of the program gets one.
#ifndef WAVESCOPE_COLLECTOR_HSA_SIGNAL_PROBE_H
#define WAVESCOPE_COLLECTOR_HSA_SIGNAL_PROBE_H

#include <cstdint>

#include "collector_hsa/hsa_abi.h"
#include "collector_hsa/hsa_api.h"

namespace wavescope {

// Lets a barrier on a queue of its own complete the signal, which the GPU knows by `handle`.
bool completes_signal(const HsaApi& api, hsa_agent_t gpu, uint64_t handle, const amd_signal_t* signal);

}  // namespace wavescope

#endif
