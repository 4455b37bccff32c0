// Kernels of CUDA graphs, counted by what CUPTI tells of their nodes, and what is done where that does not tell.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "check.h"
#include "told_graphs.h"

namespace {

using namespace played;

// Ids of executables as CUPTI gives them out: those of handles that are not here are not known to it.
std::map<void*, uint32_t> executable_ids;
int id_questions = 0;

CuptiResult executable_id(void* executable, uint32_t* id) {
  ++id_questions;
  const auto found = executable_ids.find(executable);
  if (found == executable_ids.end()) return CuptiResult::kInvalidParameter;
  *id = found->second;
  return CuptiResult::kSuccess;
}

struct Nodes : GraphNodes {
  explicit Nodes(IdFunction id_of = nullptr) : GraphNodes(id_of) {}

  const Driver driver{[this](Event event, const GraphResourceData& data) { on_event(event, data, inside_copy); }};
  bool inside_copy = false;
  std::optional<uint32_t> kernels(uint64_t executable) { return kernels_of(handle(executable)); }
};

void kernel_nodes_count() {
  Nodes nodes;
  nodes.driver.create(1);
  nodes.driver.kernels(1, 5);
  for (const GraphNodeType type : {GraphNodeType::kMemcpy, GraphNodeType::kMemset, GraphNodeType::kHost,
                                   GraphNodeType::kEmpty, GraphNodeType::kEventRecord}) {
    nodes.driver.node(1, type);
  }
  nodes.driver.node(1, GraphNodeType::kKernel, Event::kGraphNodeDestroyStarting);
  nodes.driver.node(1, GraphNodeType::kMemcpy, Event::kGraphNodeDestroyStarting);
  nodes.driver.instantiate(1, 100);
  CHECK(nodes.kernels(100) == 4);
  nodes.driver.kernels(1, 2);  // later ones are not in the executable
  CHECK(nodes.kernels(100) == 4);
  nodes.driver.instantiate(1, 101);
  CHECK(nodes.kernels(101) == 6 && nodes.kernels(102) == std::nullopt);
}

// A graph without kernels is known to have none.
void graphs_of_copies_have_no_kernels() {
  Nodes nodes;
  nodes.driver.create(1);
  nodes.driver.node(1, GraphNodeType::kMemcpy);
  nodes.driver.instantiate(1, 100);
  CHECK(nodes.kernels(100) == 0);
}

void clones_are_counted_once() {
  Nodes nodes;
  nodes.driver.create(2);
  nodes.driver.kernels(2, 3);
  nodes.driver.kernels(2, 3, Event::kGraphNodeCloned);
  nodes.driver.tell(Event::kGraphCloned, graph_data(2));
  nodes.driver.kernels(2, 1);
  nodes.driver.instantiate(2, 100);
  CHECK(nodes.kernels(100) == 4);
}

// The copy that an instantiation makes is told of, too, and the executable is said to be of the copy.
void copies_of_instantiations_count_for_themselves() {
  Nodes nodes;
  nodes.driver.create(1);
  nodes.driver.kernels(1, 3);
  nodes.driver.begin(1);
  nodes.driver.create(9);
  nodes.driver.kernels(9, 3);
  nodes.driver.kernels(9, 3, Event::kGraphNodeCloned);
  nodes.driver.end(9, 100);
  CHECK(nodes.kernels(100) == 3);
}

// What a node is may not be known yet when it is told of, and reads as a kernel then. Whichever event knows it is believed.
void unknown_types_are_not_kernels() {
  const auto kernels_by = [](GraphNodeType built, GraphNodeType created, GraphNodeType cloned, bool names_copy) {
    Nodes nodes;
    nodes.driver.create(1);
    nodes.driver.kernels(1, 5);
    nodes.driver.node(1, built);
    nodes.driver.begin(1);
    nodes.driver.create(9);
    GraphResourceData clone = graph_data(9);
    clone.original_graph = handle(1);
    nodes.driver.tell(Event::kGraphCloned, clone);
    nodes.driver.kernels(9, 5);
    nodes.driver.node(9, created);
    nodes.driver.kernels(9, 5, Event::kGraphNodeCloned);
    nodes.driver.node(9, cloned, Event::kGraphNodeCloned);
    nodes.driver.end(names_copy ? 9 : 1, 100);
    return nodes.kernels(100);
  };
  for (const bool names_copy : {false, true}) {
    CHECK(kernels_by(GraphNodeType::kMemcpy, GraphNodeType::kKernel, GraphNodeType::kKernel, names_copy) == 5);
    CHECK(kernels_by(GraphNodeType::kKernel, GraphNodeType::kMemcpy, GraphNodeType::kKernel, names_copy) == 5);
    CHECK(kernels_by(GraphNodeType::kKernel, GraphNodeType::kKernel, GraphNodeType::kMemset, names_copy) == 5);
    CHECK(kernels_by(GraphNodeType::kKernel, GraphNodeType::kKernel, GraphNodeType::kKernel, names_copy) == 6);
  }
}

void captured_copies_are_no_kernels() {
  Nodes nodes;
  nodes.driver.create(1);
  nodes.driver.kernels(1, 5);
  nodes.inside_copy = true;
  nodes.driver.kernels(1, 2);
  nodes.inside_copy = false;
  // The driver tells of its copy, too, and of nothing what it is.
  nodes.driver.begin(0);
  GraphResourceData clone = graph_data(9);
  clone.original_graph = handle(1);
  nodes.driver.tell(Event::kGraphCloned, clone);
  nodes.driver.kernels(9, 7);
  nodes.driver.kernels(9, 7, Event::kGraphNodeCloned);
  nodes.driver.end(9, 100);
  CHECK(nodes.kernels(100) == 5);
}

void child_graphs_count_when_told_of() {
  Nodes nodes;
  nodes.driver.create(1);
  nodes.driver.kernels(1, 2);
  nodes.driver.node(1, GraphNodeType::kGraph);
  nodes.driver.instantiate(1, 100);  // nothing is told of the child's nodes
  CHECK(nodes.kernels(100) == std::nullopt);

  const auto instantiate_copy = [&](uint64_t executable, bool with_child) {
    nodes.driver.begin(1);
    nodes.driver.kernels(9, 2);
    nodes.driver.node(9, GraphNodeType::kGraph);
    if (with_child) nodes.driver.kernels(10, 7);
    nodes.driver.end(1, executable);
  };
  instantiate_copy(101, true);
  CHECK(nodes.kernels(101) == 9);
  instantiate_copy(102, false);
  CHECK(nodes.kernels(102) == std::nullopt);
}

void conditional_graphs_are_not_known() {
  Nodes nodes;
  nodes.driver.create(1);
  nodes.driver.kernels(1, 2);
  nodes.driver.node(1, GraphNodeType::kConditional);
  nodes.driver.instantiate(1, 100);
  CHECK(nodes.kernels(100) == std::nullopt);
  nodes.driver.begin(1);
  nodes.driver.kernels(9, 2);
  nodes.driver.end(1, 101);
  CHECK(nodes.kernels(101) == std::nullopt);
}

void handles_are_given_out_again() {
  Nodes nodes;
  nodes.driver.create(1);
  nodes.driver.kernels(1, 2);
  nodes.driver.instantiate(1, 100);
  nodes.driver.tell(Event::kGraphExecDestroyStarting, graph_data(0, 100));
  CHECK(nodes.kernels(100) == std::nullopt);
  nodes.driver.tell(Event::kGraphDestroyStarting, graph_data(1));
  nodes.driver.create(1);
  nodes.driver.kernels(1, 1);
  nodes.driver.instantiate(1, 100);
  CHECK(nodes.kernels(100) == 1);
  nodes.driver.create(1);  // its end was not told of
  nodes.driver.kernels(1, 3);
  nodes.driver.instantiate(1, 100);
  CHECK(nodes.kernels(100) == 3);
}

void what_was_made_meanwhile_is_not_known() {
  Nodes nodes;
  nodes.driver.kernels(1, 2);  // a graph can be no older than CUDA's first call
  nodes.driver.instantiate(1, 100);
  CHECK(nodes.kernels(100) == 2);
  nodes.begin_anew();
  CHECK(nodes.kernels(100) == std::nullopt);
  nodes.driver.kernels(1, 1);  // has two more, of before
  nodes.driver.instantiate(1, 101);
  CHECK(nodes.kernels(101) == std::nullopt);
  nodes.driver.create(2);
  nodes.driver.kernels(2, 4);
  nodes.driver.instantiate(2, 102);
  CHECK(nodes.kernels(102) == 4);
}

// 100 stays, 101 is gone and its handle another's, 102 is gone, 103 had no id.
void executables_outlive_a_time_without_a_listener() {
  Nodes nodes(executable_id);
  executable_ids = {{handle(100), 7}, {handle(101), 8}, {handle(102), 9}};
  nodes.driver.create(1);
  nodes.driver.kernels(1, 5);
  for (const uint64_t executable : {100, 101, 102, 103}) nodes.driver.instantiate(1, executable);
  CHECK(nodes.kernels(100) == 5 && nodes.kernels(103) == 5);
  nodes.begin_anew();
  executable_ids = {{handle(100), 7}, {handle(101), 10}, {handle(103), 11}};
  id_questions = 0;
  CHECK(nodes.kernels(100) == 5 && nodes.kernels(100) == 5 && id_questions == 1);
  for (const uint64_t executable : {101, 102, 103}) CHECK(nodes.kernels(executable) == std::nullopt);
  executable_ids[handle(101)] = 8;
  CHECK(nodes.kernels(101) == std::nullopt);  // it was found out
  nodes.driver.create(2);
  nodes.driver.kernels(2, 3);
  nodes.driver.instantiate(2, 101);
  CHECK(nodes.kernels(101) == 3);
  nodes.on_node_enabled(handle(100));
  nodes.begin_anew();
  CHECK(nodes.kernels(100) == std::nullopt && nodes.kernels(101) == 3);
}

void memory_is_bounded() {
  Nodes nodes;
  for (uint64_t number = 1; number <= GraphNodes::kMostGraphs + 1; ++number) {
    nodes.driver.kernels(number, 1);
    nodes.driver.instantiate(number, number);
  }
  CHECK(nodes.kernels(GraphNodes::kMostGraphs) == 1 && nodes.kernels(GraphNodes::kMostGraphs + 1) == std::nullopt);
}

}  // namespace

int main() {
  const RecordedSession recorded("standard");
  CHECK(Session::current() != nullptr);
  kernel_nodes_count();
  graphs_of_copies_have_no_kernels();
  clones_are_counted_once();
  unknown_types_are_not_kernels();
  captured_copies_are_no_kernels();
  copies_of_instantiations_count_for_themselves();
  child_graphs_count_when_told_of();
  conditional_graphs_are_not_known();
  handles_are_given_out_again();
  what_was_made_meanwhile_is_not_known();
  executables_outlive_a_time_without_a_listener();
  memory_is_bounded();
  return 0;
}
