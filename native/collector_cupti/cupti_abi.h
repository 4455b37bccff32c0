// What the collector uses of CUPTI, declared here: no CUDA header is needed to build it. The functions are
// in cupti_library.h.
//
// CUPTI's records grow at their end from version to version. A struct below is the beginning that is the same from
// CUPTI 12.0 to 13.4, and nothing behind it is read; tests/test_cupti_abi.cpp holds every number against NVIDIA's headers.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_CUPTI_ABI_H
#define WAVESCOPE_COLLECTOR_CUPTI_CUPTI_ABI_H

#include <cstddef>
#include <cstdint>

namespace wavescope::cupti {

// cuptiGetVersion's answers: a count up to CUDA 12.9, where it is 28, then major * 10000 + minor * 100 + update.
constexpr uint32_t kOldestVersion = 18;  // CUDA 12.0 and 12.1, and 11.8, whose records are the same
constexpr uint32_t kVersion12_9 = 28;
constexpr uint32_t kVersion13_0 = 130000;

enum class CuptiResult : uint32_t {
  kSuccess = 0,
  kInvalidParameter = 1,
  kInvalidOperation = 7,
  kOutOfMemory = 8,
  kNotImplemented = 11,
  kMaxLimitReached = 12,  // a buffer has no more records
  kNotReady = 13,
  kNotCompatible = 14,
  kNotInitialized = 15,
  kInvalidKind = 21,  // of a record in a buffer, or one that this GPU does not have
  kDisabled = 23,
  kNotSupported = 27,
  kVirtualizedDevice = 33,
  kInsufficientPrivileges = 35,
  kOldProfilerInUse = 36,
  kMultipleSubscribers = 39,  // another tool is subscribed
  kVirtualizedDevicePrivileges = 40,
  kConfidentialComputing = 41,
  kMigDevice = 43,
  kWslDevice = 45,
  kUnknown = 999,
};

enum class CuptiActivityKind : uint32_t {
  kInvalid = 0,
  kMemcpy = 1,
  kMemset = 2,
  kKernel = 3,  // one at a time
  kDriver = 4,
  kRuntime = 5,
  kDevice = 8,
  kContext = 9,
  kConcurrentKernel = 10,
  kName = 11,
  kOverhead = 17,
  kMemcpyPeer = 22,
  kDeviceAttribute = 28,
  kStream = 37,
  kSynchronization = 38,
  kExternalCorrelation = 39,
  kInternalLaunch = 48,
  kMemory = 49,  // allocations and releases, each a record
  kMemoryPool = 50,
  kGraphTrace = 51,
};

enum class ActivityAttribute : uint32_t {
  kDeviceBufferSize = 0,
  kDeviceBufferPoolLimit = 2,
  kZeroedOutBuffers = 5,
  kDeviceBufferPreallocate = 6,
  kPerThreadBuffers = 9,
};

enum class CopyKind : uint8_t {
  kUnknown = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kHostToArray = 3,
  kArrayToHost = 4,
  kArrayToArray = 5,
  kArrayToDevice = 6,
  kDeviceToArray = 7,
  kDeviceToDevice = 8,
  kHostToHost = 9,
  kPeer = 10,
};

enum class MemoryKind : uint8_t {
  kUnknown = 0,
  kPageable = 1,
  kPinned = 2,
  kDevice = 3,
  kArray = 4,
  kManaged = 5,
  kDeviceStatic = 6,
  kManagedStatic = 7,
};

constexpr uint32_t kFlushForced = 1;  // of cuptiActivityFlushAll: buffers whose records are not complete, too

// Every record begins with its kind.
struct CuptiActivity {
  CuptiActivityKind kind;
};

struct KernelRecord {  // kConcurrentKernel, kKernel
  CuptiActivityKind kind;
  uint8_t cache_config;
  uint8_t shared_memory_config;
  uint16_t registers_per_thread;
  uint32_t global_cache_requested;
  uint32_t global_cache_executed;
  uint64_t start;
  uint64_t end;
  uint64_t completed;  // with its children, of kernels that launch kernels
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  int32_t grid[3];  // in blocks
  int32_t block[3];
  int32_t static_shared_bytes;
  int32_t dynamic_shared_bytes;
  uint32_t local_bytes_per_thread;
  uint32_t local_bytes_total;
  uint32_t correlation;
  int64_t grid_id;
  const char* name;
  void* reserved;
  uint64_t queued;
  uint64_t submitted;
  uint8_t launch_type;
  uint8_t carveout_is_requested;
  uint8_t carveout_requested;
  uint8_t padding;
  uint32_t shared_memory_executed;
  uint64_t graph_node;
  uint32_t shared_memory_limit;
  uint32_t graph;
};

struct MemcpyRecord {  // kMemcpy
  CuptiActivityKind kind;
  CopyKind copy_kind;
  MemoryKind source_kind;
  MemoryKind target_kind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
  uint32_t runtime_correlation;
  uint32_t padding;
  void* reserved;
  uint64_t graph_node;
  uint32_t graph;
};

struct MemcpyPeerRecord {  // kMemcpyPeer
  CuptiActivityKind kind;
  CopyKind copy_kind;
  MemoryKind source_kind;
  MemoryKind target_kind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t source_device;
  uint32_t source_context;
  uint32_t target_device;
  uint32_t target_context;
  uint32_t correlation;
  void* reserved;
  uint64_t graph_node;
  uint32_t graph;
};

struct MemsetRecord {  // kMemset
  CuptiActivityKind kind;
  uint32_t value;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
  uint16_t flags;
  uint16_t memory_kind;
  uint32_t padding;
  void* reserved;
  uint64_t graph_node;
  uint32_t graph;
};

struct GraphTraceRecord {  // kGraphTrace
  CuptiActivityKind kind;
  uint32_t correlation;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t graph;
  uint32_t context;
  uint32_t stream;
};

// Callbacks.

enum class CuptiCallbackDomain : uint32_t {
  kInvalid = 0,
  kDriverApi = 1,
  kRuntimeApi = 2,
  kResource = 3,
  kSynchronize = 4,
  kNvtx = 5,
  kState = 6,  // from 12.x on
};

enum class CallbackSite : uint32_t { kEnter = 0, kExit = 1 };

// Ids of the resource domain.
enum class ResourceCallback : uint32_t {
  kInvalid = 0,
  kContextCreated = 1,
  kContextDestroyStarting = 2,
  kStreamCreated = 3,
  kStreamDestroyStarting = 4,
  kInitFinished = 5,
  kModuleLoaded = 6,
  kModuleUnloadStarting = 7,
  kModuleProfiled = 8,
  kGraphCreated = 9,
  kGraphDestroyStarting = 10,
  kGraphCloned = 11,
  kGraphNodeCreateStarting = 12,
  kGraphNodeCreated = 13,
  kGraphNodeDestroyStarting = 14,
  kGraphNodeDependencyCreated = 15,
  kGraphNodeDependencyDestroyStarting = 16,
  kGraphExecCreateStarting = 17,
  kGraphExecCreated = 18,
  kGraphExecDestroyStarting = 19,
  kGraphNodeCloned = 20,
};

// CUgraphNodeType.
enum class GraphNodeType : uint32_t {
  kKernel = 0,
  kMemcpy = 1,
  kMemset = 2,
  kHost = 3,
  kGraph = 4,  // a child graph
  kEmpty = 5,
  kWaitEvent = 6,
  kEventRecord = 7,
  kSignalSemaphore = 8,
  kWaitSemaphore = 9,
  kMemoryAllocation = 10,
  kMemoryFree = 11,
  kBatchMemoryOperation = 12,
  kConditional = 13,
};

// Handles of the CUDA driver: opaque.
using CudaContext = void*;
using CudaStream = void*;
using CudaGraph = void*;
using CudaGraphNode = void*;
using CudaGraphExec = void*;

struct ApiCallbackData {  // driver and runtime domain
  CallbackSite site;
  const char* function_name;
  const void* parameters;  // the struct of the function's parameters
  void* return_value;  // at the exit: cudaError_t or CUresult
  const char* symbol_name;  // where one kernel is launched; elsewhere it may be anything
  CudaContext context;
  uint32_t context_id;
  uint64_t* correlation_data;  // ours, from a call's entry to its exit
  uint32_t correlation;
};

struct ResourceCallbackData {
  CudaContext context;
  CudaStream stream;
  void* descriptor;  // GraphResourceData, ModuleResourceData
};

struct ModuleResourceData {
  uint32_t module;
  std::size_t cubin_bytes;
  const char* cubin;
};

struct GraphResourceData {
  CudaGraph graph;
  CudaGraph original_graph;
  CudaGraphNode node;
  CudaGraphNode original_node;
  GraphNodeType node_type;
  CudaGraphNode dependency;
  CudaGraphExec graph_exec;
};

using CuptiSubscriber = struct CuptiSubscriberTag*;

using CuptiCallback = void (*)(void* user_data, CuptiCallbackDomain domain, uint32_t callback_id, const void* data);
using CuptiBufferRequested = void (*)(uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
using CuptiBufferCompleted = void (*)(CudaContext context, uint32_t stream, uint8_t* buffer, std::size_t bytes,
                                      std::size_t valid_bytes);

}  // namespace wavescope::cupti

#endif
