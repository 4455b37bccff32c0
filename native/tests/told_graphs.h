// Graphs and executables, made as CUDA's driver tells of them.
#ifndef WAVESCOPE_TESTS_TOLD_GRAPHS_H
#define WAVESCOPE_TESTS_TOLD_GRAPHS_H

#include <functional>

#include "played_cupti_calls.h"

namespace played {

using Event = ResourceCallback;

inline void* handle(uint64_t number) { return reinterpret_cast<void*>(number * 16); }

inline GraphResourceData graph_data(uint64_t graph, uint64_t executable = 0) {
  GraphResourceData data{};
  data.graph = handle(graph);
  data.graph_exec = handle(executable);
  return data;
}

// Makes graphs and executables of them as the driver tells of it. What it tells at an instantiation is not documented: of
// the graph that the program built only, or also of the copy that it makes.
struct Driver {
  template <typename Target>
  explicit Driver(Target tell_target) : tell(tell_target) {}

  void create(uint64_t graph) const { tell(Event::kGraphCreated, graph_data(graph)); }
  void node(uint64_t graph, GraphNodeType type, Event event = Event::kGraphNodeCreated) const {
    GraphResourceData data = graph_data(graph);
    data.node_type = type;
    tell(event, data);
  }
  void kernels(uint64_t graph, int count, Event event = Event::kGraphNodeCreated) const {
    for (int i = 0; i < count; ++i) node(graph, GraphNodeType::kKernel, event);
  }
  void begin(uint64_t graph) const { tell(Event::kGraphExecCreateStarting, graph_data(graph)); }
  void end(uint64_t graph, uint64_t executable) const { tell(Event::kGraphExecCreated, graph_data(graph, executable)); }
  void instantiate(uint64_t graph, uint64_t executable) const {
    begin(graph);
    end(graph, executable);
  }

  std::function<void(Event, GraphResourceData)> tell;
};

}  // namespace played

#endif
