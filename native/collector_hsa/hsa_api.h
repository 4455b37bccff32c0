// The functions of the HSA runtime that the collector calls, and the places of the tables where it puts its own.
//
// The tables come from a runtime that may be older or newer than what is declared. The core table and the first
// sixteen functions of AMD's extension table never moved; behind them newer runtimes have two more functions. Which of
// the two layouts it is shows by whether the runtime exports the first of the two; sizes are checked before any access.
#ifndef WAVESCOPE_COLLECTOR_HSA_HSA_API_H
#define WAVESCOPE_COLLECTOR_HSA_HSA_API_H

#include <string>

#include "collector_hsa/hsa_tables.h"

namespace wavescope {

struct HsaApi {
  SystemGetInfo* system_get_info;
  IterateAgents* iterate_agents;
  AgentGetInfo* agent_get_info;
  QueueCreate* queue_create;
  QueueDestroy* queue_destroy;
  QueueLoadIndex* queue_load_read_index;
  QueueLoadIndex* queue_load_write_index;
  QueueStoreIndex* queue_store_write_index;
  SignalStore* signal_store;
  SignalStore* signal_store_relaxed;
  SignalDestroy* signal_destroy;
  ExecutableFreeze* executable_freeze;
  ExecutableIterateAgentSymbols* executable_iterate_agent_symbols;
  ExecutableSymbolGetInfo* executable_symbol_get_info;
  SystemGetMajorExtensionTable* system_get_major_extension_table;

  SetProfilerEnabled* set_profiler_enabled;
  AsyncCopyEnable* async_copy_enable;
  GetDispatchTime* get_dispatch_time;
  GetAsyncCopyTime* get_async_copy_time;
  ConvertTick* convert_tick;
  MemoryAsyncCopy* async_copy;
  MemoryAsyncCopyRect* async_copy_rect;
  CopyOnEngine async_copy_on_engine;  // null where the runtime has none
  MemoryPoolGetInfo* memory_pool_get_info;
  AgentIterateMemoryPools* agent_iterate_memory_pools;
  MemoryLock* memory_lock;
  MemoryUnlock* memory_unlock;
  SignalCreate* signal_create;
  QueueCreate* queue_intercept_create;
  QueueInterceptRegister* queue_intercept_register;
};

// Where the collector's own functions go; null where the runtime has no such function.
struct HsaHooks {
  QueueCreate** queue_create;
  QueueDestroy** queue_destroy;
  SignalDestroy** signal_destroy;
  SignalStore** signal_store;
  SignalStore** signal_store_relaxed;
  ExecutableFreeze** executable_freeze;
  SetProfilerEnabled** set_profiler_enabled;
  AsyncCopyEnable** async_copy_enable;
  GetDispatchTime** get_dispatch_time;
  MemoryAsyncCopy** async_copy;
  MemoryAsyncCopyRect** async_copy_rect;
  CopyOnEngine* async_copy_on_engine;
};

// Whether the runtime that owns the tables exports a function of this name.
using Exports = bool (*)(const HsaApiTable& tables, const char* function);
bool runtime_exports(const HsaApiTable& tables, const char* function);

// Fills `api` and `hooks`; on false `reason` says why the runtime is not one that the collector knows.
bool take_tables(HsaApiTable& tables, Exports exports, HsaApi& api, HsaHooks& hooks, std::string& reason);

}  // namespace wavescope

#endif
