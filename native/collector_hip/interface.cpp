// The functions themselves, one per row of the table, under the names by which programs call them.
#include <cstring>

#include "collector_hip/call.h"
#include "collector_hip/driver_copy.h"
#include "collector_hip/functions.h"
#include "collector_hip/hip_types.h"
#include "collector_hip/kernel_names.h"
#include "collector_hip/looked_up.h"
#include "collector_hip/real_functions.h"

namespace wavescope::hip {
namespace {

constexpr int kNotFound = 500;  // hipErrorNotFound
constexpr void* NO_STREAM = nullptr;

// hipMemcpyKind
constexpr int kHostToDevice = 1;
constexpr int kDeviceToHost = 2;
constexpr int kDeviceToDevice = 3;
constexpr int kDefault = 4;

// Workgroups along one side of a grid that is given in work-items.
uint64_t blocks(uint64_t work, uint64_t block) { return block == 0 ? 0 : (work + block - 1) / block; }

// Whether a row is of the function of this name, or of its twin `name_spt`.
bool is_or_twin(const char* row_symbol, const char* symbol) {
  const std::size_t length = std::strlen(symbol);
  if (std::strncmp(row_symbol, symbol, length) != 0) return false;
  return row_symbol[length] == '\0' || std::strcmp(row_symbol + length, "_spt") == 0;
}

// What follows a call of some functions, recorded or not.
template <Function>
struct Afterwards {};
template <>
struct Afterwards<Function::hipModuleUnload> {
  ~Afterwards() { kernel_names().forget(); }
};
template <>
struct Afterwards<Function::hipLibraryUnload> : Afterwards<Function::hipModuleUnload> {};

// Calls the function between the two halves of its record.
template <typename Keep, typename Real>
int recorded(WavescopeCallRecord* record, const Keep& keep, const Real& real) {
  EntryArguments entry(*record);
  keep(entry);
  enter(record);
  const int result = real();
  const uint64_t end_ns = boottime_ns();
  if (result == kSuccess) {
    ReturnArguments left(*record);
    keep(left);
  }
  leave(record, result, end_ns);
  return result;
}

}  // namespace

#define NUMBER(parameter) kept_.number(parameter);
#define NUMBER_AS(name, expression) kept_.number(expression);
#define ADDRESS(parameter) kept_.address(parameter);
#define ADDRESS_AS(name, expression) kept_.address(expression);
#define RESULT(name, parameter) kept_.result(parameter);
#define TEXT(parameter) kept_.text(parameter);
#define KERNEL(function, stream) kept_.stub(function, stream);
#define KERNEL_OF(function_) kept_.function(function_);
#define BLOCK(x, y, z) kept_.block(x, y, z);
#define FIELD(pointer, member) ((pointer) == nullptr ? decltype((pointer)->member){} : (pointer)->member)

#define HIP_SYMBOL(identifier, symbol, parameters, passed, stream_, kept)                                 \
  extern "C" __attribute__((visibility("default"))) int identifier parameters __asm__(symbol);            \
  int identifier parameters {                                                                             \
    const auto real_ = reinterpret_cast<decltype(&identifier)>(real_functions.get(Function::identifier)); \
    if (real_ == nullptr) return kNotFound;                                                               \
    [[maybe_unused]] const Afterwards<Function::identifier> afterwards_{};                                \
    WavescopeCallRecord* const record_ = new_call(Function::identifier, stream_);                         \
    if (record_ == nullptr) return real_ passed;                                                          \
    return recorded(record_, [&]([[maybe_unused]] auto& kept_) { kept }, [&] { return real_ passed; });   \
  }
#define HIP_FUNCTION(kind, name, parameters, passed, stream, kept) HIP_SYMBOL(name, #name, parameters, passed, stream, kept)
#define HIP_NEWER_FUNCTION(since, ...) HIP_FUNCTION(__VA_ARGS__)
#define HIP_CXX_FUNCTION(kind, name, parameters, passed, stream, kept, symbol) \
  HIP_SYMBOL(name##_cxx, symbol, parameters, passed, stream, kept)

#include "collector_hip/hip_functions.def"

#undef HIP_FUNCTION
#undef HIP_CXX_FUNCTION
#define HIP_FUNCTION(kind, name, parameters, passed, stream, kept) reinterpret_cast<void*>(&name),
#define HIP_CXX_FUNCTION(kind, name, parameters, passed, stream, kept, symbol) reinterpret_cast<void*>(&name##_cxx),

void* row_hook_of(const char* symbol, void* found) {
  static void* const kHooks[] = {
#include "collector_hip/hip_functions.def"
  };
  for (std::size_t at = 0; at < static_cast<std::size_t>(Function::kCount); ++at) {
    const char* const row_symbol = symbol_of(static_cast<Function>(at));
    if (is_or_twin(row_symbol, symbol) && find_hip_symbol(row_symbol) == found) return kHooks[at];
  }
  return found;
}

}  // namespace wavescope::hip
