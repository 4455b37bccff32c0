// The rows of call_functions.def: what is known of each function of CUDA that the collector is told of.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_CALL_FUNCTIONS_H
#define WAVESCOPE_COLLECTOR_CUPTI_CALL_FUNCTIONS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collector_cupti/call_arguments.h"
#include "collector_cupti/cupti_abi.h"
#include "core/environment.h"
#include "core/facts_log.h"

namespace wavescope::cupti {

enum class CallKind : uint8_t { launch, host, copy, fill, alloc, stream, event, sync, graph, other };

// What the collector has to do at a call, whether it is recorded or not.
enum class Effect : uint8_t {
  kNone,
  kNote,         // leave a note for the records that it causes
  kKernel,       // and it launches one kernel
  kKernels,      // and it launches one on each of several GPUs
  kGraph,        // and it launches those of a graph
  kNodeEnabled,  // a graph's node is turned on or off: what its launches run is not known from then on
};

struct CallFunction {
  CuptiCallbackDomain domain;
  uint32_t callback_id;
  const char* name;  // as users know it: without the underscores that internal names begin with
  CallKind kind;
  Effect effect;
  uint32_t since;  // the first version of CUPTI that means this function by the id
  std::vector<std::string> (*argument_names)();
  void (*keep_at_entry)(const void* parameters, EntryArguments& kept);
  void (*keep_at_exit)(const void* parameters, ExitArguments& kept);

  // Whether its calls are recorded.
  bool is_recorded(Mode mode) const {
    return mode == Mode::kHip || (mode == Mode::kFull && (kind == CallKind::alloc || kind == CallKind::sync));
  }
};

constexpr uint32_t kMostCallbackIds = 1024;  // of each interface

// All of them; a row's place is its number.
std::size_t call_function_count();
const CallFunction& call_function(std::size_t number);

// The row of a callback, or null. A few instructions.
const CallFunction* find_call_function(CuptiCallbackDomain domain, uint32_t callback_id);
std::size_t number_of(const CallFunction& function);

// Numbers in the session: those of HIP's functions are below.
constexpr uint16_t kFirstFunction = 4096;
Fact function_fact(const CallFunction& function);

}  // namespace wavescope::cupti

#endif
