// Activity records as the played version of CUPTI lays them out.
#ifndef WAVESCOPE_PLAYED_CUDA_CUPTI_RECORDS_H
#define WAVESCOPE_PLAYED_CUDA_CUPTI_RECORDS_H

#include <cstddef>
#include <cstdint>

#include "engine.h"

namespace played {

struct Record {
  alignas(8) uint8_t data[512] = {};
  std::size_t bytes = 0;
  uint64_t end_ns = 0;  // CLOCK_BOOTTIME
  std::size_t times_at = 0;  // where start and end are in it; 0 for none

  void forget_times();
  void invert_times();
};

// Of all records of a kind; 0 when there are none of it.
std::size_t bytes_of(abi::CuptiActivityKind kind);

Record record_of(const Op& op);
Record unknown_record();
Record call_record(const Call& call, uint64_t end_ns);
}  // namespace played

#endif
