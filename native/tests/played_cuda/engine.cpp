#include "engine.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

namespace played {
namespace {

constexpr uint64_t kClockOffsetNs = 1'700'000'000'000'000'000;
constexpr uint64_t kClockFastPpm = 37;
constexpr uint64_t kLaunchNs = 1500;  // from the call to the op's begin on an idle stream
constexpr uint32_t kMostGpus = 8;

std::atomic<const Tool*> the_tool{nullptr};
std::atomic<bool> torn_down{false};
std::atomic<bool> instantiated{false};
thread_local Call* outermost = nullptr;
thread_local Context* current = nullptr;

struct Machine {
  std::mutex mutex;
  std::array<std::unique_ptr<Context>, kMostGpus> primary;
  std::set<Stream*> streams;
  uint64_t next_address = 0x7f0000000000;
  uint32_t next_context = 1, next_graph = 1;
  uint64_t next_node = 1;
};

// Never destroyed: threads of CUPTI and the program's exit handlers use it until the very end.
Machine& machine() {
  static Machine& one = *new Machine;
  return one;
}

int open_log(const char* variable) {
  const char* path = std::getenv(variable);
  if (path == nullptr) return -1;
  std::string name(path);
  const auto place = name.find("%p");
  if (place != std::string::npos) name.replace(place, 2, std::to_string(getpid()));
  return open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

std::atomic<int> truth_file{-2};
std::atomic<int> complaints_file{-2};

void write_line(std::atomic<int>& file, const char* variable, const std::string& line) {
  if (file == -2) file = open_log(variable);
  if (file >= 0 && write(file, line.data(), line.size()) < 0) file = -1;
}

void in_child() {
  truth_file = complaints_file = -2;
  the_tool = nullptr;
}

const char* name_of(OpKind kind) {
  static const char* const names[] = {"kernel", "copy", "fill", "graph"};
  return names[static_cast<int>(kind)];
}

void write_truth(const Op& op) {
  char line[2048];
  const int bytes = std::snprintf(line, sizeof line, "%s,%u,%u,%u,%u,%u,%llu,%llu,%llu,%d,%d,%d,%d,%d,%d,%llu,%ld,%d,%s\n",
                                  name_of(op.kind), op.gpu, op.context, op.stream, op.correlation, op.graph,
                                  static_cast<unsigned long long>(op.node), static_cast<unsigned long long>(op.start_ns),
                                  static_cast<unsigned long long>(op.end_ns), op.grid.x, op.grid.y, op.grid.z, op.block.x,
                                  op.block.y, op.block.z, static_cast<unsigned long long>(op.bytes), syscall(SYS_gettid),
                                  static_cast<int>(op.copy_kind), op.kernel.name);
  write_line(truth_file, "PLAYED_CUDA_TRUTH", std::string(line, std::min<std::size_t>(bytes, sizeof line - 1)));
}

template <typename Function, typename... Arguments>
void tell(Function Tool::* function, Arguments&&... arguments) {
  const Tool* tool = the_tool;
  if (tool != nullptr) (tool->*function)(arguments...);
}

void tell_graph(abi::ResourceCallback id, abi::GraphResourceData data) {
  tell(&Tool::resource, id, current, nullptr, &data);
}

// As the driver does: the library is loaded by its path and asked to begin, whatever it answers. A test that has the
// collector in itself says "linked".
void inject() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == 0) return;
  void* library = dlopen(std::strcmp(path, "linked") == 0 ? nullptr : path, RTLD_NOW);
  if (library == nullptr) return;
  auto* begin = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (begin != nullptr) begin();
}

}  // namespace

uint64_t boot_ns() {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t cupti_ns(uint64_t boot) { return kClockOffsetNs + boot + boot / 1'000'000 * kClockFastPpm; }

void set_tool(const Tool* tool) { the_tool = tool; }
const Tool* tool() { return the_tool; }

CallScope::CallScope(abi::CuptiCallbackDomain domain, uint32_t id, const char* name, const void* parameters, int& result,
                     const char* symbol)
    : call_{domain, id, name, parameters, &result, symbol, current}, tool_(the_tool) {
  call_.start_ns = boot_ns();
  call_.is_nested = outermost != nullptr;
  if (call_.is_nested) call_.correlation = outermost->correlation;
  if (tool_ != nullptr) tool_->enter(call_);
  if (!call_.is_nested) outermost = &call_;
  if (outermost->correlation == 0) outermost->correlation = call_.correlation;
}

CallScope::~CallScope() {
  // Who began to listen meanwhile hears of no end whose begin it did not hear.
  if (tool_ != nullptr && tool_ == the_tool) tool_->leave(call_);
  if (!call_.is_nested) outermost = nullptr;
}

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* at = std::getenv("PLAYED_CUDA");
  const std::string wanted = std::string(name) + "=";
  while (at != nullptr && *at != 0) {
    if (std::strncmp(at, wanted.c_str(), wanted.size()) == 0) return std::strtoull(at + wanted.size(), nullptr, 10);
    at = std::strchr(at, ',');
    if (at != nullptr) ++at;
  }
  return otherwise;
}

void complain(const std::string& what) { write_line(complaints_file, "PLAYED_CUDA_COMPLAINTS", what + "\n"); }

int initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, in_child);
    inject();
    if (setting("torn_down", 0) != 0) std::atexit([] { torn_down = true; });
  });
  return torn_down ? 4 : 0;
}

bool is_torn_down() { return torn_down; }

bool has_instantiated() { return instantiated; }

uint32_t gpu_count() { return static_cast<uint32_t>(std::min<uint64_t>(setting("gpus", 1), kMostGpus)); }

Context* primary_context(uint32_t gpu) {
  Context* made = nullptr;
  Context* found = nullptr;
  {
    const std::lock_guard<std::mutex> lock(machine().mutex);
    auto& place = machine().primary[gpu];
    if (place == nullptr) {
      place = std::make_unique<Context>();
      made = place.get();
      made->gpu = gpu;
      made->id = machine().next_context++;
      made->null_stream = std::make_unique<Stream>();
      made->null_stream->context = made;
      machine().streams.insert(made->null_stream.get());
    }
    found = place.get();
  }
  if (made != nullptr) tell(&Tool::resource, abi::ResourceCallback::kContextCreated, made, nullptr, nullptr);
  return found;
}

Context*& current_context() { return current; }

Stream* stream_of(void* handle) {
  if (current == nullptr) current = primary_context(0);
  return reinterpret_cast<uintptr_t>(handle) <= 2 ? current->null_stream.get() : static_cast<Stream*>(handle);
}

Stream* create_stream() {
  auto* stream = new Stream;
  stream->context = stream_of(nullptr)->context;
  {
    const std::lock_guard<std::mutex> lock(machine().mutex);
    stream->id = stream->context->next_stream++;
    machine().streams.insert(stream);
  }
  tell(&Tool::resource, abi::ResourceCallback::kStreamCreated, stream->context, stream, nullptr);
  return stream;
}

void destroy_stream(Stream* stream) {
  tell(&Tool::resource, abi::ResourceCallback::kStreamDestroyStarting, stream->context, stream, nullptr);
  const std::lock_guard<std::mutex> lock(machine().mutex);
  machine().streams.erase(stream);
  delete stream;
}

namespace {

uint64_t duration_of(const Op& op) {
  if (op.kind == OpKind::kKernel) return op.kernel.duration_ns;
  return 1000 + op.bytes / 20;  // 20 GB/s
}

// The op's place in time, after all that is on the stream.
void run(Stream* stream, Op& op) {
  {
    const std::lock_guard<std::mutex> lock(machine().mutex);
    op.gpu = stream->context->gpu;
    op.context = stream->context->id;
    op.stream = stream->id;
    op.start_ns = std::max(boot_ns() + kLaunchNs, stream->busy_until_ns + 300);
    op.end_ns = op.start_ns + duration_of(op);
    stream->busy_until_ns = op.end_ns;
  }
  op.correlation = outermost == nullptr ? 0 : outermost->correlation;
  write_truth(op);
  tell(&Tool::submitted, op);
}

// As on an H200: a copy on the GPU is a node with a kernel, whose record is nevertheless one of a copy.
abi::GraphNodeType node_type_of(const Op& op) {
  if (op.kind == OpKind::kCopy && op.copy_kind != abi::CopyKind::kDeviceToDevice) return abi::GraphNodeType::kMemcpy;
  return op.kind == OpKind::kFill ? abi::GraphNodeType::kMemset : abi::GraphNodeType::kKernel;
}

}  // namespace

void submit(Stream* stream, Op op) {
  if (stream->captures == nullptr) {
    run(stream, op);
    return;
  }
  Graph& graph = *stream->captures;
  abi::GraphResourceData data{};  // as on an H200, a node's type is always told as that of a kernel
  data.graph = &graph;
  tell_graph(abi::ResourceCallback::kGraphNodeCreateStarting, data);
  auto node = std::make_unique<Node>();
  {
    const std::lock_guard<std::mutex> lock(machine().mutex);
    node->id = machine().next_node++;
  }
  node->type = node_type_of(op);
  node->op = op;
  data.node = node.get();
  graph.nodes.push_back(std::move(node));
  tell_graph(abi::ResourceCallback::kGraphNodeCreated, data);
}

void wait_for(uint64_t boot) {
  const timespec until{static_cast<time_t>(boot / 1'000'000'000), static_cast<long>(boot % 1'000'000'000)};
  while (boot_ns() < boot) clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &until, nullptr);
}

void wait_for_context(Context* context) {
  uint64_t until = 0;
  {
    const std::lock_guard<std::mutex> lock(machine().mutex);
    for (const Stream* stream : machine().streams) {
      if (stream->context == context) until = std::max(until, stream->busy_until_ns);
    }
  }
  wait_for(until);
}

uint64_t allocate(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(machine().mutex);
  const uint64_t address = machine().next_address;
  machine().next_address += (bytes + 511) / 512 * 512;
  return address;
}

int begin_capture(Stream* stream) {
  if (stream->captures != nullptr) return 901;  // CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
  stream->captures = std::make_unique<Graph>();
  {
    const std::lock_guard<std::mutex> lock(machine().mutex);
    stream->captures->id = machine().next_graph++;
  }
  abi::GraphResourceData data{};
  data.graph = stream->captures.get();
  tell_graph(abi::ResourceCallback::kGraphCreated, data);
  return 0;
}

Graph* end_capture(Stream* stream) { return stream->captures.release(); }

// As NVIDIA's driver does, the executable graph is a copy with nodes of its own, which CUPTI tells twice: as created and as
// cloned.
Graph* instantiate(const Graph& graph) {
  instantiated = true;
  auto* exec = new Graph;
  {
    const std::lock_guard<std::mutex> lock(machine().mutex);
    exec->id = machine().next_graph++;
  }
  abi::GraphResourceData data{};
  data.graph = const_cast<Graph*>(&graph);
  tell_graph(abi::ResourceCallback::kGraphExecCreateStarting, data);
  for (const auto& original : graph.nodes) {
    auto node = std::make_unique<Node>(*original);
    {
      const std::lock_guard<std::mutex> lock(machine().mutex);
      node->id = machine().next_node++;
    }
    abi::GraphResourceData cloned{};
    cloned.graph = exec;
    cloned.node = node.get();
    exec->nodes.push_back(std::move(node));
    tell_graph(abi::ResourceCallback::kGraphNodeCreated, cloned);
    cloned.node_type = original->type;
    cloned.original_graph = const_cast<Graph*>(&graph);
    cloned.original_node = original.get();
    tell_graph(abi::ResourceCallback::kGraphNodeCloned, cloned);
  }
  data.graph_exec = exec;
  tell_graph(abi::ResourceCallback::kGraphExecCreated, data);
  return exec;
}

void launch_graph(const Graph& exec, Stream* stream) {
  Op whole;
  whole.kind = OpKind::kGraph;
  whole.graph = exec.id;
  for (const auto& node : exec.nodes) {
    Op op = node->op;
    op.graph = exec.id;
    op.node = node->id;
    run(stream, op);
    if (whole.start_ns == 0) whole.start_ns = op.start_ns;
    whole.end_ns = op.end_ns;
    whole.gpu = op.gpu;
    whole.context = op.context;
    whole.stream = op.stream;
    whole.correlation = op.correlation;
  }
  if (exec.nodes.empty()) return;
  write_truth(whole);
  tell(&Tool::submitted, whole);
}

void destroy_graph(Graph* graph, bool is_exec) {
  abi::GraphResourceData data{};
  if (is_exec) {
    data.graph_exec = graph;
    tell_graph(abi::ResourceCallback::kGraphExecDestroyStarting, data);
  } else {
    data.graph = graph;
    tell_graph(abi::ResourceCallback::kGraphDestroyStarting, data);
  }
  delete graph;
}

}  // namespace played
