// How many kernels a launch of each executable graph runs, by what CUPTI tells of graphs while the program builds them.
//
// Not known are: executables that were made while nobody listened, conditional nodes, whose graphs run as often as the GPU
// decides, nodes that were turned off, and child graphs of which CUPTI did not tell when the executable was made.
// Executables outlive a time in which nobody listens, and so do their counts, if CUPTI's ids tell that a handle is not by
// now another's; nodes that were turned off in that time are not noticed.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_GRAPH_NODES_H
#define WAVESCOPE_COLLECTOR_CUPTI_GRAPH_NODES_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "collector_cupti/cupti_abi.h"

namespace wavescope::cupti {

// Nodes that CUPTI told of, of one graph or during one instantiation. A node that is cloned is told of as created, too, as
// cloned, or as both. What is not yet known of a node when it is told of reads as a kernel.
struct NodeCounts {
  struct Told {
    uint32_t nodes = 0;
    uint32_t kernels = 0;
    uint32_t children = 0;  // nodes that are graphs themselves
  };

  Told created;
  Told cloned;
  uint32_t destroyed_kernels = 0;
  bool has_conditional = false;

  uint32_t nodes() const { return created.nodes > cloned.nodes ? created.nodes : cloned.nodes; }
  uint32_t kernels() const;
  uint32_t children() const { return created.children > cloned.children ? created.children : cloned.children; }
};

class GraphNodes {
 public:
  static constexpr std::size_t kMostGraphs = 1u << 16;  // and as many executables
  using IdFunction = CuptiResult (*)(void* executable, uint32_t* id);

  // Which id an executable has, which no other one had; null where CUPTI cannot tell.
  explicit GraphNodes(IdFunction id_of = nullptr) : id_of_(id_of) {}

  // What CUPTI tells of graphs, on the thread that does it; `inside_copy`: while that captures a copy or fill.
  void on_event(ResourceCallback event, const GraphResourceData& data, bool inside_copy);

  // Whether the program ever had a graph, as far as anybody listened.
  bool has_any() const { return has_any_.load(std::memory_order_relaxed); }

  // The kernels that a launch runs; none when that is not known.
  std::optional<uint32_t> kernels_of(CudaGraphExec executable);

  // A launch of the executable while records are on or off; the launches that have no times of their own because of it, 0
  // for none. The first ones after records went off may still be recorded.
  struct Overwritten {
    uint32_t before = 0;
    uint32_t itself = 0;
  };
  Overwritten on_launch(CudaGraphExec executable, uint32_t correlation, bool is_off);

  // A node of the executable was turned on or off.
  void on_node_enabled(CudaGraphExec executable);

  // Nobody listened for a while: handles may be those of others by now, and graphs may have other nodes.
  void begin_anew();

 private:
  struct Graph {
    NodeCounts nodes;
    bool is_whole = false;                  // known from its beginning
    std::optional<NodeCounts> original{};  // of the graph that it is a clone of, when it became one

    // Kernels in it, but not in its children; none when that is not known.
    std::optional<uint32_t> own_kernels() const;
  };

  struct Executable {
    std::optional<uint32_t> kernels;  // none when that is not known
    std::optional<uint32_t> id;
    uint32_t listening;  // the time of listening in which the handle was known to be its
  };

  struct Replays {
    uint32_t recorded = 0;  // the newest launch, if records were on
    uint32_t launches_off = 0;  // since they are off
  };

  std::optional<uint32_t> ask_id(CudaGraphExec executable) const;
  void count_node(ResourceCallback event, const GraphResourceData& data, bool inside_copy);
  void remember_original(const GraphResourceData& data);
  void on_executable(const GraphResourceData& data, std::optional<uint32_t> id);
  Graph* graph_of(CudaGraph handle);
  const Graph* find_graph(CudaGraph handle) const;

  const IdFunction id_of_;  // takes CUPTI's locks, within which CUPTI may wait for ours: never called under it
  std::mutex mutex_;
  std::atomic<bool> has_any_{false};
  uint32_t listening_ = 0;
  bool from_the_beginning_ = true;  // no graph can be older than this
  std::unordered_map<CudaGraph, Graph> graphs_;
  std::unordered_map<CudaGraphExec, Executable> executables_;
  std::unordered_map<CudaGraphExec, Replays> replays_;  // of those that were launched while records were on
};

}  // namespace wavescope::cupti

#endif
