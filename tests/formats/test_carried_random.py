"""Random traces, with whatever may be known or not, through formats that lose nothing of them."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wavescope
from tests.builders import TraceMaker, a_trace
from tests.every_fact import facts
from tests.sample_files import write_as
from wavescope.model.columns import (
    CALLS,
    COVERAGE,
    KERNELS,
    LINKS,
    MARKER_INSTANT,
    MARKER_UNCLOSED,
    MARKERS,
    OPS,
    PROCESSES,
    QUEUES,
    SLICES,
    THREADS,
    UNKNOWN,
)

TEXTS = ("a<b>", 'say "x"\\', "\u2028", "KernelExecution", "call", "marker", "kernel", "cpu_op",
         "user_annotation", "gpu_user_annotation", "wavescope", "ä" * 30)  # fmt: skip
TYPES = ("KernelExecution", "CopyHostToDevice", "CopyPeerToPeer", "FillMemory", "Barrier",
         "GraphExecution", "Task", "Odd")  # fmt: skip
CALL_CATEGORIES = ("", "call", "hip_api", "python_function", "cuda_sync", "nvtx", "odd")
OP_NUMBERS = ("stream", "hardware_queue", "correlation", "grid_x", "grid_y", "grid_z",
              "workgroup_x", "workgroup_y", "workgroup_z", "lds_bytes", "scratch_bytes",
              "size_bytes", "source_device", "target_device", "graph", "graph_node")  # fmt: skip
COMPARED = (OPS, MARKERS, CALLS, LINKS, PROCESSES, THREADS, QUEUES, KERNELS, COVERAGE, SLICES)


def random_trace(seed: int) -> TraceMaker:
    """A few rows of each kind; each row tells itself apart by its start."""
    draw = random.Random(seed)
    maker, processes = a_trace(), range(draw.randint(1, 3))
    builder, starts = maker.builder, iter(draw.sample(range(10**6), 200))

    def number(most: int = 99) -> int:
        return draw.choice((UNKNOWN, 0, draw.randint(1, most)))

    for process in processes:
        maker.with_process(
            100 + process, rank=number(), name=draw.choice(TEXTS), host="n", origin="a"
        )
        builder.add_row(THREADS, process=process, thread=100 + process, name=draw.choice(TEXTS))
        builder.add_row(QUEUES, gpu=process, queue=0, name=draw.choice(TEXTS))
        builder.add_row(KERNELS, process=process, name=f"k{process}", vgprs=number())
        maker.with_coverage(1000 + process, number(), process=process, reason=draw.choice(TEXTS))
        if draw.random() < 0.7:
            maker.with_slice(next(starts), 10**7, process)
    for _ in range(draw.randint(0, 6)):
        start, length = next(starts), draw.choice((0, 0, draw.randint(1, 10**5)))
        flags = (MARKER_INSTANT if length == 0 else 0) | draw.choice((0, MARKER_UNCLOSED))
        builder.add_row(
            MARKERS, name=draw.choice(TEXTS), start_ns=start, end_ns=start + length, flags=flags,
            type="UserMarker", category=draw.choice(("", *TEXTS)),
            process=draw.choice((UNKNOWN, *processes)), thread=draw.choice((UNKNOWN, 7, 8)),
            domain=draw.choice(("", *TEXTS)), subcategory=draw.choice(("", *TEXTS)),
            payload=draw.choice((float("nan"), 0.0, -1.5e300)),
        )  # fmt: skip
    for _ in range(draw.randint(0, 8)):
        start, process = next(starts), draw.choice(processes)
        maker.with_call(
            draw.choice(TEXTS), start, start + draw.randint(0, 10**5), pid=100 + process,
            process=process, thread=100 + process, category=draw.choice(CALL_CATEGORIES),
            domain=draw.choice(("", "HIP")), args=draw.choice(("", "plain", '{"a":"<"}')),
            correlation=number(), stream=number(), return_code=number(),
        )  # fmt: skip
    for _ in range(draw.randint(1, 12)):
        start = next(starts)
        maker.with_op(
            draw.choice(("", *TEXTS)), start, start + draw.randint(0, 10**5),
            gpu=draw.choice((UNKNOWN, 0, 1)), queue=draw.choice((UNKNOWN, 0, 5)),
            type=draw.choice(TYPES), sequence=draw.randint(0, 9),
            process=draw.choice((UNKNOWN, *processes)), thread=number(),
            kernel=draw.choice((UNKNOWN, 1)),
            marker=draw.randint(1, builder.row_count(MARKERS)) if builder.row_count(MARKERS) else -1,
            **{name: number() for name in OP_NUMBERS},
        )  # fmt: skip
    calls = builder.row_count(CALLS)
    for op in range(1, builder.row_count(OPS) + 1):
        if calls and draw.random() < 0.5:
            maker.with_link(draw.randint(1, calls), op)
    return maker


# Several in one test: they are compared with the same rows of the same file.
@pytest.mark.parametrize("names", [("t.db", "t.rpd"), ("t.json", "t.pftrace")], ids="-".join)
@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 32))
def test_a_random_trace_comes_back(names: tuple[str, ...], seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        original = write_as(random_trace(seed), Path(folder) / "trace.db")
        with wavescope.open(original) as before:
            expected = {table: facts(before, table) for table in COMPARED}
        for name in names:
            target = wavescope.convert(original, Path(folder) / name, force=True)

            with wavescope.open(target) as after:
                for table in COMPARED:
                    assert facts(after, table) == expected[table], (name, table.name)
