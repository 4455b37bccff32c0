"""The generated trace is consistent, and the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from wavescope.collect.demo import DemoOptions, demo_trace
from wavescope.model.op_kinds import OpClass, OpKind
from wavescope.model.trace import Trace

SMALL = DemoOptions(layers=2, requests=1, decode_steps=3)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return Trace(demo_trace(SMALL))


def test_it_has_the_rows_its_options_say(trace: Trace) -> None:
    kernels_per_gpu = 2 * 12 + 3 + 3 * (2 * 13 + 3)
    copies_per_gpu = 2 + 3 * 2

    kinds = np.bincount(trace.op_kind, minlength=2)
    assert kinds[OpKind.KERNEL] == 2 * kernels_per_gpu
    assert kinds[OpKind.COPY] == 2 * copies_per_gpu
    assert np.unique(trace.ops["gpu"]).tolist() == [0, 1]
    assert trace.markers.strings("name").count("decode step") == 2 * 3


def test_ops_of_a_gpu_do_not_overlap_and_end_after_they_start(trace: Trace) -> None:
    for gpu in (0, 1):
        rows = trace.ops["gpu"] == gpu
        starts, ends = trace.ops["start_ns"][rows], trace.ops["end_ns"][rows]
        assert (ends > starts).all()
        assert (starts[1:] >= ends[:-1]).all()


def test_every_op_starts_after_the_call_that_caused_it(trace: Trace) -> None:
    calls, ops, links = trace.calls, trace.ops, trace.links
    call_start = dict(zip(calls["id"].tolist(), calls["start_ns"].tolist(), strict=True))
    op_start = dict(zip(ops["id"].tolist(), ops["start_ns"].tolist(), strict=True))

    pairs = list(zip(links["call"].tolist(), links["op"].tolist(), strict=True))
    assert sorted(op for _, op in pairs) == ops["id"].tolist()
    assert all(op_start[op] > call_start[call] for call, op in pairs)


def test_links_stay_within_a_process(trace: Trace) -> None:
    process_of_call = dict(
        zip(trace.calls["id"].tolist(), trace.calls["process"].tolist(), strict=True)
    )
    process_of_op = dict(zip(trace.ops["id"].tolist(), trace.ops["process"].tolist(), strict=True))

    for call, op in zip(trace.links["call"].tolist(), trace.links["op"].tolist(), strict=True):
        assert process_of_call[call] == process_of_op[op]


def test_collectives_end_on_both_gpus_together(trace: Trace) -> None:
    is_collective = trace.op_class == OpClass.COMMUNICATION
    ends = [trace.ops["end_ns"][is_collective & (trace.ops["gpu"] == gpu)] for gpu in (0, 1)]

    assert len(ends[0]) == 2 * 2 + 3 * 2 * 2
    assert ends[0].tolist() == ends[1].tolist()


def test_decode_steps_are_replays_of_one_graph(trace: Trace) -> None:
    in_graph = trace.ops["graph"] == 1

    nodes = trace.ops["graph_node"][in_graph & (trace.ops["gpu"] == 0)]
    assert nodes.tolist() == [*range(1, 2 * 13 + 4)] * 3


def test_coverage_says_what_was_not_timed(trace: Trace) -> None:
    coverage = trace.coverage

    seen, timed, skipped = (coverage[name].tolist() for name in ("seen", "timed", "skipped"))
    assert sum(timed) == len(trace.ops)
    assert [s - t for s, t in zip(seen, timed, strict=True)] == skipped


def test_it_says_that_it_was_generated(trace: Trace) -> None:
    assert "not measured" in trace.metadata["generated_by"]


def test_equal_options_give_equal_traces(trace: Trace) -> None:
    again = Trace(demo_trace(SMALL))

    for name in ("start_ns", "end_ns", "gpu", "correlation"):
        assert np.array_equal(again.ops[name], trace.ops[name])
