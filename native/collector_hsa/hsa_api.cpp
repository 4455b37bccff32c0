#include "collector_hsa/hsa_api.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstring>

namespace wavescope {
namespace {

// The place of a function in AMD's extension table, counted in functions behind its version.
#define PLACE_OF(function) ((offsetof(AmdExtTable, function) - sizeof(ApiTableVersion)) / sizeof(void*))
enum ExtensionPlace : uint32_t {
  kSetProfilerEnabled = PLACE_OF(hsa_amd_profiling_set_profiler_enabled_fn),
  kAsyncCopyEnable = PLACE_OF(hsa_amd_profiling_async_copy_enable_fn),
  kGetDispatchTime = PLACE_OF(hsa_amd_profiling_get_dispatch_time_fn),
  kGetAsyncCopyTime = PLACE_OF(hsa_amd_profiling_get_async_copy_time_fn),
  kConvertTick = PLACE_OF(hsa_amd_profiling_convert_tick_to_system_domain_fn),
  kMemoryPoolGetInfo = PLACE_OF(hsa_amd_memory_pool_get_info_fn),
  kAgentIterateMemoryPools = PLACE_OF(hsa_amd_agent_iterate_memory_pools_fn),
  kAsyncCopy = PLACE_OF(hsa_amd_memory_async_copy_fn),
  // Here the newer layout has two more.
  kMemoryLock = PLACE_OF(hsa_amd_memory_lock_fn),
  kMemoryUnlock = PLACE_OF(hsa_amd_memory_unlock_fn),
  kSignalCreate = PLACE_OF(hsa_amd_signal_create_fn),
  kQueueInterceptCreate = PLACE_OF(hsa_amd_queue_intercept_create_fn),
  kQueueInterceptRegister = PLACE_OF(hsa_amd_queue_intercept_register_fn),
  kAsyncCopyRect = PLACE_OF(hsa_amd_memory_async_copy_rect_fn),
};
#undef PLACE_OF
constexpr uint32_t kInsertedFunctions = 2;  // the first of them is hsa_amd_memory_async_copy_on_engine

class ExtensionTable {
 public:
  ExtensionTable(AmdExtTable* table, uint32_t inserted)
      : functions_(reinterpret_cast<char*>(table) + sizeof(ApiTableVersion)),
        bytes_(table->version.minor_id),
        inserted_(inserted) {}

  // The place in memory of a function, typed as the caller wants it.
  template <typename Function>
  Function* slot(uint32_t place) const {
    return reinterpret_cast<Function*>(functions_ + moved(place) * sizeof(void*));
  }
  template <typename Function>
  Function* first_inserted_slot() const {
    return reinterpret_cast<Function*>(functions_ + (kAsyncCopy + 1) * sizeof(void*));
  }
  template <typename Function>
  void read(uint32_t place, Function& function) const {
    function = *slot<Function>(place);
  }
  bool holds(uint32_t place) const { return sizeof(ApiTableVersion) + (moved(place) + 1) * sizeof(void*) <= bytes_; }

 private:
  uint32_t moved(uint32_t place) const { return place > kAsyncCopy ? place + inserted_ : place; }

  char* const functions_;
  const uint32_t bytes_;
  const uint32_t inserted_;
};

bool known_major(const ApiTableVersion& version, uint32_t newest) {
  return version.major_id >= 1 && version.major_id <= newest;
}

std::string describe(const char* table, const ApiTableVersion& version) {
  return std::string("the runtime's ") + table + " table has the unknown version " + std::to_string(version.major_id) +
         " (" + std::to_string(version.minor_id) + " bytes)";
}

bool check_versions(const HsaApiTable& tables, std::string& reason) {
  if (!known_major(tables.version, 3) || tables.version.minor_id < offsetof(HsaApiTable, finalizer_ext_)) {
    reason = describe("root", tables.version);
  } else if (tables.core_ == nullptr || tables.amd_ext_ == nullptr) {
    reason = "the runtime gives no core or no AMD extension table";
  } else if (!known_major(tables.core_->version, 2) ||
             tables.core_->version.minor_id <
                 offsetof(CoreApiTable, hsa_executable_iterate_agent_symbols_fn) + sizeof(void*)) {
    reason = describe("core", tables.core_->version);
  } else if (!known_major(tables.amd_ext_->version, 2)) {
    reason = describe("AMD extension", tables.amd_ext_->version);
  }
  return reason.empty();
}

void take_core(CoreApiTable& core, HsaApi& api, HsaHooks& hooks) {
  api.system_get_info = core.hsa_system_get_info_fn;
  api.iterate_agents = core.hsa_iterate_agents_fn;
  api.agent_get_info = core.hsa_agent_get_info_fn;
  api.queue_create = core.hsa_queue_create_fn;
  api.queue_destroy = core.hsa_queue_destroy_fn;
  api.queue_load_read_index = core.hsa_queue_load_read_index_scacquire_fn;
  api.queue_load_write_index = core.hsa_queue_load_write_index_scacquire_fn;
  api.queue_store_write_index = core.hsa_queue_store_write_index_screlease_fn;
  api.signal_store = core.hsa_signal_store_screlease_fn;
  api.signal_store_relaxed = core.hsa_signal_store_relaxed_fn;
  api.signal_destroy = core.hsa_signal_destroy_fn;
  api.executable_freeze = core.hsa_executable_freeze_fn;
  api.executable_symbol_get_info = core.hsa_executable_symbol_get_info_fn;
  api.executable_iterate_agent_symbols = core.hsa_executable_iterate_agent_symbols_fn;
  hooks.queue_create = &core.hsa_queue_create_fn;
  hooks.queue_destroy = &core.hsa_queue_destroy_fn;
  hooks.signal_destroy = &core.hsa_signal_destroy_fn;
  hooks.signal_store = &core.hsa_signal_store_screlease_fn;
  hooks.signal_store_relaxed = &core.hsa_signal_store_relaxed_fn;
  hooks.executable_freeze = &core.hsa_executable_freeze_fn;
}

void take_extension(const ExtensionTable& extension, bool newer, HsaApi& api, HsaHooks& hooks) {
  extension.read(kSetProfilerEnabled, api.set_profiler_enabled);
  extension.read(kAsyncCopyEnable, api.async_copy_enable);
  extension.read(kGetDispatchTime, api.get_dispatch_time);
  extension.read(kGetAsyncCopyTime, api.get_async_copy_time);
  extension.read(kConvertTick, api.convert_tick);
  extension.read(kAsyncCopy, api.async_copy);
  extension.read(kAsyncCopyRect, api.async_copy_rect);
  extension.read(kMemoryPoolGetInfo, api.memory_pool_get_info);
  extension.read(kAgentIterateMemoryPools, api.agent_iterate_memory_pools);
  extension.read(kMemoryLock, api.memory_lock);
  extension.read(kMemoryUnlock, api.memory_unlock);
  extension.read(kSignalCreate, api.signal_create);
  extension.read(kQueueInterceptCreate, api.queue_intercept_create);
  extension.read(kQueueInterceptRegister, api.queue_intercept_register);
  hooks.set_profiler_enabled = extension.slot<decltype(api.set_profiler_enabled)>(kSetProfilerEnabled);
  hooks.async_copy_enable = extension.slot<decltype(api.async_copy_enable)>(kAsyncCopyEnable);
  hooks.get_dispatch_time = extension.slot<decltype(api.get_dispatch_time)>(kGetDispatchTime);
  hooks.async_copy = extension.slot<decltype(api.async_copy)>(kAsyncCopy);
  hooks.async_copy_rect = extension.slot<decltype(api.async_copy_rect)>(kAsyncCopyRect);
  if (!newer) return;
  hooks.async_copy_on_engine = extension.first_inserted_slot<CopyOnEngine>();
  api.async_copy_on_engine = *hooks.async_copy_on_engine;
}

}  // namespace

bool runtime_exports(const HsaApiTable& tables, const char* function) {
  Dl_info where{};
  void* address = nullptr;
  std::memcpy(&address, &tables.core_->hsa_init_fn, sizeof address);
  if (dladdr(address, &where) == 0 || where.dli_fname == nullptr) return false;
  void* library = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  const bool found = dlsym(library, function) != nullptr;
  dlclose(library);
  return found;
}

bool take_tables(HsaApiTable& tables, Exports exports, HsaApi& api, HsaHooks& hooks, std::string& reason) {
  api = HsaApi{};
  hooks = HsaHooks{};
  if (!check_versions(tables, reason)) return false;
  const bool newer = exports(tables, "hsa_amd_memory_async_copy_on_engine");
  const ExtensionTable extension(tables.amd_ext_, newer ? kInsertedFunctions : 0);
  if (!extension.holds(kAsyncCopyRect)) {
    reason = "the runtime's AMD extension table is too small for queue interception";
    return false;
  }
  take_core(*tables.core_, api, hooks);
  take_extension(extension, newer, api, hooks);
  const CoreApiTable& core = *tables.core_;
  if (core.version.minor_id >= offsetof(CoreApiTable, hsa_system_get_major_extension_table_fn) + sizeof(void*)) {
    api.system_get_major_extension_table = core.hsa_system_get_major_extension_table_fn;
  }
  if (api.queue_intercept_create == nullptr || api.queue_intercept_register == nullptr || api.signal_create == nullptr) {
    reason = "the runtime offers no queue interception";
    return false;
  }
  return true;
}

}  // namespace wavescope
