"""Which captured launch each op of a graph replay comes from: by the id of its graph node.

Some recorders write into each op the graph and the node that it is a replay of. A trace that shows
a capture and a replay of it then tells which launch a node stands for, and all replays of the same
graph in another trace of that program can be joined one op at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.analyze.operators.attribution import (
    NOTHING,
    LaunchSource,
    Numbers,
    OpLaunches,
    op_launches,
)
from wavescope.analyze.operators.graph_captures import captured_launches
from wavescope.model.trace import Trace

_Node = tuple[int, int, str]
"""Graph, node, and the name of the kernel that it runs."""


def launches_of_nodes(
    trace: Trace, launches: OpLaunches, captures: Sequence[Trace]
) -> list[LaunchSource]:
    """For ops of graph launches the call in a capture that their node stands for."""
    ops = np.flatnonzero(launches.is_replayed & (trace.ops["graph_node"] >= 0))
    if not len(ops):
        return []
    nodes = _nodes(trace, ops)
    sources = []
    for capture in captures:
        known = _known_nodes(capture)
        call_of_op = np.full(len(trace.ops), NOTHING, np.int64)
        call_of_op[ops] = [known.get(node, NOTHING) for node in nodes]
        if (call_of_op >= 0).any():
            sources.append(LaunchSource(capture, call_of_op))
    return sources


def _known_nodes(capture: Trace) -> dict[_Node, int]:
    """The call that each node of the graphs that a trace captures and replays stands for."""
    if not len(capture.ops) or not len(capture.calls):
        return {}
    known: dict[_Node, int] = {}
    for source in captured_launches(capture, op_launches(capture), ()):
        has_node = capture.ops["graph_node"] >= 0
        ops = np.flatnonzero((source.call_of_op >= 0) & has_node)
        for node, call in zip(_nodes(capture, ops), source.call_of_op[ops].tolist(), strict=True):
            # A node that stands for two launches is not understood.
            known[node] = call if known.get(node, call) == call else NOTHING
    return known


def _nodes(trace: Trace, ops: Numbers) -> list[_Node]:
    return [
        (graph, node, trace.strings[name])
        for graph, node, name in zip(
            *(trace.ops[column][ops].tolist() for column in ("graph", "graph_node", "name")),
            strict=True,
        )
    ]
