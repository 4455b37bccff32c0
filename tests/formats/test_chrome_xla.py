"""Chrome JSON of JAX's and TensorFlow's profilers: streams of GPUs, steps and links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wavescope.formats.chrome.reader import open_chrome_json
from wavescope.model.trace import Trace

GPU, HOST = 1, 701


def named(pid: int, name: str, tid: int | None = None) -> dict[str, Any]:
    event = {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
    return event if tid is None else event | {"tid": tid, "name": "thread_name"}


def event(pid: int, tid: int, name: str, ts: float, dur: float, **args: object) -> dict[str, Any]:
    return {"ph": "X", "pid": pid, "tid": tid, "ts": ts, "dur": dur, "name": name, "args": args}


NAMES = (
    named(GPU, "/device:GPU:0"),
    named(GPU, "Stream #14(Compute,Memset)", 14),
    named(GPU, "Stream #15(MemcpyH2D)", 15),
    named(GPU, "XLA Ops", 16),
    named(HOST, "/host:CPU"),
    named(HOST, "python3", 504),
)
EVENTS = (
    event(HOST, 504, "train", 20.0, 70.0, step_num="3"),
    event(HOST, 504, "cuGraphLaunch (CudaGraph:6)", 21.0, 2.5, correlation_id="7", device_id="0"),
    event(
        GPU, 14, "gemm_fusion_dot", 30.481, 13.792, correlation_id="7",
        kernel_details="regs:154 static_shared:16 dynamic_shared:48 grid:256,2,1 block:128,1,1",
    ),
    event(GPU, 14, "Memset 0", 45.0, 0.864, correlation_id="7",
          Memset_details="kind:unknown num_bytes:4 async:0"),
    event(GPU, 15, "MemcpyH2D", 50.0, 1.5, correlation_id="9",
          memcpy_details="kind_src:pageable kind_dst:device size:4096 dest:0 async:1"),
    event(GPU, 16, "dot.7", 30.481, 13.792),
)  # fmt: skip


def opened(folder: Path, *events: dict[str, Any]) -> Trace:
    path = folder / "host.trace.json"
    members = {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}}
    # These profilers end the list with an empty event.
    path.write_text(json.dumps({**members, "traceEvents": [*events, {}]}))
    return Trace(open_chrome_json(path))


def test_lanes_of_streams_are_gpu_work(tmp_path: Path) -> None:
    trace = opened(tmp_path, *NAMES, *EVENTS)

    ops = trace.ops
    times = zip(ops["start_ns"].tolist(), ops["end_ns"].tolist(), strict=True)
    assert list(zip(ops.strings("name"), ops.strings("type"), times, strict=True)) == [
        ("gemm_fusion_dot", "KernelExecution", (30_481, 44_273)),
        ("Memset 0", "FillMemory", (45_000, 45_864)),
        ("MemcpyH2D", "CopyHostToDevice", (50_000, 51_500)),
    ]
    assert ops["gpu"].tolist() == [0, 0, 0]
    assert ops["queue"].tolist() == ops["stream"].tolist() == [14, 14, 15]
    assert ops["size_bytes"].tolist() == [-1, 4, 4096]
    assert [ops[f"grid_{axis}"][0] for axis in "xyz"] == [256 * 128, 2, 1]
    assert (ops["workgroup_x"][0], ops["lds_bytes"][0]) == (128, 64)


def test_calls_are_linked_and_steps_are_markers(tmp_path: Path) -> None:
    trace = opened(tmp_path, *NAMES, *EVENTS)

    assert trace.calls.strings("name") == ["cuGraphLaunch (CudaGraph:6)"]
    assert trace.links["op"].tolist() == [1, 2]
    assert trace.markers.strings("name") == ["train 3"]
    assert (trace.markers["start_ns"][0], trace.markers["end_ns"][0]) == (20_000, 90_000)


def test_names_after_the_events_count_too(tmp_path: Path) -> None:
    trace = opened(tmp_path, *EVENTS, *NAMES)

    assert trace.ops.strings("name") == ["gemm_fusion_dot", "Memset 0", "MemcpyH2D"]
    assert trace.links["op"].tolist() == [1, 2]


def test_hostile_args_leave_numbers_unknown(tmp_path: Path) -> None:
    hostile = {
        "correlation_id": 1 << 70,
        "kernel_details": ["grid:1,1,1"],
        "memcpy_details": {"size": 4},
        "step_num": None,
    }
    events = [event(pid, 14, "odd", 1.0, 2.0, **hostile) for pid in (GPU, HOST)]
    trace = opened(tmp_path, *NAMES, *events)

    assert trace.ops.strings("type") == ["KernelExecution"]
    assert (trace.ops["grid_x"][0], trace.ops["correlation"][0]) == (-1, -1)
    assert (len(trace.calls), len(trace.markers), len(trace.links)) == (1, 0, 0)


def test_a_file_of_another_tool_keeps_its_lanes(tmp_path: Path) -> None:
    trace = opened(tmp_path, named(GPU, "GPU 0"), named(GPU, "XLA Ops", 16), EVENTS[-1])

    assert trace.ops.strings("name") == ["dot.7"]
