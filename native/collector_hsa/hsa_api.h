// The functions of the HSA runtime that the collector calls, and the places of the tables where it puts its own.
//
// The tables come from a runtime that may be older or newer than the headers at hand. The core table and the first
// sixteen functions of AMD's extension table never moved; behind them newer runtimes have two more functions. Which of
// the two layouts it is shows by whether the runtime exports the first of the two; sizes are checked before any access.
#ifndef WAVESCOPE_COLLECTOR_HSA_HSA_API_H
#define WAVESCOPE_COLLECTOR_HSA_HSA_API_H

#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>

#include <string>

namespace wavescope {

// hsa_amd_memory_async_copy_on_engine, which the headers may not know.
using CopyOnEngine = hsa_status_t (*)(void* target, hsa_agent_t target_agent, const void* source, hsa_agent_t source_agent,
                                      size_t bytes, uint32_t dependency_count, const hsa_signal_t* dependencies,
                                      hsa_signal_t completion, uint32_t engine, bool force_engine);

struct HsaApi {
  decltype(hsa_system_get_info)* system_get_info;
  decltype(hsa_iterate_agents)* iterate_agents;
  decltype(hsa_agent_get_info)* agent_get_info;
  decltype(hsa_queue_create)* queue_create;
  decltype(hsa_queue_destroy)* queue_destroy;
  decltype(hsa_queue_load_write_index_scacquire)* queue_load_write_index;
  decltype(hsa_queue_store_write_index_screlease)* queue_store_write_index;
  decltype(hsa_signal_store_screlease)* signal_store;
  decltype(hsa_signal_destroy)* signal_destroy;
  decltype(hsa_executable_freeze)* executable_freeze;
  decltype(hsa_executable_iterate_agent_symbols)* executable_iterate_agent_symbols;
  decltype(hsa_executable_symbol_get_info)* executable_symbol_get_info;
  decltype(hsa_system_get_major_extension_table)* system_get_major_extension_table;

  decltype(hsa_amd_profiling_set_profiler_enabled)* set_profiler_enabled;
  decltype(hsa_amd_profiling_async_copy_enable)* async_copy_enable;
  decltype(hsa_amd_profiling_get_dispatch_time)* get_dispatch_time;
  decltype(hsa_amd_profiling_get_async_copy_time)* get_async_copy_time;
  decltype(hsa_amd_profiling_convert_tick_to_system_domain)* convert_tick;
  decltype(hsa_amd_memory_async_copy)* async_copy;
  decltype(hsa_amd_memory_async_copy_rect)* async_copy_rect;
  CopyOnEngine async_copy_on_engine;  // null where the runtime has none
  decltype(hsa_amd_memory_pool_get_info)* memory_pool_get_info;
  decltype(hsa_amd_agent_iterate_memory_pools)* agent_iterate_memory_pools;
  decltype(hsa_amd_memory_lock)* memory_lock;
  decltype(hsa_amd_memory_unlock)* memory_unlock;
  decltype(hsa_amd_signal_create)* signal_create;
  decltype(hsa_amd_queue_intercept_create)* queue_intercept_create;
  decltype(hsa_amd_queue_intercept_register)* queue_intercept_register;
};

// Where the collector's own functions go; null where the runtime has no such function.
struct HsaHooks {
  decltype(hsa_queue_create)** queue_create;
  decltype(hsa_queue_destroy)** queue_destroy;
  decltype(hsa_signal_destroy)** signal_destroy;
  decltype(hsa_executable_freeze)** executable_freeze;
  decltype(hsa_amd_profiling_set_profiler_enabled)** set_profiler_enabled;
  decltype(hsa_amd_profiling_async_copy_enable)** async_copy_enable;
  decltype(hsa_amd_profiling_get_dispatch_time)** get_dispatch_time;
  decltype(hsa_amd_memory_async_copy)** async_copy;
  decltype(hsa_amd_memory_async_copy_rect)** async_copy_rect;
  CopyOnEngine* async_copy_on_engine;
};

// Whether the runtime that owns the tables exports a function of this name.
using Exports = bool (*)(const HsaApiTable& tables, const char* function);
bool runtime_exports(const HsaApiTable& tables, const char* function);

// Fills `api` and `hooks`; on false `reason` says why the runtime is not one that the collector knows.
bool take_tables(HsaApiTable& tables, Exports exports, HsaApi& api, HsaHooks& hooks, std::string& reason);

}  // namespace wavescope

#endif
