"""One rich trace, and the same trace as a file of every format that can be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.builders import TraceMaker, a_trace
from wavescope.formats import ExportOptions, exporter_for

FIRST_NS = 1_700_000_000_123_456_789
"""A time that no float64 holds."""


def rich_trace() -> TraceMaker:
    """Two processes on two GPUs: kernels, copies, nested markers, calls, links, coverage."""
    maker = (
        a_trace()
        .with_process(4100, rank=0, name="serve", host="node")
        .with_process(4101, rank=1, name="serve", host="node")
        .with_agent(0, chip="gfx942", model="MI300X", host="node", uuid="GPU-a")
        .with_agent(1, chip="gfx942", model="MI300X", host="node", uuid="GPU-b")
        .with_coverage(40, 36, skipped=4, process=0, gpu=0, reason="graph replay")
        .with_metadata("command", "python3 serve.py")
    )
    for process in (0, 1):
        _add_process(maker, process)
    return maker


def _add_process(maker: TraceMaker, process: int) -> None:
    host = {"process": process, "thread": 4100 + process}
    at = FIRST_NS + 7 * process
    maker.with_marker("prefill", at, at + 100_001, **host)
    maker.with_marker("layer 0", at + 10, at + 50_003, **host)
    maker.with_marker("decode", at + 110_000, at + 300_000, **host)
    maker.with_marker("token", at + 200_000, at + 200_000, flags=1, **host)
    for step in range(9):
        start = at + 1_000 + 25_000 * step
        calls = 2 * (process * 9 + step)
        where = {"gpu": process, "process": process, "thread": 4100 + process}
        common = {"pid": 4100 + process, "correlation": calls + 1, **host}
        maker.with_call("hipLaunchKernel", start, start + 900, args='{"n": 1}', **common)
        maker.with_call("hipMemcpyAsync", start + 950, start + 1_333, **common)
        maker.with_kernel(
            f"gemm_{step % 3}",
            start + 2_000,
            start + 9_001,
            queue=1,
            grid_x=1024,
            grid_y=1,
            grid_z=1,
            workgroup_x=256,
            workgroup_y=1,
            workgroup_z=1,
            **where,
        )
        maker.with_copy(start + 4_000, start + 6_007, queue=2, size_bytes=4096, **where)
        maker.with_link(calls + 1, calls + 1).with_link(calls + 2, calls + 2)


def _written(name: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        return write_as(rich_trace(), folder / name)

    return write


def write_as(maker: TraceMaker, path: Path) -> Path:
    """The trace at `path`, in the format that its name chooses."""
    options = ExportOptions(gzip=path.name.endswith(".gz"))
    exporter_for(path).write(maker.build().source, path, options, lambda done, total: None)
    return path


def _rocprofv3_csv(folder: Path) -> Path:
    head = (
        '"Kind","Agent_Id","Queue_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
        '"Correlation_Id","Start_Timestamp","End_Timestamp"'
    )
    rows = [
        f'"KERNEL_DISPATCH",1,1,4100,{i},1,"gemm",{i},{FIRST_NS + 10 * i},{FIRST_NS + 10 * i + 5}'
        for i in range(1, 40)
    ]
    path = folder / "run_kernel_trace.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


SAMPLES: dict[str, Callable[[Path], Path]] = {
    "wavescope": _written("trace.db"),
    "rpd": _written("trace.rpd"),
    "chrome": _written("trace.json"),
    "chrome-gz": _written("trace.json.gz"),
    "perfetto": _written("trace.pftrace"),
    "rocprofv3": _written("trace_results.json"),
    "rocprofv3-csv": _rocprofv3_csv,
}
"""By format: a function that writes a sample into a folder. rocm-trace-lite and rocpd files, which
wavescope does not write, are made in the tests of their readers."""
