"""Traces for the timeline exporters, and the two ways to run them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.builders import TraceMaker, a_trace
from tests.reference.chrome_slices import row_events
from tests.reference.lanes import Lanes
from tests.reference.perfetto_slices import row_packets
from tests.reference.slices import encoded_by
from tests.reference.time_bins import add
from wavescope.formats import Exporter, ExportOptions
from wavescope.formats.chrome import writer as chrome_writer
from wavescope.formats.perfetto import reader as perfetto_reader
from wavescope.formats.perfetto import writer as perfetto_writer
from wavescope.formats.timeline import tracks as lanes
from wavescope.formats.timeline.counter_series import BinnedSeries
from wavescope.model.columns import CALLS, LINKS, MARKERS, OPS


def exported(
    maker: TraceMaker, exporter: Exporter, path: Path, options: ExportOptions | None = None
) -> Path:
    """The file that `exporter` makes of a trace."""
    exporter.write(maker.build().source, path, options or ExportOptions(), lambda done, total: None)
    return path


@contextmanager
def by_reference(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Within it, timelines are written and Perfetto packets read without native code."""
    with monkeypatch.context() as patched:
        patched.setattr(chrome_writer, "encoded_slices", encoded_by(row_events))
        patched.setattr(perfetto_writer, "encoded_slices", encoded_by(row_packets))
        patched.setattr(perfetto_reader, "NativeEvents", lambda: None)
        patched.setattr(lanes, "Lanes", Lanes)
        patched.setattr(BinnedSeries, "add", add)
        yield


def small_trace() -> TraceMaker:
    """Two GPUs, overlapping ops, nested and crossing host slices, links, an empty op."""
    sizes = {f"grid_{axis}": size for axis, size in zip("xyz", (131072, 2, 1), strict=True)}
    sizes |= {f"workgroup_{axis}": size for axis, size in zip("xyz", (256, 1, 1), strict=True)}
    return (
        a_trace()
        .with_process(4242, rank=0, name="python3")
        .with_agent(0, model="MI300X")
        .with_metadata("command", "python3 train.py")
        .with_kernel("gemm", 1000, 2000, correlation=7, stream=3, **sizes)
        .with_kernel("add", 1500, 1700)
        .with_copy(2000, 2000, size_bytes=4096)
        .with_kernel("add", 2000, 2500, queue=1, gpu=1)
        .with_call("hipLaunchKernel", 500, 600, args='{"a": 1}', correlation=7)
        .with_call("inner", 510, 520, return_code=0)
        .with_call("cross", 550, 900)
        .with_marker("step", 400, 1000, category="roctx")
        .with_marker("mark", 450, 450, flags=1)
        .with_link(1, 1)
        .with_link(3, 2)
        .with_link(1, 4)
    )


def varied_sizes(rows: int = 5000, hardware_queues: int = 3) -> TraceMaker:
    """Ops of which no two have the same grid."""
    number = np.arange(rows)
    maker = a_trace().with_process(77)
    code = maker.builder.strings.code
    maker.builder.add(
        OPS,
        {
            "gpu": np.zeros(rows),
            "queue": np.zeros(rows),
            "start_ns": number * 10,
            "end_ns": number * 10 + 8,
            "name": np.full(rows, code("gemm")),
            "type": np.full(rows, code("KernelExecution")),
            "process": np.zeros(rows),
            "correlation": number - 1,
            "hardware_queue": number % hardware_queues - 1,
            "grid_x": number + 1,
            "grid_y": np.where(number % 3 == 0, -1, 2),
            "grid_z": np.full(rows, -1),
            "workgroup_x": np.where(number % 5 == 0, -1, 256),
        },
    )
    return maker


def varied_values() -> TraceMaker:
    """Ops of which no two have the same grid or hardware queue."""
    return varied_sizes(hardware_queues=5000)


def crowded_trace(rows: int = 3000, seed: int = 3) -> TraceMaker:
    """Random ops, calls and markers on a coarse clock: ties, empty slices and overlaps everywhere."""
    rng = np.random.default_rng(seed)
    maker = a_trace().with_process(77)
    builder = maker.builder
    names = builder.strings.codes([f"name {number}" for number in range(40)])
    categories = builder.strings.codes(["hip", "cpu_op"])

    def times(count: int, longest: int) -> dict[str, np.ndarray]:
        start = rng.integers(0, 2_000, count) * 10
        return {"start_ns": start, "end_ns": start + rng.integers(0, longest, count) * 10}

    common = {"name": names[rng.integers(0, len(names), rows)], "process": np.zeros(rows)}
    builder.add(
        OPS,
        common
        | times(rows, 12)
        | {
            "gpu": rng.integers(0, 2, rows),
            "queue": rng.integers(0, 3, rows),
            "type": np.full(rows, builder.strings.code("KernelExecution")),
            "size_bytes": rng.integers(-1, 50, rows),
            "grid_x": rng.integers(1, 30, rows),
            "grid_y": np.ones(rows),
            "grid_z": np.ones(rows),
        },
    )
    builder.add(
        CALLS,
        common
        | times(rows, 40)
        | {
            "thread": rng.integers(1, 4, rows),
            "pid": np.full(rows, 77),
            "category": categories[rng.integers(0, 2, rows)],
            "correlation": rng.integers(-1, 5, rows),
            "args": builder.add_texts([b"x" * int(n) for n in rng.integers(0, 3, rows)]),
        },
    )
    builder.add(
        MARKERS,
        common
        | times(rows, 100)
        | {
            "thread": rng.integers(1, 4, rows),
            "flags": rng.integers(0, 2, rows),
            "type": np.full(rows, builder.strings.code("UserMarker")),
        },
    )
    linked = rng.permutation(rows)[: rows // 2] + 1
    builder.add(LINKS, {"call": rng.integers(1, rows + 1, len(linked)), "op": linked})
    return maker
