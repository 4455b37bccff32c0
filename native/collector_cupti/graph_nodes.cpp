#include "collector_cupti/graph_nodes.h"

#include <algorithm>
#include <utility>

namespace wavescope::cupti {
namespace {

// Launches after records went off that CUPTI may still record: it takes a moment.
constexpr uint32_t kUnsureLaunches = 64;

// What the thread is told of between the beginning and the end of an instantiation: the driver makes a copy of the graph
// and of the graphs inside of it.
struct Instantiation {
  static constexpr uint32_t kMostGraphs = 32;

  bool is_open = false;
  CudaGraph built = nullptr;  // by the program
  uint32_t graph_count = 0;   // that have nodes; more than so many children are not looked at
  CudaGraph graphs[kMostGraphs] = {};
  NodeCounts nodes{};

  void add(CudaGraph graph) {
    CudaGraph* const end = graphs + graph_count;
    if (graph_count < kMostGraphs && std::find(graphs, end, graph) == end) graphs[graph_count++] = graph;
  }
};
thread_local Instantiation instantiation __attribute__((tls_model("initial-exec")));

void begin_instantiation(CudaGraph built) {
  instantiation = Instantiation{};
  instantiation.is_open = true;
  instantiation.built = built;
}

void count(NodeCounts& counts, ResourceCallback event, GraphNodeType type, bool inside_copy) {
  NodeCounts::Told& told = event == ResourceCallback::kGraphNodeCloned ? counts.cloned : counts.created;
  ++told.nodes;
  if (type == GraphNodeType::kKernel && !inside_copy) ++told.kernels;
  if (type == GraphNodeType::kGraph) ++told.children;
  if (type == GraphNodeType::kConditional) counts.has_conditional = true;
}

// By the nodes of the copy that was made: right when each graph inside of it was told of, too.
std::optional<uint32_t> kernels_of_copy(const Instantiation& made) {
  if (made.nodes.has_conditional || made.graph_count < 1 + made.nodes.children()) return std::nullopt;
  return made.nodes.kernels();
}

// Mistakes make them too many.
std::optional<uint32_t> fewest(std::optional<uint32_t> one, std::optional<uint32_t> other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

}  // namespace

uint32_t NodeCounts::kernels() const {
  const bool told_twice = created.nodes == cloned.nodes;
  const uint32_t made = told_twice ? std::min(created.kernels, cloned.kernels) : std::max(created.kernels, cloned.kernels);
  return made - std::min(made, destroyed_kernels);
}

std::optional<uint32_t> GraphNodes::Graph::own_kernels() const {
  if (!is_whole || nodes.has_conditional) return std::nullopt;
  const bool is_as_original = original && original->nodes() == nodes.nodes();
  return is_as_original ? std::min(nodes.kernels(), original->kernels()) : nodes.kernels();
}

GraphNodes::Graph* GraphNodes::graph_of(CudaGraph handle) {
  const auto found = graphs_.find(handle);
  if (found != graphs_.end()) return &found->second;
  if (graphs_.size() >= kMostGraphs) return nullptr;
  Graph made;
  made.is_whole = from_the_beginning_;
  return &graphs_.emplace(handle, made).first->second;
}

const GraphNodes::Graph* GraphNodes::find_graph(CudaGraph handle) const {
  const auto found = graphs_.find(handle);
  return found == graphs_.end() ? nullptr : &found->second;
}

void GraphNodes::on_event(ResourceCallback event, const GraphResourceData& data, bool inside_copy) {
  has_any_.store(true, std::memory_order_relaxed);
  const auto id = event == ResourceCallback::kGraphExecCreated ? ask_id(data.graph_exec) : std::nullopt;
  const std::lock_guard<std::mutex> lock(mutex_);
  switch (event) {
    case ResourceCallback::kGraphCreated:
      if (Graph* graph = graph_of(data.graph)) {
        *graph = Graph{};  // the handle may have been another's
        graph->is_whole = true;
      }
      break;
    case ResourceCallback::kGraphCloned:
      if (Graph* graph = graph_of(data.graph)) graph->is_whole = true;
      remember_original(data);
      break;
    case ResourceCallback::kGraphDestroyStarting: graphs_.erase(data.graph); break;
    case ResourceCallback::kGraphNodeCreated:
    case ResourceCallback::kGraphNodeCloned:
    case ResourceCallback::kGraphNodeDestroyStarting: count_node(event, data, inside_copy); break;
    case ResourceCallback::kGraphExecCreateStarting: begin_instantiation(data.graph); break;
    case ResourceCallback::kGraphExecCreated: on_executable(data, id); break;
    case ResourceCallback::kGraphExecDestroyStarting: executables_.erase(data.graph_exec); break;
    default: break;
  }
}

void GraphNodes::remember_original(const GraphResourceData& data) {
  const Graph* original = find_graph(data.original_graph);
  if (original == nullptr || !original->is_whole || data.original_graph == data.graph) return;
  const NodeCounts nodes = original->nodes;
  if (Graph* graph = graph_of(data.graph)) {
    if (!graph->original) graph->original = nodes;
  }
}

void GraphNodes::count_node(ResourceCallback event, const GraphResourceData& data, bool inside_copy) {
  if (event == ResourceCallback::kGraphNodeDestroyStarting) {
    const auto found = graphs_.find(data.graph);
    if (found != graphs_.end() && data.node_type == GraphNodeType::kKernel) ++found->second.nodes.destroyed_kernels;
    return;
  }
  if (Graph* graph = graph_of(data.graph)) count(graph->nodes, event, data.node_type, inside_copy);
  if (event == ResourceCallback::kGraphNodeCloned) remember_original(data);
  if (!instantiation.is_open) return;
  count(instantiation.nodes, event, data.node_type, inside_copy);
  instantiation.add(data.graph);
}

// By the graph that the program built, by the one that the executable is said to be of, and by what was told of the copy.
void GraphNodes::on_executable(const GraphResourceData& data, std::optional<uint32_t> id) {
  const Graph* built = find_graph(instantiation.is_open ? instantiation.built : nullptr);
  const Graph* named = find_graph(data.graph);
  const Instantiation made = std::exchange(instantiation, Instantiation{});
  std::optional<uint32_t> kernels;
  bool is_known = true, has_children = made.nodes.children() != 0;
  for (const Graph* graph : {built, named}) {
    if (graph == nullptr) continue;
    if (graph->nodes.has_conditional) is_known = false;
    if (graph->nodes.children() != 0) has_children = true;
    kernels = fewest(kernels, graph->own_kernels());
  }
  const bool copy_is_told = made.nodes.nodes() != 0;
  if (has_children) kernels = copy_is_told && made.nodes.children() != 0 ? kernels_of_copy(made) : std::nullopt;
  else if (copy_is_told && (!kernels || built == nullptr || built->nodes.nodes() == made.nodes.nodes())) {
    kernels = fewest(kernels, kernels_of_copy(made));
  }
  if (made.nodes.has_conditional || !is_known) kernels = std::nullopt;
  if (executables_.size() >= kMostGraphs && executables_.count(data.graph_exec) == 0) return;
  executables_[data.graph_exec] = Executable{kernels, id, listening_};
}

std::optional<uint32_t> GraphNodes::ask_id(CudaGraphExec executable) const {
  uint32_t id = 0;
  if (id_of_ == nullptr || id_of_(executable, &id) != CuptiResult::kSuccess) return std::nullopt;
  return id;
}

std::optional<uint32_t> GraphNodes::kernels_of(CudaGraphExec executable) {
  has_any_.store(true, std::memory_order_relaxed);
  std::unique_lock<std::mutex> lock(mutex_);
  auto found = executables_.find(executable);
  if (found == executables_.end()) return std::nullopt;
  if (__builtin_expect(found->second.listening == listening_, 1)) return found->second.kernels;
  lock.unlock();
  const auto id = ask_id(executable);
  lock.lock();
  found = executables_.find(executable);
  if (found == executables_.end()) return std::nullopt;
  if (!id || found->second.id != id) {
    executables_.erase(found);
    return std::nullopt;
  }
  found->second.listening = listening_;
  return found->second.kernels;
}

GraphNodes::Overwritten GraphNodes::on_launch(CudaGraphExec executable, uint32_t correlation, bool is_off) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = replays_.find(executable);
  if (!is_off) {
    if (found != replays_.end()) found->second = Replays{correlation, 0};
    else if (replays_.size() < kMostGraphs) replays_.emplace(executable, Replays{correlation, 0});
    return {};
  }
  if (found == replays_.end() || found->second.launches_off >= kUnsureLaunches) return {};
  ++found->second.launches_off;
  return {std::exchange(found->second.recorded, 0), correlation};
}

void GraphNodes::on_node_enabled(CudaGraphExec executable) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = executables_.find(executable);
  if (found != executables_.end()) found->second.kernels = std::nullopt;
}

void GraphNodes::begin_anew() {
  const std::lock_guard<std::mutex> lock(mutex_);
  from_the_beginning_ = false;
  ++listening_;
  graphs_.clear();
}

}  // namespace wavescope::cupti
