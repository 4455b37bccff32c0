"""GPU time by stack: for every op the calls around the one that launched it, then its name.

A launch of the backward pass lies in the Python functions and modules around its forward operator;
an op of a graph's replay has the stack with which it was captured, where that is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.analyze.calls.forward_calls import stack_parents
from wavescope.analyze.calls.outermost import with_all_calls
from wavescope.analyze.flame.paths import (
    ROOT,
    FrameNames,
    Numbers,
    Paths,
    nodes_of_frames,
    with_parents,
)
from wavescope.analyze.flame.tree import FlameTree, added_up
from wavescope.analyze.operators import (
    NOT_RECORDED,
    SEVERAL,
    frame_text,
    joined_launches,
    recorded_modules,
)
from wavescope.analyze.ops.op_labels import op_labels
from wavescope.analyze.summary import OpChoice, listed_rows
from wavescope.arrays.coded_columns import distinct
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import short_name

_UNKNOWN = -1


def gpu_tree(
    trace: Trace, captures: Sequence[Trace] = (), named: FrameNames = frame_text
) -> FlameTree:
    """The durations of all ops that work, as the table of kernels counts them, by stack."""
    paths = Paths()
    listed = listed_rows(trace, OpChoice.ALL)
    rows = np.arange(len(trace.ops)) if listed is None else listed
    if not len(rows):
        nothing = np.empty(0, np.int64)
        return added_up(paths, nothing, nothing)
    whole = with_all_calls(trace)
    launches = joined_launches(whole, captures).of_ops(rows)
    around = np.full(len(rows), _UNKNOWN, np.int64)
    for source in launches.sources:
        launched = np.flatnonzero(source.call_of_op >= 0)
        if not len(launched):
            continue
        found = _launch_nodes(paths, source.trace, source.call_of_op[launched], named)
        known = around[launched]
        differs = (known != _UNKNOWN) & (known != found)
        if differs.any():
            found[differs] = paths.node(SEVERAL)
        around[launched] = found
    if (around == _UNKNOWN).any():
        around[around == _UNKNOWN] = paths.node(NOT_RECORDED)
    labels = op_labels(trace, trace.ops.take(rows))
    names = paths.numbered(short_name(text) for text in labels.texts)
    nodes = paths.below(around, labels.for_each_op(names))
    return added_up(paths, nodes, trace.op_length_ns[rows])


def _launch_nodes(paths: Paths, trace: Trace, calls: Numbers, named: FrameNames) -> Numbers:
    """The node of each of some calls that launch ops."""
    launches, launch_of = np.unique(calls, return_inverse=True)
    parent = stack_parents(trace)
    codes, code_of_call = distinct(trace.calls["name"])
    names = paths.numbered(named(trace.strings[code]) for code in codes)
    modules = recorded_modules(trace, launches)
    nodes = np.empty(len(launches), np.int64)
    for code in np.unique(modules.code).tolist():
        root = paths.node(*modules.labels[code]) if code >= 0 else ROOT
        mine = np.flatnonzero(modules.code == code)
        frames, inside = with_parents(parent, launches[mine])
        found = nodes_of_frames(
            paths, inside, names[code_of_call[frames]], np.full(len(frames), root)
        )
        nodes[mine] = found[np.searchsorted(frames, launches[mine])]
    return nodes[launch_of]
