// The functions that the collector takes from libcupti and calls by pointers have the parameters that NVIDIA's headers say:
// as many, each of the same size and passed the same way. Compiled once for each folder of WAVESCOPE_CUPTI_INCLUDES; the
// compiler checks it.
#include <cstdio>

#if __has_include(<cupti.h>)
#include <cuda.h>
#include <cupti.h>

#include <type_traits>

#include "collector_cupti/cupti_abi.h"
#include "collector_cupti/cupti_library.h"
#include "collector_cupti/devices.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace wavescope::cupti {

template <typename Ours, typename Theirs>
struct Agree : std::false_type {};

// Integers, enumerations and pointers travel in integer registers and need the same width there. A pointer stays a pointer,
// and one to a function is compared itself.
template <typename Ours, typename Theirs>
constexpr bool passed_alike() {
  if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>) return std::is_void_v<Ours> && std::is_void_v<Theirs>;
  else if constexpr (sizeof(Ours) != sizeof(Theirs) || std::is_pointer_v<Ours> != std::is_pointer_v<Theirs>) return false;
  else if constexpr (!std::is_pointer_v<Ours>) return !std::is_class_v<Ours> && !std::is_class_v<Theirs>;
  else if constexpr (std::is_function_v<std::remove_pointer_t<Theirs>>)
    return Agree<std::remove_pointer_t<Ours>, std::remove_pointer_t<Theirs>>::value;
  else return true;
}

template <typename OurResult, typename... Ours, typename TheirResult, typename... Theirs>
struct Agree<OurResult(Ours...), TheirResult(Theirs...)> {
  static constexpr bool all() {
    if constexpr (sizeof...(Ours) != sizeof...(Theirs)) return false;
    else return passed_alike<OurResult, TheirResult>() && (passed_alike<Ours, Theirs>() && ...);
  }
  static constexpr bool value = all();
};

static_assert(Agree<int(void*, int), int(char*, int)>::value);
static_assert(!Agree<int(void*, int), int(char*, long)>::value);
static_assert(!Agree<int(void*), int(char*, int)>::value);
static_assert(!Agree<int(void*), int(long)>::value);
static_assert(!Agree<void(void (*)(int)), void(void (*)(long))>::value);

#define FUNCTION(member, theirs) \
  static_assert(Agree<std::remove_pointer_t<decltype(CuptiLibrary::member)>, decltype(::theirs)>::value, #theirs)
FUNCTION(get_version, cuptiGetVersion);
FUNCTION(subscribe, cuptiSubscribe);
FUNCTION(unsubscribe, cuptiUnsubscribe);
FUNCTION(enable_callback, cuptiEnableCallback);
FUNCTION(enable_domain, cuptiEnableDomain);
FUNCTION(activity_register_callbacks, cuptiActivityRegisterCallbacks);
FUNCTION(activity_enable, cuptiActivityEnable);
FUNCTION(activity_disable, cuptiActivityDisable);
FUNCTION(activity_flush_all, cuptiActivityFlushAll);
FUNCTION(activity_get_next_record, cuptiActivityGetNextRecord);
FUNCTION(activity_get_dropped, cuptiActivityGetNumDroppedRecords);
FUNCTION(get_timestamp, cuptiGetTimestamp);
FUNCTION(finalize, cuptiFinalize);
FUNCTION(activity_set_attribute, cuptiActivitySetAttribute);
FUNCTION(activity_get_attribute, cuptiActivityGetAttribute);
FUNCTION(activity_enable_and_dump, cuptiActivityEnableAndDump);
FUNCTION(get_result_string, cuptiGetResultString);
FUNCTION(get_callback_name, cuptiGetCallbackName);
FUNCTION(get_context_id, cuptiGetContextId);
FUNCTION(get_device_id, cuptiGetDeviceId);
FUNCTION(get_stream_id, cuptiGetStreamIdEx);
FUNCTION(get_graph_node_id, cuptiGetGraphNodeId);
FUNCTION(get_graph_id, cuptiGetGraphId);
#if CUPTI_API_VERSION > 20
FUNCTION(get_graph_exec_id, cuptiGetGraphExecId);
#endif

// Those of the CUDA driver.
#define DRIVER_FUNCTION(member, theirs) \
  static_assert(Agree<std::remove_pointer_t<decltype(CudaDriver::member)>, decltype(::theirs)>::value, #theirs)
DRIVER_FUNCTION(device_get_count, cuDeviceGetCount);
DRIVER_FUNCTION(device_get, cuDeviceGet);
DRIVER_FUNCTION(device_get_name, cuDeviceGetName);
DRIVER_FUNCTION(device_get_uuid, cuDeviceGetUuid);
DRIVER_FUNCTION(device_get_uuid, cuDeviceGetUuid_v2);
DRIVER_FUNCTION(device_total_memory, cuDeviceTotalMem_v2);
DRIVER_FUNCTION(device_get_attribute, cuDeviceGetAttribute);
static_assert(sizeof(DeviceUuid) == sizeof(CUuuid));

#define DEVICE_ATTRIBUTE(ours, theirs) \
  static_assert(static_cast<uint32_t>(DeviceAttribute::ours) == CU_DEVICE_ATTRIBUTE_##theirs, #theirs)
DEVICE_ATTRIBUTE(kWarpSize, WARP_SIZE);
DEVICE_ATTRIBUTE(kClockKhz, CLOCK_RATE);
DEVICE_ATTRIBUTE(kMultiprocessors, MULTIPROCESSOR_COUNT);
DEVICE_ATTRIBUTE(kPciBus, PCI_BUS_ID);
DEVICE_ATTRIBUTE(kPciDevice, PCI_DEVICE_ID);
DEVICE_ATTRIBUTE(kMemoryClockKhz, MEMORY_CLOCK_RATE);
DEVICE_ATTRIBUTE(kMemoryWidthBits, GLOBAL_MEMORY_BUS_WIDTH);
DEVICE_ATTRIBUTE(kCapabilityMajor, COMPUTE_CAPABILITY_MAJOR);
DEVICE_ATTRIBUTE(kCapabilityMinor, COMPUTE_CAPABILITY_MINOR);

}  // namespace wavescope::cupti

int main() {
  std::printf("agrees with CUPTI %d\n", CUPTI_API_VERSION);
  return 0;
}

#else

int main() {
  std::puts("no header of CUPTI here: nothing to compare with");
  return 77;
}

#endif
