// Our own declarations of CUPTI agree with NVIDIA's headers: values of enumerations, the place and size of every member that
// is declared, and how each function takes its arguments. Compiled once for each folder of WAVESCOPE_CUPTI_INCLUDES; nearly
// everything here is checked by the compiler.
#include <cstdio>

#if __has_include(<cupti.h>)
#include <cuda.h>
#include <cupti.h>

#include <cstddef>
#include <type_traits>

#include "collector_cupti/cupti_abi.h"
#include "collector_cupti/cupti_library.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace wavescope::cupti {

#define VALUE(ours, theirs) static_assert(static_cast<uint32_t>(ours) == static_cast<uint32_t>(theirs), #ours)

#define RESULT(ours, theirs) VALUE(CuptiResult::ours, CUPTI_##theirs)
RESULT(kSuccess, SUCCESS);
RESULT(kInvalidParameter, ERROR_INVALID_PARAMETER);
RESULT(kInvalidOperation, ERROR_INVALID_OPERATION);
RESULT(kOutOfMemory, ERROR_OUT_OF_MEMORY);
RESULT(kNotImplemented, ERROR_API_NOT_IMPLEMENTED);
RESULT(kMaxLimitReached, ERROR_MAX_LIMIT_REACHED);
RESULT(kNotReady, ERROR_NOT_READY);
RESULT(kNotCompatible, ERROR_NOT_COMPATIBLE);
RESULT(kNotInitialized, ERROR_NOT_INITIALIZED);
RESULT(kInvalidKind, ERROR_INVALID_KIND);
RESULT(kDisabled, ERROR_DISABLED);
RESULT(kNotSupported, ERROR_NOT_SUPPORTED);
RESULT(kVirtualizedDevice, ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
RESULT(kInsufficientPrivileges, ERROR_INSUFFICIENT_PRIVILEGES);
RESULT(kOldProfilerInUse, ERROR_OLD_PROFILER_API_INITIALIZED);
RESULT(kMultipleSubscribers, ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
RESULT(kVirtualizedDevicePrivileges, ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
RESULT(kConfidentialComputing, ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
#if CUPTI_API_VERSION > 18
RESULT(kMigDevice, ERROR_MIG_DEVICE_NOT_SUPPORTED);
RESULT(kWslDevice, ERROR_WSL_DEVICE_NOT_SUPPORTED);
#endif
RESULT(kUnknown, ERROR_UNKNOWN);

#define KIND(ours, theirs) VALUE(CuptiActivityKind::ours, CUPTI_ACTIVITY_KIND_##theirs)
KIND(kInvalid, INVALID);
KIND(kMemcpy, MEMCPY);
KIND(kMemset, MEMSET);
KIND(kKernel, KERNEL);
KIND(kDriver, DRIVER);
KIND(kRuntime, RUNTIME);
KIND(kDevice, DEVICE);
KIND(kContext, CONTEXT);
KIND(kConcurrentKernel, CONCURRENT_KERNEL);
KIND(kName, NAME);
KIND(kOverhead, OVERHEAD);
KIND(kMemcpyPeer, MEMCPY2);
KIND(kDeviceAttribute, DEVICE_ATTRIBUTE);
KIND(kStream, STREAM);
KIND(kSynchronization, SYNCHRONIZATION);
KIND(kExternalCorrelation, EXTERNAL_CORRELATION);
KIND(kInternalLaunch, INTERNAL_LAUNCH_API);
KIND(kMemory, MEMORY2);
KIND(kMemoryPool, MEMORY_POOL);
KIND(kGraphTrace, GRAPH_TRACE);

#define ATTRIBUTE(ours, theirs) VALUE(ActivityAttribute::ours, CUPTI_ACTIVITY_ATTR_##theirs)
ATTRIBUTE(kDeviceBufferSize, DEVICE_BUFFER_SIZE);
ATTRIBUTE(kDeviceBufferPoolLimit, DEVICE_BUFFER_POOL_LIMIT);
ATTRIBUTE(kZeroedOutBuffers, ZEROED_OUT_ACTIVITY_BUFFER);
ATTRIBUTE(kDeviceBufferPreallocate, DEVICE_BUFFER_PRE_ALLOCATE_VALUE);
#if CUPTI_API_VERSION > 18
ATTRIBUTE(kPerThreadBuffers, PER_THREAD_ACTIVITY_BUFFER);
#endif

#define COPY(ours, theirs) VALUE(CopyKind::ours, CUPTI_ACTIVITY_MEMCPY_KIND_##theirs)
COPY(kUnknown, UNKNOWN);
COPY(kHostToDevice, HTOD);
COPY(kDeviceToHost, DTOH);
COPY(kHostToArray, HTOA);
COPY(kArrayToHost, ATOH);
COPY(kArrayToArray, ATOA);
COPY(kArrayToDevice, ATOD);
COPY(kDeviceToArray, DTOA);
COPY(kDeviceToDevice, DTOD);
COPY(kHostToHost, HTOH);
COPY(kPeer, PTOP);

#define MEMORY(ours, theirs) VALUE(MemoryKind::ours, CUPTI_ACTIVITY_MEMORY_KIND_##theirs)
MEMORY(kUnknown, UNKNOWN);
MEMORY(kPageable, PAGEABLE);
MEMORY(kPinned, PINNED);
MEMORY(kDevice, DEVICE);
MEMORY(kArray, ARRAY);
MEMORY(kManaged, MANAGED);
MEMORY(kDeviceStatic, DEVICE_STATIC);
MEMORY(kManagedStatic, MANAGED_STATIC);

VALUE(kFlushForced, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
VALUE(kOldestVersion, 18);
static_assert(CUPTI_API_VERSION >= kOldestVersion);

#define DOMAIN(ours, theirs) VALUE(CuptiCallbackDomain::ours, CUPTI_CB_DOMAIN_##theirs)
DOMAIN(kInvalid, INVALID);
DOMAIN(kDriverApi, DRIVER_API);
DOMAIN(kRuntimeApi, RUNTIME_API);
DOMAIN(kResource, RESOURCE);
DOMAIN(kSynchronize, SYNCHRONIZE);
DOMAIN(kNvtx, NVTX);
#if CUPTI_API_VERSION > 18
DOMAIN(kState, STATE);
#endif
VALUE(CallbackSite::kEnter, CUPTI_API_ENTER);
VALUE(CallbackSite::kExit, CUPTI_API_EXIT);

#define RESOURCE(ours, theirs) VALUE(ResourceCallback::ours, CUPTI_CBID_RESOURCE_##theirs)
RESOURCE(kInvalid, INVALID);
RESOURCE(kContextCreated, CONTEXT_CREATED);
RESOURCE(kContextDestroyStarting, CONTEXT_DESTROY_STARTING);
RESOURCE(kStreamCreated, STREAM_CREATED);
RESOURCE(kStreamDestroyStarting, STREAM_DESTROY_STARTING);
RESOURCE(kInitFinished, CU_INIT_FINISHED);
RESOURCE(kModuleLoaded, MODULE_LOADED);
RESOURCE(kModuleUnloadStarting, MODULE_UNLOAD_STARTING);
RESOURCE(kModuleProfiled, MODULE_PROFILED);
RESOURCE(kGraphCreated, GRAPH_CREATED);
RESOURCE(kGraphDestroyStarting, GRAPH_DESTROY_STARTING);
RESOURCE(kGraphCloned, GRAPH_CLONED);
RESOURCE(kGraphNodeCreateStarting, GRAPHNODE_CREATE_STARTING);
RESOURCE(kGraphNodeCreated, GRAPHNODE_CREATED);
RESOURCE(kGraphNodeDestroyStarting, GRAPHNODE_DESTROY_STARTING);
RESOURCE(kGraphNodeDependencyCreated, GRAPHNODE_DEPENDENCY_CREATED);
RESOURCE(kGraphNodeDependencyDestroyStarting, GRAPHNODE_DEPENDENCY_DESTROY_STARTING);
RESOURCE(kGraphExecCreateStarting, GRAPHEXEC_CREATE_STARTING);
RESOURCE(kGraphExecCreated, GRAPHEXEC_CREATED);
RESOURCE(kGraphExecDestroyStarting, GRAPHEXEC_DESTROY_STARTING);
RESOURCE(kGraphNodeCloned, GRAPHNODE_CLONED);

#define NODE(ours, theirs) VALUE(GraphNodeType::ours, CU_GRAPH_NODE_TYPE_##theirs)
NODE(kKernel, KERNEL);
NODE(kMemcpy, MEMCPY);
NODE(kMemset, MEMSET);
NODE(kHost, HOST);
NODE(kGraph, GRAPH);
NODE(kEmpty, EMPTY);
NODE(kWaitEvent, WAIT_EVENT);
NODE(kEventRecord, EVENT_RECORD);
NODE(kSignalSemaphore, EXT_SEMAS_SIGNAL);
NODE(kWaitSemaphore, EXT_SEMAS_WAIT);
NODE(kMemoryAllocation, MEM_ALLOC);
NODE(kMemoryFree, MEM_FREE);
NODE(kBatchMemoryOperation, BATCH_MEM_OP);
#if CUDA_VERSION >= 12030
NODE(kConditional, CONDITIONAL);
#endif

// A member of ours is at the place of one of theirs and has its size.
#define AT(ours, member, theirs, their_member)                                                        \
  static_assert(offsetof(ours, member) == offsetof(theirs, their_member), #theirs "." #their_member); \
  static_assert(sizeof(std::declval<ours>().member) == sizeof(std::declval<theirs>().their_member),   \
                #theirs "." #their_member)
// The same where an array of ours holds several of theirs, from `their_member` to `their_last`.
#define SPAN(ours, member, theirs, their_member, their_last)                                          \
  static_assert(offsetof(ours, member) == offsetof(theirs, their_member), #theirs "." #their_member); \
  static_assert(offsetof(ours, member) + sizeof(std::declval<ours>().member) ==                       \
                    offsetof(theirs, their_last) + sizeof(std::declval<theirs>().their_last),         \
                #theirs "." #their_last)
#define NO_LONGER(ours, theirs) static_assert(sizeof(ours) <= sizeof(theirs) && alignof(ours) <= alignof(theirs), #theirs)

#define KERNEL(theirs)                                                    \
  NO_LONGER(KernelRecord, theirs);                                        \
  AT(KernelRecord, kind, theirs, kind);                                   \
  AT(KernelRecord, cache_config, theirs, cacheConfig);                    \
  AT(KernelRecord, registers_per_thread, theirs, registersPerThread);     \
  AT(KernelRecord, start, theirs, start);                                 \
  AT(KernelRecord, end, theirs, end);                                     \
  AT(KernelRecord, completed, theirs, completed);                         \
  AT(KernelRecord, device, theirs, deviceId);                             \
  AT(KernelRecord, context, theirs, contextId);                           \
  AT(KernelRecord, stream, theirs, streamId);                             \
  SPAN(KernelRecord, grid, theirs, gridX, gridZ);                         \
  SPAN(KernelRecord, block, theirs, blockX, blockZ);                      \
  AT(KernelRecord, static_shared_bytes, theirs, staticSharedMemory);      \
  AT(KernelRecord, dynamic_shared_bytes, theirs, dynamicSharedMemory);    \
  AT(KernelRecord, local_bytes_per_thread, theirs, localMemoryPerThread); \
  AT(KernelRecord, local_bytes_total, theirs, localMemoryTotal);          \
  AT(KernelRecord, correlation, theirs, correlationId);                   \
  AT(KernelRecord, grid_id, theirs, gridId);                              \
  AT(KernelRecord, name, theirs, name);                                   \
  AT(KernelRecord, queued, theirs, queued);                               \
  AT(KernelRecord, submitted, theirs, submitted);                         \
  AT(KernelRecord, launch_type, theirs, launchType);                      \
  AT(KernelRecord, shared_memory_executed, theirs, sharedMemoryExecuted); \
  AT(KernelRecord, graph_node, theirs, graphNodeId);                      \
  AT(KernelRecord, shared_memory_limit, theirs, shmemLimitConfig);        \
  AT(KernelRecord, graph, theirs, graphId);                               \
  static_assert(sizeof(KernelRecord) == offsetof(theirs, graphId) + 4, #theirs)
KERNEL(CUpti_ActivityKernel9);
#if CUPTI_API_VERSION >= 130000
KERNEL(CUpti_ActivityKernel10);
#endif
#if CUPTI_API_VERSION >= 130400
KERNEL(CUpti_ActivityKernel11);
KERNEL(CUpti_ActivityKernel12);
KERNEL(CUpti_ActivityKernel13);
#endif

#define COPY_HEAD(ours, theirs)                 \
  NO_LONGER(ours, theirs);                      \
  AT(ours, kind, theirs, kind);                 \
  AT(ours, copy_kind, theirs, copyKind);        \
  AT(ours, source_kind, theirs, srcKind);       \
  AT(ours, target_kind, theirs, dstKind);       \
  AT(ours, flags, theirs, flags);               \
  AT(ours, bytes, theirs, bytes);               \
  AT(ours, start, theirs, start);               \
  AT(ours, end, theirs, end);                   \
  AT(ours, device, theirs, deviceId);           \
  AT(ours, context, theirs, contextId);         \
  AT(ours, stream, theirs, streamId);           \
  AT(ours, correlation, theirs, correlationId); \
  AT(ours, graph_node, theirs, graphNodeId);    \
  AT(ours, graph, theirs, graphId)
#define MEMCPY(theirs)             \
  COPY_HEAD(MemcpyRecord, theirs); \
  AT(MemcpyRecord, runtime_correlation, theirs, runtimeCorrelationId)
MEMCPY(CUpti_ActivityMemcpy5);
#if CUPTI_API_VERSION >= 26
MEMCPY(CUpti_ActivityMemcpy6);
#endif
#if CUPTI_API_VERSION >= 130400
MEMCPY(CUpti_ActivityMemcpy7);
#endif
COPY_HEAD(MemcpyPeerRecord, CUpti_ActivityMemcpyPtoP4);
AT(MemcpyPeerRecord, source_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
AT(MemcpyPeerRecord, source_context, CUpti_ActivityMemcpyPtoP4, srcContextId);
AT(MemcpyPeerRecord, target_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
AT(MemcpyPeerRecord, target_context, CUpti_ActivityMemcpyPtoP4, dstContextId);

#define MEMSET(theirs)                                  \
  NO_LONGER(MemsetRecord, theirs);                      \
  AT(MemsetRecord, kind, theirs, kind);                 \
  AT(MemsetRecord, value, theirs, value);               \
  AT(MemsetRecord, bytes, theirs, bytes);               \
  AT(MemsetRecord, start, theirs, start);               \
  AT(MemsetRecord, end, theirs, end);                   \
  AT(MemsetRecord, device, theirs, deviceId);           \
  AT(MemsetRecord, context, theirs, contextId);         \
  AT(MemsetRecord, stream, theirs, streamId);           \
  AT(MemsetRecord, correlation, theirs, correlationId); \
  AT(MemsetRecord, flags, theirs, flags);               \
  AT(MemsetRecord, memory_kind, theirs, memoryKind);    \
  AT(MemsetRecord, graph_node, theirs, graphNodeId);    \
  AT(MemsetRecord, graph, theirs, graphId)
MEMSET(CUpti_ActivityMemset4);
#if CUPTI_API_VERSION >= 130400
MEMSET(CUpti_ActivityMemset5);
#endif

#define GRAPH_TRACE(theirs)                                 \
  NO_LONGER(GraphTraceRecord, theirs);                      \
  AT(GraphTraceRecord, kind, theirs, kind);                 \
  AT(GraphTraceRecord, correlation, theirs, correlationId); \
  AT(GraphTraceRecord, start, theirs, start);               \
  AT(GraphTraceRecord, end, theirs, end);                   \
  AT(GraphTraceRecord, device, theirs, deviceId);           \
  AT(GraphTraceRecord, graph, theirs, graphId);             \
  AT(GraphTraceRecord, context, theirs, contextId);         \
  AT(GraphTraceRecord, stream, theirs, streamId)
GRAPH_TRACE(CUpti_ActivityGraphTrace);
#if CUPTI_API_VERSION >= 26
GRAPH_TRACE(CUpti_ActivityGraphTrace2);
#endif

static_assert(sizeof(CuptiActivity) == sizeof(CUpti_ActivityKind));
AT(CuptiActivity, kind, CUpti_Activity, kind);

AT(ApiCallbackData, site, CUpti_CallbackData, callbackSite);
AT(ApiCallbackData, function_name, CUpti_CallbackData, functionName);
AT(ApiCallbackData, parameters, CUpti_CallbackData, functionParams);
AT(ApiCallbackData, return_value, CUpti_CallbackData, functionReturnValue);
AT(ApiCallbackData, symbol_name, CUpti_CallbackData, symbolName);
AT(ApiCallbackData, context, CUpti_CallbackData, context);
AT(ApiCallbackData, context_id, CUpti_CallbackData, contextUid);
AT(ApiCallbackData, correlation_data, CUpti_CallbackData, correlationData);
AT(ApiCallbackData, correlation, CUpti_CallbackData, correlationId);
AT(ResourceCallbackData, context, CUpti_ResourceData, context);
AT(ResourceCallbackData, stream, CUpti_ResourceData, resourceHandle.stream);
AT(ResourceCallbackData, descriptor, CUpti_ResourceData, resourceDescriptor);
AT(ModuleResourceData, module, CUpti_ModuleResourceData, moduleId);
AT(ModuleResourceData, cubin_bytes, CUpti_ModuleResourceData, cubinSize);
AT(ModuleResourceData, cubin, CUpti_ModuleResourceData, pCubin);
AT(GraphResourceData, graph, CUpti_GraphData, graph);
AT(GraphResourceData, original_graph, CUpti_GraphData, originalGraph);
AT(GraphResourceData, node, CUpti_GraphData, node);
AT(GraphResourceData, original_node, CUpti_GraphData, originalNode);
AT(GraphResourceData, node_type, CUpti_GraphData, nodeType);
AT(GraphResourceData, dependency, CUpti_GraphData, dependency);
AT(GraphResourceData, graph_exec, CUpti_GraphData, graphExec);

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
