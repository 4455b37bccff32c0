// The functions of HSA that the collector calls or replaces, and the tables of them that a runtime hands to a tool. As in
// hsa_abi.h, names are HSA's; functions that nothing here uses are counted only.
#ifndef WAVESCOPE_COLLECTOR_HSA_HSA_TABLES_H
#define WAVESCOPE_COLLECTOR_HSA_HSA_TABLES_H

#include "collector_hsa/hsa_abi.h"

namespace wavescope {

using QueueErrorCallback = void(hsa_status_t status, hsa_queue_t* queue, void* data);

using SystemGetInfo = hsa_status_t(hsa_system_info_t attribute, void* value);
using SystemGetMajorExtensionTable = hsa_status_t(uint16_t extension, uint16_t major, size_t bytes, void* table);
using IterateAgents = hsa_status_t(hsa_status_t (*callback)(hsa_agent_t, void*), void* data);
using AgentGetInfo = hsa_status_t(hsa_agent_t agent, hsa_agent_info_t attribute, void* value);
using QueueCreate = hsa_status_t(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type, QueueErrorCallback* callback,
                                 void* data, uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t** queue);
using QueueDestroy = hsa_status_t(hsa_queue_t* queue);
using QueueLoadIndex = uint64_t(const hsa_queue_t* queue);
using QueueStoreIndex = void(const hsa_queue_t* queue, uint64_t index);
using SignalDestroy = hsa_status_t(hsa_signal_t signal);
using SignalStore = void(hsa_signal_t signal, hsa_signal_value_t value);
using ExecutableFreeze = hsa_status_t(hsa_executable_t executable, const char* options);
using ExecutableSymbolGetInfo = hsa_status_t(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t attribute,
                                             void* value);
using ExecutableIterateAgentSymbols = hsa_status_t(hsa_executable_t executable, hsa_agent_t agent,
                                                   hsa_status_t (*callback)(hsa_executable_t, hsa_agent_t,
                                                                            hsa_executable_symbol_t, void*),
                                                   void* data);

using SetProfilerEnabled = hsa_status_t(hsa_queue_t* queue, int enable);
using AsyncCopyEnable = hsa_status_t(bool enable);
using GetDispatchTime = hsa_status_t(hsa_agent_t agent, hsa_signal_t signal, hsa_amd_profiling_dispatch_time_t* time);
using GetAsyncCopyTime = hsa_status_t(hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t* time);
using ConvertTick = hsa_status_t(hsa_agent_t agent, uint64_t tick, uint64_t* system_tick);
using MemoryPoolGetInfo = hsa_status_t(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t attribute, void* value);
using AgentIterateMemoryPools = hsa_status_t(hsa_agent_t agent, hsa_status_t (*callback)(hsa_amd_memory_pool_t, void*),
                                             void* data);
using MemoryAsyncCopy = hsa_status_t(void* target, hsa_agent_t target_agent, const void* source, hsa_agent_t source_agent,
                                     size_t bytes, uint32_t dependency_count, const hsa_signal_t* dependencies,
                                     hsa_signal_t completion);
using MemoryAsyncCopyRect = hsa_status_t(const hsa_pitched_ptr_t* target, const hsa_dim3_t* target_offset,
                                         const hsa_pitched_ptr_t* source, const hsa_dim3_t* source_offset,
                                         const hsa_dim3_t* range, hsa_agent_t agent, hsa_amd_copy_direction_t direction,
                                         uint32_t dependency_count, const hsa_signal_t* dependencies,
                                         hsa_signal_t completion);
using MemoryLock = hsa_status_t(void* host, size_t bytes, hsa_agent_t* agents, int agent_count, void** seen_by_agents);
using MemoryUnlock = hsa_status_t(void* host);
using SignalCreate = hsa_status_t(hsa_signal_value_t value, uint32_t consumer_count, const hsa_agent_t* consumers,
                                  uint64_t attributes, hsa_signal_t* signal);

using hsa_amd_queue_intercept_packet_writer = void (*)(const void* packets, uint64_t count);
using hsa_amd_queue_intercept_handler = void (*)(const void* packets, uint64_t count, uint64_t index, void* data,
                                                 hsa_amd_queue_intercept_packet_writer writer);
using QueueInterceptRegister = hsa_status_t(hsa_queue_t* queue, hsa_amd_queue_intercept_handler callback, void* data);

// hsa_amd_memory_async_copy_on_engine, which came after the headers that are compared with.
using CopyOnEngine = hsa_status_t (*)(void* target, hsa_agent_t target_agent, const void* source, hsa_agent_t source_agent,
                                      size_t bytes, uint32_t dependency_count, const hsa_signal_t* dependencies,
                                      hsa_signal_t completion, uint32_t engine, bool force_engine);

// The loader's extension, version 1.01.
struct hsa_ven_amd_loader_1_01_pfn_t {
  hsa_status_t (*hsa_ven_amd_loader_query_host_address)(const void* device_address, const void** host_address);
  void* unused[2];
  hsa_status_t (*hsa_ven_amd_loader_executable_iterate_loaded_code_objects)(
      hsa_executable_t executable, hsa_status_t (*callback)(hsa_executable_t, hsa_loaded_code_object_t, void*), void* data);
  hsa_status_t (*hsa_ven_amd_loader_loaded_code_object_get_info)(hsa_loaded_code_object_t code_object,
                                                                 hsa_ven_amd_loader_loaded_code_object_info_t attribute,
                                                                 void* value);
};

struct ApiTableVersion {
  uint32_t major_id;
  uint32_t minor_id;  // the table's size in bytes
  uint32_t step_id;
  uint32_t reserved;
};

// Up to the last function that is used; runtimes have more.
struct CoreApiTable {
  ApiTableVersion version;
  hsa_status_t (*hsa_init_fn)();
  void* unused1[1];
  SystemGetInfo* hsa_system_get_info_fn;
  void* unused2[2];
  IterateAgents* hsa_iterate_agents_fn;
  AgentGetInfo* hsa_agent_get_info_fn;
  QueueCreate* hsa_queue_create_fn;
  void* unused3[1];
  QueueDestroy* hsa_queue_destroy_fn;
  void* unused4[1];
  QueueLoadIndex* hsa_queue_load_read_index_scacquire_fn;
  void* unused5[1];
  QueueLoadIndex* hsa_queue_load_write_index_scacquire_fn;
  void* unused6[2];
  QueueStoreIndex* hsa_queue_store_write_index_screlease_fn;
  void* unused7[21];
  SignalDestroy* hsa_signal_destroy_fn;
  void* unused8[2];
  SignalStore* hsa_signal_store_relaxed_fn;
  SignalStore* hsa_signal_store_screlease_fn;
  void* unused9[43];
  ExecutableFreeze* hsa_executable_freeze_fn;
  void* unused10[6];
  ExecutableSymbolGetInfo* hsa_executable_symbol_get_info_fn;
  void* unused11[4];
  SystemGetMajorExtensionTable* hsa_system_get_major_extension_table_fn;
  void* unused12[24];
  ExecutableIterateAgentSymbols* hsa_executable_iterate_agent_symbols_fn;
};

// As runtimes up to ROCm 5.2 have it; hsa_api.h tells what newer ones put in between.
struct AmdExtTable {
  ApiTableVersion version;
  void* unused1[2];
  SetProfilerEnabled* hsa_amd_profiling_set_profiler_enabled_fn;
  AsyncCopyEnable* hsa_amd_profiling_async_copy_enable_fn;
  GetDispatchTime* hsa_amd_profiling_get_dispatch_time_fn;
  GetAsyncCopyTime* hsa_amd_profiling_get_async_copy_time_fn;
  ConvertTick* hsa_amd_profiling_convert_tick_to_system_domain_fn;
  void* unused2[4];
  MemoryPoolGetInfo* hsa_amd_memory_pool_get_info_fn;
  AgentIterateMemoryPools* hsa_amd_agent_iterate_memory_pools_fn;
  void* unused3[2];
  MemoryAsyncCopy* hsa_amd_memory_async_copy_fn;
  void* unused4[4];
  MemoryLock* hsa_amd_memory_lock_fn;
  MemoryUnlock* hsa_amd_memory_unlock_fn;
  void* unused5[9];
  SignalCreate* hsa_amd_signal_create_fn;
  void* unused6[3];
  QueueCreate* hsa_amd_queue_intercept_create_fn;
  QueueInterceptRegister* hsa_amd_queue_intercept_register_fn;
  void* unused7[1];
  MemoryAsyncCopyRect* hsa_amd_memory_async_copy_rect_fn;
};

struct HsaApiTable {
  ApiTableVersion version;
  CoreApiTable* core_;
  AmdExtTable* amd_ext_;
  void* finalizer_ext_;
  void* image_ext_;
};

}  // namespace wavescope

#endif
