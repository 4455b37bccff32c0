// What the two halves of CUPTI's stand-in share: callbacks and activity records.
#ifndef WAVESCOPE_PLAYED_CUDA_CUPTI_STATE_H
#define WAVESCOPE_PLAYED_CUDA_CUPTI_STATE_H

#include <array>
#include <atomic>
#include <cstdint>

#include "engine.h"

#define CUPTI_FUNCTION extern "C" PLAYED_EXPORT played::abi::CuptiResult

namespace played {

using abi::CuptiActivityKind;
using abi::CuptiResult;

// Which of the tool's functions this thread is in: CUPTI forbids some calls there.
enum class Inside { kNothing, kApiEnter, kApiExit, kResource, kBuffer };
Inside& inside();

// Listens to the engine from the first subscription or enabled kind on.
void attach();
// Forgets the subscriber, at cuptiFinalize.
void forget_subscriber();
bool has_subscriber();

// Forgets all records, buffers and kinds, at cuptiFinalize.
void forget_activities();
bool has_undelivered();

bool is_enabled(CuptiActivityKind kind);
void record_op(const Op& op);
void record_call(const Call& call, uint64_t end_ns);
void deliver_all();

}  // namespace played

#endif
