"""PyTorch profiler traces of real runs: exact counts and times."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.imported_modules import modules_of
from tests.reference import chrome_events
from wavescope.formats.chrome import events
from wavescope.formats.chrome.reader import open_chrome_json
from wavescope.model.trace import Trace

TRACES = (
    "h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "h100/gaunernst_bert-small-uncased__1016001.json.gz",
    "sglang/sglang_Qwen3-8B_decode.json.gz",
    "vllm/vllm_decode_graph_execution.json.gz",
    "mi210/gpu_only_trace.json.gz",
    "mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "mi300/gaunernst_bert-small-uncased__1016001.json.gz",
    "h200/h200_dense_eager.json.gz",
    "h200/h200_graph_decode.json.gz",
)


def opened(shared_data: Path, name: str) -> Trace:
    return Trace(open_chrome_json(shared_data / "kineto" / name))


def counts(values: list[str]) -> dict[str, int]:
    return {value: values.count(value) for value in sorted(set(values))}


@pytest.mark.parametrize("name", TRACES)
def test_ops_match_the_reference_to_the_nanosecond(shared_data: Path, name: str) -> None:
    expected = json.loads((shared_data / "kineto" / "reference.json").read_text())[name]

    ops = opened(shared_data, name).ops

    assert len(ops) == expected["n_gpu"]
    assert int(ops.duration_ns.sum()) == expected["sum_dur_ns"]
    assert int(ops["end_ns"].max() - ops["start_ns"].min()) == expected["total_ns"]
    assert len(np.unique(ops["queue"])) == expected["streams"]
    assert len(set(ops.strings("name"))) == expected["kernels"]


@pytest.mark.parametrize(
    ("name", "types"),
    [
        (TRACES[0], {"CopyDeviceToHost": 1, "FillMemory": 241, "KernelExecution": 1465}),
        (TRACES[2], {"CopyDeviceToDevice": 2, "CopyDeviceToHost": 1, "KernelExecution": 555}),
        (TRACES[3], {"CopyDeviceToDevice": 9, "KernelExecution": 425}),
        (TRACES[5], {"CopyDeviceToDevice": 1, "KernelExecution": 1516}),
        (TRACES[8], {"FillMemory": 72, "KernelExecution": 15969}),
    ],
)
def test_ops_have_their_types(shared_data: Path, name: str, types: dict[str, int]) -> None:
    assert counts(opened(shared_data, name).ops.strings("type")) == types


@pytest.mark.parametrize(
    ("name", "categories"),
    [
        (
            TRACES[0],
            {
                "cpu_instant_event": 2450,
                "cpu_op": 4186,
                "cuda_driver": 1,
                "cuda_runtime": 1921,
                "python_function": 4262,
            },
        ),
        (TRACES[4], {"cuda_runtime": 631}),
        (TRACES[7], {"cpu_op": 40526, "cuda_driver": 2500, "cuda_runtime": 11637, "overhead": 3}),
    ],
)
def test_every_host_event_is_a_call(
    shared_data: Path, name: str, categories: dict[str, int]
) -> None:
    assert counts(opened(shared_data, name).calls.strings("category")) == categories


@pytest.mark.parametrize(
    ("name", "linked", "unlinked"),
    [
        (TRACES[0], 1198, 509),
        (TRACES[3], 434, 0),
        (TRACES[5], 1054, 463),
        (TRACES[7], 12224, 0),
        (TRACES[8], 16041, 0),
    ],
)
def test_ops_without_a_launch_record_are_counted(
    shared_data: Path, name: str, linked: int, unlinked: int
) -> None:
    trace = opened(shared_data, name)

    assert len(trace.links) == linked
    sentence = f"ops (of {linked + unlinked}) have no launch record"
    assert dict(trace.notes).get(sentence, 0) == unlinked


def test_linked_ops_start_after_their_call(shared_data: Path) -> None:
    trace = opened(shared_data, TRACES[7])

    call = trace.links["call"] - 1
    op = trace.links["op"] - 1

    assert (trace.ops["start_ns"][op] > trace.calls["start_ns"][call]).all()
    assert (trace.ops["correlation"][op] == trace.calls["correlation"][call]).all()
    launches = {trace.calls.strings("name")[index] for index in np.unique(call)[:2000]}
    assert launches <= {"cudaLaunchKernel", "cuLaunchKernel", "cuLaunchKernelEx", "cudaMemsetAsync", "cudaLaunchKernelExC"}  # fmt: skip


def test_grids_are_in_work_items_whatever_call_launched_them(shared_data: Path) -> None:
    ops = opened(shared_data, TRACES[4]).ops
    names = ops.strings("name")

    row = names.index("SubTensorOpWithScalar1d")

    # hipExtModuleLaunchKernel states work-items: 65536 is not to be multiplied by 256.
    assert (ops["grid_x"][row], ops["workgroup_x"][row]) == (65536, 256)
    blocks = ops["grid_x"] // np.maximum(ops["workgroup_x"], 1)
    assert (blocks * ops["workgroup_x"] == ops["grid_x"]).all()
    assert int(ops["grid_x"].max()) < 10_000_000


def test_markers_calls_and_metadata_of_a_decode_step(shared_data: Path) -> None:
    trace = opened(shared_data, TRACES[3])

    assert trace.markers.strings("name") == [
        "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)"
    ]
    assert trace.markers["start_ns"].tolist() == [6520618853487683]
    assert trace.markers["end_ns"].tolist() == [6520618853487683 + 2408598]
    assert trace.processes["pid"].tolist() == [851]
    assert trace.processes["rank"].tolist() == [0]
    assert trace.processes["world_size"].tolist() == [1]
    assert trace.agents["gpu"].tolist() == [2]
    assert trace.agents["cu_count"].tolist() == [304]
    assert trace.metadata["chrome.baseTimeNanoseconds"] == "1767189312000000000"


def test_reading_by_the_reference_gives_the_same(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_native = opened(shared_data, TRACES[2])
    monkeypatch.setattr(events, "event_batches", chrome_events.event_batches)
    without = opened(shared_data, TRACES[2])

    for table in ("ops", "calls", "markers", "links", "processes", "agents"):
        left, right = getattr(with_native, table), getattr(without, table)
        for column in left.column_names:
            np.testing.assert_array_equal(left[column], right[column], f"{table}.{column}")
    assert with_native.calls.strings("args") == without.calls.strings("args")
    assert list(with_native.strings) == list(without.strings)


def test_a_summary_imports_little(shared_data: Path) -> None:
    path = shared_data / "kineto" / "mi300" / "Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"

    assert len(modules_of("summary", str(path), "-q")) < 95
