// What the collector uses of HSA and of AMD's extensions to it, declared here: no header of ROCm is needed to build it. The
// functions and the tables that hold them are in hsa_tables.h.
//
// Types and values have the names that HSA gives them, inside our namespace, so that they are found in its documents.
// tests/test_hsa_abi.cpp holds every value, size and place against the vendor's headers where these are installed.
#ifndef WAVESCOPE_COLLECTOR_HSA_HSA_ABI_H
#define WAVESCOPE_COLLECTOR_HSA_HSA_ABI_H

#include <cstddef>
#include <cstdint>

namespace wavescope {

enum hsa_status_t : uint32_t {
  HSA_STATUS_SUCCESS = 0,
  HSA_STATUS_ERROR = 0x1000,
  HSA_STATUS_ERROR_INVALID_ARGUMENT = 0x1001,
  HSA_STATUS_ERROR_OUT_OF_RESOURCES = 0x1008,
};

// Handles: each a number that only the runtime can read, but for signals, whose handle is an address of amd_signal_t.
struct hsa_agent_t {
  uint64_t handle;
};
struct hsa_signal_t {
  uint64_t handle;
};
struct hsa_executable_t {
  uint64_t handle;
};
struct hsa_executable_symbol_t {
  uint64_t handle;
};
struct hsa_loaded_code_object_t {
  uint64_t handle;
};
struct hsa_amd_memory_pool_t {
  uint64_t handle;
};

using hsa_signal_value_t = int64_t;

enum hsa_system_info_t : uint32_t {
  HSA_SYSTEM_INFO_VERSION_MAJOR = 0,
  HSA_SYSTEM_INFO_VERSION_MINOR = 1,
  HSA_AMD_SYSTEM_INFO_BUILD_VERSION = 0x200,
};

// Attributes of an agent; those of AMD's extension are asked for with the same function.
enum hsa_agent_info_t : uint32_t {
  HSA_AGENT_INFO_NAME = 0,
  HSA_AGENT_INFO_WAVEFRONT_SIZE = 6,
  HSA_AGENT_INFO_DEVICE = 17,
  HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT = 0xA002,
  HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY = 0xA003,
  HSA_AMD_AGENT_INFO_DRIVER_NODE_ID = 0xA004,
  HSA_AMD_AGENT_INFO_BDFID = 0xA006,
  HSA_AMD_AGENT_INFO_MEMORY_WIDTH = 0xA007,
  HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY = 0xA008,
  HSA_AMD_AGENT_INFO_PRODUCT_NAME = 0xA009,
  HSA_AMD_AGENT_INFO_UUID = 0xA011,
};

enum hsa_device_type_t : uint32_t { HSA_DEVICE_TYPE_GPU = 1 };

enum hsa_amd_segment_t : uint32_t { HSA_AMD_SEGMENT_GLOBAL = 0 };
enum hsa_amd_memory_pool_info_t : uint32_t {
  HSA_AMD_MEMORY_POOL_INFO_SEGMENT = 0,
  HSA_AMD_MEMORY_POOL_INFO_SIZE = 2,
};

enum hsa_symbol_kind_t : uint32_t { HSA_SYMBOL_KIND_KERNEL = 1 };
enum hsa_executable_symbol_info_t : uint32_t {
  HSA_EXECUTABLE_SYMBOL_INFO_TYPE = 0,
  HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH = 1,
  HSA_EXECUTABLE_SYMBOL_INFO_NAME = 2,
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE = 11,
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE = 13,
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE = 14,
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT = 22,
};

constexpr uint16_t HSA_EXTENSION_AMD_LOADER = 0x201;
enum hsa_ven_amd_loader_loaded_code_object_info_t : uint32_t {
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH = 11,
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI = 12,
};

using hsa_queue_type32_t = uint32_t;
enum : hsa_queue_type32_t {
  HSA_QUEUE_TYPE_MULTI = 0,
  HSA_QUEUE_TYPE_SINGLE = 1,
  HSA_QUEUE_TYPE_COOPERATIVE = 2,
};

// The part of a queue that programs see; the runtime's own part lies around it.
struct hsa_queue_t {
  hsa_queue_type32_t type;
  uint32_t features;
  void* base_address;  // of the ring of packets
  hsa_signal_t doorbell_signal;
  uint32_t size;  // in packets, a power of two
  uint32_t reserved1;
  uint64_t id;
};

// Packets are 64 bytes. All kinds have the header at the beginning and the completion signal at the end.
enum hsa_packet_type_t : uint32_t {
  HSA_PACKET_TYPE_VENDOR_SPECIFIC = 0,
  HSA_PACKET_TYPE_INVALID = 1,
  HSA_PACKET_TYPE_KERNEL_DISPATCH = 2,
  HSA_PACKET_TYPE_BARRIER_AND = 3,
  HSA_PACKET_TYPE_BARRIER_OR = 5,
};
enum hsa_packet_header_t : uint32_t {  // first bit of each field
  HSA_PACKET_HEADER_TYPE = 0,
  HSA_PACKET_HEADER_BARRIER = 8,
  HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE = 11,
};
enum hsa_fence_scope_t : uint32_t { HSA_FENCE_SCOPE_SYSTEM = 2 };

struct hsa_kernel_dispatch_packet_t {
  uint16_t header;
  uint16_t setup;
  uint16_t workgroup_size_x;
  uint16_t workgroup_size_y;
  uint16_t workgroup_size_z;
  uint16_t reserved0;
  uint32_t grid_size_x;  // in work items
  uint32_t grid_size_y;
  uint32_t grid_size_z;
  uint32_t private_segment_size;
  uint32_t group_segment_size;
  uint64_t kernel_object;
  void* kernarg_address;
  uint64_t reserved2;
  hsa_signal_t completion_signal;
};

struct hsa_barrier_and_packet_t {
  uint16_t header;
  uint16_t reserved0;
  uint32_t reserved1;
  hsa_signal_t dep_signal[5];
  uint64_t reserved2;
  hsa_signal_t completion_signal;
};

// What the packet processor knows of a signal: it counts `value` down and writes the two times. Doorbells have kinds below
// 0.
constexpr int64_t AMD_SIGNAL_KIND_USER = 1;
constexpr int64_t AMD_SIGNAL_KIND_DOORBELL = -1;
constexpr int64_t AMD_SIGNAL_KIND_LEGACY_DOORBELL = -2;
struct alignas(64) amd_signal_t {
  int64_t kind;
  volatile int64_t value;
  uint64_t event_mailbox_ptr;
  uint32_t event_id;
  uint32_t reserved1;
  uint64_t start_ts;  // in ticks of the GPU
  uint64_t end_ts;
  uint64_t reserved2;
  uint32_t reserved3[2];
};

constexpr uint64_t HSA_AMD_SIGNAL_AMD_GPU_ONLY = 1;

struct hsa_amd_profiling_dispatch_time_t {
  uint64_t start;
  uint64_t end;
};
struct hsa_amd_profiling_async_copy_time_t {
  uint64_t start;
  uint64_t end;
};

struct hsa_dim3_t {
  uint32_t x;
  uint32_t y;
  uint32_t z;
};
struct hsa_pitched_ptr_t {
  void* base;
  size_t pitch;
  size_t slice;
};
enum hsa_amd_copy_direction_t : uint32_t {
  hsaHostToHost = 0,
  hsaHostToDevice = 1,
  hsaDeviceToHost = 2,
};

}  // namespace wavescope

#endif
