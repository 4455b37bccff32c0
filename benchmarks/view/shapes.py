"""Traces for the viewer's benchmark, of any number of ops, written part by part in little memory.

`generated` has the shape of the throughput benchmark's input: 4 GPUs with 4 queues each, 150 kernel
names, rows in completion order, markers nested three deep. `serving` is one GPU that runs steps of a
language model as graphs, with the host's operators, calls and nested markers beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks.throughput.generate import GPUS, MARKERS_PER_OP, NAMES, QUEUES
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import CALLS, LINKS, MARKERS, OPS
from wavescope.model.op_kinds import KERNEL_TYPE

_PART_OPS = 1_000_000
_FIRST_NS = 1_000_000_000
_OPS_PER_STEP = 200
_CALLS_PER_STEP = 60
_STEP_NS = 2_500_000


def write_generated(path: Path, ops: int) -> None:
    """Sixteen queues that are nearly always busy."""
    rng = np.random.default_rng(7)
    with closing(TraceBuilder(str(path), "benchmark")) as builder:
        names = _codes(
            builder,
            [
                f"void at::native::vectorized_elementwise_kernel<4, at::native::Functor{i}, 2>(int)"
                if i % 3
                else f"Cijk_Ailk_Bljk_BBS_BH_MT{16 + i}x{32 + i}x64_MI16x16x16x1_SN_K1"
                for i in range(NAMES)
            ],
        )
        kernel = builder.strings.code(KERNEL_TYPE)
        ends = np.full(GPUS * QUEUES, _FIRST_NS)
        for first in range(0, ops, _PART_OPS):
            count = min(_PART_OPS, ops - first)
            begun_ns = int(ends.min())
            lanes = rng.integers(0, GPUS * QUEUES, count)
            lengths = rng.integers(2_000, 60_000, count)
            starts = np.zeros(count, np.int64)
            for lane in range(GPUS * QUEUES):
                mine = np.flatnonzero(lanes == lane)
                steps = lengths[mine] + rng.integers(0, 3_000, len(mine))
                starts[mine] = ends[lane] + np.cumsum(steps) - lengths[mine]
                ends[lane] += int(steps.sum())
            order = np.argsort(starts + lengths, kind="stable")
            columns = {
                "gpu": lanes // QUEUES,
                "queue": lanes % QUEUES,
                "name": names[rng.integers(0, NAMES, count)],
                "type": np.full(count, kernel),
                "start_ns": starts,
                "end_ns": starts + lengths,
                "process": np.zeros(count, np.int64),
                "grid_x": rng.integers(1, 5_000, count) * 256,
            }
            builder.add(OPS, {name: column[order] for name, column in columns.items()})
            _add_nested_markers(builder, count, begun_ns, int(ends.max()))
        write_trace([builder], path)


def _add_nested_markers(builder: TraceBuilder, ops: int, first_ns: int, last_ns: int) -> None:
    outer = max(1, int(ops * MARKERS_PER_OP) // 3)
    edges = np.linspace(first_ns, last_ns, outer + 1).astype(np.int64)
    quarters = np.diff(edges) // 4
    names = _codes(builder, [f"step {i}" for i in range(100)])
    inside = np.arange(3)[None, :] * quarters[:, None] // 3
    count = 3 * outer
    builder.add(
        MARKERS,
        {
            "name": names[np.arange(count) % 100],
            "start_ns": (edges[:-1, None] + inside).reshape(-1),
            "end_ns": (edges[1:, None] - inside).reshape(-1),
            "process": np.zeros(count, np.int64),
            "thread": np.full(count, 4242),
        },
    )


def write_serving(path: Path, ops: int) -> None:
    """One queue that runs a graph of 200 kernels in each step, launched by one of 60 host calls."""
    rng = np.random.default_rng(11)
    with closing(TraceBuilder(str(path), "benchmark")) as builder:
        kernels = _codes(
            builder,
            [f"Cijk_Alik_Bljk_BBS_BH_MT{16 * (i % 16 + 1)}x64x{i}_SN" for i in range(40)]
            + ["void paged_attention_kernel<bf16, 128>(int)", "void rms_norm_kernel<bf16>(int)"],
        )
        order = rng.integers(0, len(kernels), _OPS_PER_STEP)
        steps = -(-ops // _OPS_PER_STEP)
        for first in range(0, steps, _PART_OPS // _OPS_PER_STEP):
            count = min(_PART_OPS // _OPS_PER_STEP, steps - first)
            _add_steps(builder, rng, kernels[order], first, count)
        write_trace([builder], path)


def _add_steps(
    builder: TraceBuilder, rng: np.random.Generator, names: np.ndarray, first: int, count: int
) -> None:
    begun = _FIRST_NS + (first + np.arange(count)) * _STEP_NS
    lengths = rng.integers(2_000, 11_000, (count, _OPS_PER_STEP))
    ends = begun[:, None] + 150_000 + np.cumsum(lengths + 500, axis=1)
    total = count * _OPS_PER_STEP
    ids = builder.add(
        OPS,
        {
            "gpu": np.zeros(total, np.int64),
            "queue": np.ones(total, np.int64),
            "name": np.tile(names, count),
            "type": np.full(total, builder.strings.code(KERNEL_TYPE)),
            "start_ns": (ends - lengths).reshape(-1),
            "end_ns": ends.reshape(-1),
            "process": np.zeros(total, np.int64),
        },
    )
    launches = _add_calls(builder, begun)
    builder.add(
        LINKS, {"op": np.arange(ids.start, ids.stop), "call": np.repeat(launches, _OPS_PER_STEP)}
    )
    for name, inside in (("step", 0), ("decode", 20_000)):
        builder.add(
            MARKERS,
            {
                "name": np.full(count, builder.strings.code(name)),
                "start_ns": begun + inside,
                "end_ns": begun + _STEP_NS - 10_000 - inside,
                "process": np.zeros(count, np.int64),
                "thread": np.full(count, 77),
            },
        )


def _add_calls(builder: TraceBuilder, begun: np.ndarray) -> np.ndarray:
    """Calls of each step: three operators with others inside; the one that launches, by its id."""
    names = _codes(builder, ["aten::linear", "aten::addmm", "hipGraphLaunch", "hipEventRecord"])
    inner = np.arange(_CALLS_PER_STEP)
    is_outer = inner % 20 == 0
    starts = begun[:, None] + 100 + inner * 2_000 + np.where(is_outer, 0, 100)
    lengths = np.where(is_outer, 39_000, 1_500)
    kinds = np.where(is_outer, 0, np.where(inner == 30, 2, 1 + 2 * (inner % 2)))
    total = starts.size
    category = _codes(builder, ["cpu_op", "hip"])
    ids = builder.add(
        CALLS,
        {
            "name": names[np.broadcast_to(kinds, starts.shape).reshape(-1)],
            "category": category[np.broadcast_to(kinds >= 2, starts.shape).astype(int).reshape(-1)],
            "start_ns": starts.reshape(-1),
            "end_ns": (starts + lengths).reshape(-1),
            "process": np.zeros(total, np.int64),
            "pid": np.full(total, 4242),
            "thread": np.full(total, 77),
        },
    )
    return np.arange(ids.start, ids.stop).reshape(starts.shape)[:, 30]


def _codes(builder: TraceBuilder, texts: list[str]) -> np.ndarray:
    return np.array([builder.strings.code(text) for text in texts])


SHAPES: dict[str, Callable[[Path, int], None]] = {
    "generated": write_generated,
    "serving": write_serving,
}
