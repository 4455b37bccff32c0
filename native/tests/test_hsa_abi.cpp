// Our own declarations of HSA agree with the vendor's headers: values of enumerations, the place and size of every member,
// the place of every function in the tables, and how each function takes its arguments. All of it is checked by the
// compiler.
#include <cstdio>

#if __has_include(<hsa/hsa_api_trace.h>)
#define AMD_INTERNAL_BUILD  // its includes lie beside it
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <cstddef>
#include <type_traits>

#include "collector_hsa/hsa_tables.h"

namespace wavescope {
namespace {

#define VALUE(name) static_assert(static_cast<uint64_t>(name) == static_cast<uint64_t>(::name), #name)
VALUE(HSA_STATUS_SUCCESS);
VALUE(HSA_STATUS_ERROR);
VALUE(HSA_STATUS_ERROR_INVALID_ARGUMENT);
VALUE(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
VALUE(HSA_SYSTEM_INFO_VERSION_MAJOR);
VALUE(HSA_SYSTEM_INFO_VERSION_MINOR);
VALUE(HSA_AMD_SYSTEM_INFO_BUILD_VERSION);
VALUE(HSA_AGENT_INFO_NAME);
VALUE(HSA_AGENT_INFO_WAVEFRONT_SIZE);
VALUE(HSA_AGENT_INFO_DEVICE);
VALUE(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT);
VALUE(HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY);
VALUE(HSA_AMD_AGENT_INFO_DRIVER_NODE_ID);
VALUE(HSA_AMD_AGENT_INFO_BDFID);
VALUE(HSA_AMD_AGENT_INFO_MEMORY_WIDTH);
VALUE(HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY);
VALUE(HSA_AMD_AGENT_INFO_PRODUCT_NAME);
VALUE(HSA_AMD_AGENT_INFO_UUID);
VALUE(HSA_DEVICE_TYPE_GPU);
VALUE(HSA_AMD_SEGMENT_GLOBAL);
VALUE(HSA_AMD_MEMORY_POOL_INFO_SEGMENT);
VALUE(HSA_AMD_MEMORY_POOL_INFO_SIZE);
VALUE(HSA_SYMBOL_KIND_KERNEL);
VALUE(HSA_EXECUTABLE_SYMBOL_INFO_TYPE);
VALUE(HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH);
VALUE(HSA_EXECUTABLE_SYMBOL_INFO_NAME);
VALUE(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE);
VALUE(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE);
VALUE(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE);
VALUE(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
VALUE(HSA_EXTENSION_AMD_LOADER);
VALUE(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH);
VALUE(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI);
VALUE(HSA_QUEUE_TYPE_MULTI);
VALUE(HSA_QUEUE_TYPE_SINGLE);
VALUE(HSA_QUEUE_TYPE_COOPERATIVE);
VALUE(HSA_PACKET_TYPE_VENDOR_SPECIFIC);
VALUE(HSA_PACKET_TYPE_INVALID);
VALUE(HSA_PACKET_TYPE_KERNEL_DISPATCH);
VALUE(HSA_PACKET_TYPE_BARRIER_AND);
VALUE(HSA_PACKET_TYPE_BARRIER_OR);
VALUE(HSA_PACKET_HEADER_TYPE);
VALUE(HSA_PACKET_HEADER_BARRIER);
VALUE(HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
VALUE(HSA_FENCE_SCOPE_SYSTEM);
VALUE(AMD_SIGNAL_KIND_USER);
VALUE(AMD_SIGNAL_KIND_DOORBELL);
VALUE(AMD_SIGNAL_KIND_LEGACY_DOORBELL);
VALUE(HSA_AMD_SIGNAL_AMD_GPU_ONLY);
VALUE(hsaHostToHost);
VALUE(hsaHostToDevice);
VALUE(hsaDeviceToHost);

#define SIZE(type) static_assert(sizeof(type) == sizeof(::type) && alignof(type) == alignof(::type), #type)
SIZE(hsa_status_t);
SIZE(hsa_system_info_t);
SIZE(hsa_agent_info_t);
SIZE(hsa_device_type_t);
SIZE(hsa_amd_segment_t);
SIZE(hsa_symbol_kind_t);
SIZE(hsa_agent_t);
SIZE(hsa_signal_t);
SIZE(hsa_executable_t);
SIZE(hsa_executable_symbol_t);
SIZE(hsa_loaded_code_object_t);
SIZE(hsa_amd_memory_pool_t);
SIZE(hsa_signal_value_t);
SIZE(hsa_queue_t);
SIZE(hsa_kernel_dispatch_packet_t);
SIZE(hsa_barrier_and_packet_t);
SIZE(amd_signal_t);
SIZE(hsa_amd_profiling_dispatch_time_t);
SIZE(hsa_amd_profiling_async_copy_time_t);
SIZE(hsa_dim3_t);
SIZE(hsa_pitched_ptr_t);
SIZE(hsa_ven_amd_loader_1_01_pfn_t);
SIZE(ApiTableVersion);
SIZE(HsaApiTable);

#define AT(type, member)                                                                                              \
  static_assert(offsetof(type, member) == offsetof(::type, member) && sizeof(type::member) == sizeof(::type::member), \
                #type "." #member)
AT(hsa_queue_t, type);
AT(hsa_queue_t, features);
AT(hsa_queue_t, base_address);
AT(hsa_queue_t, doorbell_signal);
AT(hsa_queue_t, size);
AT(hsa_queue_t, id);
AT(hsa_kernel_dispatch_packet_t, header);
AT(hsa_kernel_dispatch_packet_t, setup);
AT(hsa_kernel_dispatch_packet_t, workgroup_size_x);
AT(hsa_kernel_dispatch_packet_t, workgroup_size_y);
AT(hsa_kernel_dispatch_packet_t, workgroup_size_z);
AT(hsa_kernel_dispatch_packet_t, grid_size_x);
AT(hsa_kernel_dispatch_packet_t, grid_size_y);
AT(hsa_kernel_dispatch_packet_t, grid_size_z);
AT(hsa_kernel_dispatch_packet_t, private_segment_size);
AT(hsa_kernel_dispatch_packet_t, group_segment_size);
AT(hsa_kernel_dispatch_packet_t, kernel_object);
AT(hsa_kernel_dispatch_packet_t, kernarg_address);
AT(hsa_kernel_dispatch_packet_t, completion_signal);
AT(hsa_barrier_and_packet_t, header);
AT(hsa_barrier_and_packet_t, dep_signal);
AT(hsa_barrier_and_packet_t, completion_signal);
AT(amd_signal_t, kind);
AT(amd_signal_t, value);
AT(amd_signal_t, event_mailbox_ptr);
AT(amd_signal_t, event_id);
AT(amd_signal_t, start_ts);
AT(amd_signal_t, end_ts);
AT(hsa_amd_profiling_dispatch_time_t, start);
AT(hsa_amd_profiling_dispatch_time_t, end);
AT(hsa_amd_profiling_async_copy_time_t, start);
AT(hsa_amd_profiling_async_copy_time_t, end);
AT(hsa_dim3_t, x);
AT(hsa_dim3_t, y);
AT(hsa_dim3_t, z);
AT(hsa_pitched_ptr_t, base);
AT(hsa_pitched_ptr_t, pitch);
AT(hsa_pitched_ptr_t, slice);
AT(ApiTableVersion, major_id);
AT(ApiTableVersion, minor_id);
AT(ApiTableVersion, step_id);
AT(HsaApiTable, core_);
AT(HsaApiTable, amd_ext_);
AT(HsaApiTable, finalizer_ext_);
AT(HsaApiTable, image_ext_);

// Whether two types are passed in the same way: our enumerations and structs are not the vendor's, but of the same shape.
template <typename Ours, typename Theirs>
constexpr bool passed_alike() {
  if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>) {
    return std::is_void_v<Ours> && std::is_void_v<Theirs>;
  } else {
    return sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
           std::is_class_v<Ours> == std::is_class_v<Theirs> && std::is_integral_v<Ours> == std::is_integral_v<Theirs>;
  }
}

template <typename Ours, typename Theirs>
struct Called;
template <typename OurResult, typename... Ours, typename TheirResult, typename... Theirs>
struct Called<OurResult (*)(Ours...), TheirResult (*)(Theirs...)> {
  static constexpr bool alike() {
    if constexpr (sizeof...(Ours) != sizeof...(Theirs)) return false;
    else return passed_alike<OurResult, TheirResult>() && (passed_alike<Ours, Theirs>() && ...);
  }
};

#define FUNCTION(table, member) \
  AT(table, member);            \
  static_assert(Called<decltype(table::member), decltype(::table::member)>::alike(), #member)
FUNCTION(CoreApiTable, hsa_init_fn);
FUNCTION(CoreApiTable, hsa_system_get_info_fn);
FUNCTION(CoreApiTable, hsa_iterate_agents_fn);
FUNCTION(CoreApiTable, hsa_agent_get_info_fn);
FUNCTION(CoreApiTable, hsa_queue_create_fn);
FUNCTION(CoreApiTable, hsa_queue_destroy_fn);
FUNCTION(CoreApiTable, hsa_queue_load_read_index_scacquire_fn);
FUNCTION(CoreApiTable, hsa_queue_load_write_index_scacquire_fn);
FUNCTION(CoreApiTable, hsa_queue_store_write_index_screlease_fn);
FUNCTION(CoreApiTable, hsa_signal_destroy_fn);
FUNCTION(CoreApiTable, hsa_signal_store_relaxed_fn);
FUNCTION(CoreApiTable, hsa_signal_store_screlease_fn);
FUNCTION(CoreApiTable, hsa_executable_freeze_fn);
FUNCTION(CoreApiTable, hsa_executable_symbol_get_info_fn);
FUNCTION(CoreApiTable, hsa_system_get_major_extension_table_fn);
FUNCTION(CoreApiTable, hsa_executable_iterate_agent_symbols_fn);
FUNCTION(hsa_ven_amd_loader_1_01_pfn_t, hsa_ven_amd_loader_query_host_address);
FUNCTION(hsa_ven_amd_loader_1_01_pfn_t, hsa_ven_amd_loader_executable_iterate_loaded_code_objects);
FUNCTION(hsa_ven_amd_loader_1_01_pfn_t, hsa_ven_amd_loader_loaded_code_object_get_info);

// Headers of newer runtimes have two functions more behind hsa_amd_memory_async_copy (collector_hsa/hsa_api.h).
constexpr std::size_t kInserted = (offsetof(::AmdExtTable, hsa_amd_agent_memory_pool_get_info_fn) -
                                   offsetof(::AmdExtTable, hsa_amd_memory_async_copy_fn)) /
                                      sizeof(void*) -
                                  1;
static_assert(kInserted == 0 || kInserted == 2);
#define EXTENSION(member, inserted)                                                                                      \
  static_assert(offsetof(AmdExtTable, member) + (inserted) * sizeof(void*) == offsetof(::AmdExtTable, member), #member); \
  static_assert(Called<decltype(AmdExtTable::member), decltype(::AmdExtTable::member)>::alike(), #member)
EXTENSION(hsa_amd_profiling_set_profiler_enabled_fn, 0);
EXTENSION(hsa_amd_profiling_async_copy_enable_fn, 0);
EXTENSION(hsa_amd_profiling_get_dispatch_time_fn, 0);
EXTENSION(hsa_amd_profiling_get_async_copy_time_fn, 0);
EXTENSION(hsa_amd_profiling_convert_tick_to_system_domain_fn, 0);
EXTENSION(hsa_amd_memory_pool_get_info_fn, 0);
EXTENSION(hsa_amd_agent_iterate_memory_pools_fn, 0);
EXTENSION(hsa_amd_memory_async_copy_fn, 0);
EXTENSION(hsa_amd_memory_lock_fn, kInserted);
EXTENSION(hsa_amd_memory_unlock_fn, kInserted);
EXTENSION(hsa_amd_signal_create_fn, kInserted);
EXTENSION(hsa_amd_queue_intercept_create_fn, kInserted);
EXTENSION(hsa_amd_queue_intercept_register_fn, kInserted);
EXTENSION(hsa_amd_memory_async_copy_rect_fn, kInserted);
static_assert(Called<hsa_amd_queue_intercept_handler, ::hsa_amd_queue_intercept_handler>::alike());
static_assert(Called<hsa_amd_queue_intercept_packet_writer, ::hsa_amd_queue_intercept_packet_writer>::alike());

}  // namespace
}  // namespace wavescope

int main() {
  std::printf("agrees with the headers of HSA; AMD's table has %zu more\n", wavescope::kInserted);
  return 0;
}

#else

int main() {
  std::puts("no header of HSA here: nothing to compare with");
  return 77;
}

#endif
