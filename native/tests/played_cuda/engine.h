// The played GPUs: what the stand-ins for libcuda, libcudart and libcupti share. It lives in the one for libcuda.
//
// Nothing is computed. A launch settles when the op begins and ends on its stream, and a synchronization waits for that
// moment; everything that ran is written to the truth log. CUPTI's stand-in hears of calls, resources and ops by a Tool.
#ifndef WAVESCOPE_PLAYED_CUDA_ENGINE_H
#define WAVESCOPE_PLAYED_CUDA_ENGINE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collector_cupti/cupti_abi.h"

#define PLAYED_EXPORT __attribute__((visibility("default")))

namespace played {

namespace abi = wavescope::cupti;

// CLOCK_BOOTTIME, and the GPU's and CUPTI's clock: another zero, and it runs some millionths too fast.
PLAYED_EXPORT uint64_t boot_ns();
PLAYED_EXPORT uint64_t cupti_ns(uint64_t boot);

enum class OpKind { kKernel, kCopy, kFill, kGraph };

struct Size3 {
  int32_t x = 1, y = 1, z = 1;
};

struct Kernel {
  const char* name = "";
  uint16_t registers = 32;
  int32_t static_shared_bytes = 0;
  uint32_t local_bytes = 0;
  uint64_t duration_ns = 2000;
};

struct Op {
  OpKind kind = OpKind::kKernel;
  uint32_t gpu = 0, context = 0, stream = 0;
  uint32_t correlation = 0;
  uint32_t graph = 0;
  uint64_t node = 0;
  uint64_t start_ns = 0, end_ns = 0;  // CLOCK_BOOTTIME
  Kernel kernel;
  Size3 grid, block;
  int32_t dynamic_shared_bytes = 0;
  uint64_t bytes = 0;
  uint32_t value = 0;
  abi::CopyKind copy_kind = abi::CopyKind::kUnknown;
  uint32_t target_gpu = 0;  // of copies between GPUs
};

struct Stream;

struct Context {
  uint32_t gpu = 0, id = 0;
  uint32_t next_stream = 13;
  std::unique_ptr<Stream> null_stream;
};

struct Node {
  uint64_t id = 0;
  abi::GraphNodeType type = abi::GraphNodeType::kKernel;
  Op op;
};

struct Graph {
  uint32_t id = 0;
  std::vector<std::unique_ptr<Node>> nodes;
};

struct Stream {
  Context* context = nullptr;
  uint32_t id = 7;
  uint64_t busy_until_ns = 0;
  std::unique_ptr<Graph> captures;
};

// One call of the program, from its entry to its exit.
struct Call {
  abi::CuptiCallbackDomain domain;
  uint32_t id;
  const char* name;
  const void* parameters;
  int* result;
  const char* symbol = nullptr;
  Context* context = nullptr;
  uint64_t correlation_data = 0;
  uint32_t correlation = 0;
  uint64_t start_ns = 0;
  bool is_nested = false;
};

// What CUPTI's stand-in wants to hear.
struct Tool {
  void (*enter)(Call& call);
  void (*leave)(Call& call);
  void (*resource)(abi::ResourceCallback id, Context* context, Stream* stream, void* descriptor);
  void (*submitted)(const Op& op);
  void (*drain)();  // what names point into is about to be given out again
};

PLAYED_EXPORT void set_tool(const Tool* tool);

// Enters a call when it is made and leaves it when it goes out of scope, with the result that `result` has then.
class PLAYED_EXPORT CallScope {
 public:
  CallScope(abi::CuptiCallbackDomain domain, uint32_t id, const char* name, const void* parameters, int& result,
            const char* symbol = nullptr);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  Call call_;
  const Tool* tool_;
};

// A setting of PLAYED_CUDA, words "name=number" with commas between; `otherwise` where it is not given.
PLAYED_EXPORT uint64_t setting(const char* name, uint64_t otherwise);
// A line in the file that PLAYED_CUDA_COMPLAINTS names: somebody used CUDA or CUPTI as it is not allowed.
PLAYED_EXPORT void complain(const std::string& what);

PLAYED_EXPORT int initialize();  // as cuInit does, once; a CUresult
PLAYED_EXPORT bool is_torn_down();
PLAYED_EXPORT bool has_instantiated();
PLAYED_EXPORT uint32_t gpu_count();
PLAYED_EXPORT Context* primary_context(uint32_t gpu);
PLAYED_EXPORT Context*& current_context();
PLAYED_EXPORT Stream* stream_of(void* handle);  // 0, 1 and 2 stand for the context's own stream
PLAYED_EXPORT Stream* create_stream();
PLAYED_EXPORT void destroy_stream(Stream* stream);

// Puts an op on a stream, or into the graph that the stream captures.
PLAYED_EXPORT void submit(Stream* stream, Op op);
PLAYED_EXPORT void wait_for(uint64_t boot);
PLAYED_EXPORT void wait_for_context(Context* context);
PLAYED_EXPORT uint64_t allocate(uint64_t bytes);

PLAYED_EXPORT int begin_capture(Stream* stream);
PLAYED_EXPORT Graph* end_capture(Stream* stream);
PLAYED_EXPORT Graph* instantiate(const Graph& graph);
PLAYED_EXPORT void launch_graph(const Graph& exec, Stream* stream);
PLAYED_EXPORT void destroy_graph(Graph* graph, bool is_exec);

PLAYED_EXPORT const Tool* tool();

}  // namespace played

#endif
