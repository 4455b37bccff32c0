"""CUDA programs, recorded whole on played GPUs: what is in the trace is what ran."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.played_cuda import PlayedCuda
from tests.played_runs import (
    assert_whole,
    run_alone,
    run_collected,
    run_traced,
    traced_kernels,
)

LAUNCHED_BY = {
    "gemm(float*, float*, int)": "cudaLaunchKernel",
    "add(float*, int)": "cudaLaunchKernel",
    "softmax(float*, int)": "cudaLaunchKernel",
    "": "cudaMemsetAsync",
}


@pytest.mark.parametrize("version", ["12", "13"])
def test_every_kernel_is_in_the_trace_as_it_ran(
    played: PlayedCuda, tmp_path: Path, version: str
) -> None:
    alone = run_alone(played, tmp_path, "steps", 25, version=version)
    for log in tmp_path.glob("truth.*"):
        log.unlink()
    run = run_traced(played, tmp_path, "steps", 25, version=version, options=["-q"])

    assert (
        (run.code, run.out, run.err)
        == (alone.code, alone.out, alone.err)
        == (3, "done steps\n", "")
    )
    with run.trace() as trace:
        assert len(run.kernels) == 100
        assert_whole(run, trace)
        assert trace.markers.strings("name") == ["step"] * 25
        assert set(trace.markers.strings("category")) == {"nvtx"}


def test_kernels_name_their_registers_memory_and_range(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_collected(played, tmp_path, "steps", 3)

    with run.trace() as trace:
        assert_whole(run, trace)
        kernels = trace.kernels.to_pandas().set_index("mangled")
        found = kernels[["vgprs", "lds_bytes", "scratch_bytes"]].to_dict("index")
        assert {name: tuple(row.values()) for name, row in found.items()} == {
            "_Z4gemmPfS_i": (128, 16384, 0),
            "_Z3addPfi": (16, 0, 0),
            "_Z7softmaxPfi": (40, 2048, 256),
        }
        ranges = trace.markers.to_pandas().set_index("id")
        assert len(set(trace.ops["marker"].tolist())) == 3
        for row in traced_kernels(trace):
            assert ranges.loc[row["marker"], "name"] == "step"
            assert ranges.loc[row["marker"], "start_ns"] < row["start_ns"] + 20_000


def test_gpus_say_what_they_are(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_collected(played, tmp_path, "threads", 5, settings="gpus=2")

    with run.trace() as trace:
        assert_whole(run, trace)
        agents = trace.agents.to_pandas().sort_values("gpu")
        assert agents["chip"].tolist() == ["sm_90", "sm_90"]
        assert agents["model"].tolist() == ["NVIDIA H200 (played)"] * 2
        assert agents["uuid"].tolist() == [
            "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f",
            "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f",
        ]
        assert agents["cu_count"].tolist() == [132, 132]
        assert agents["memory_bytes"].tolist() == [150_000_000_000] * 2
        assert Counter(trace.ops["gpu"][trace.op_kind == 0].tolist()) == {0: 40, 1: 40}
        assert len(set(trace.ops["thread"].tolist())) == 4


def test_graphs_are_recorded_node_by_node(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_collected(played, tmp_path, "graph", 20)

    with run.trace() as trace:
        assert len(run.kernels) == 60
        assert_whole(run, trace)
        nodes = [op.node for op in run.kernels]
        assert Counter(trace.ops["graph_node"][trace.op_kind == 0].tolist()) == Counter(nodes)
        assert set(trace.ops["graph"].tolist()) == {op.graph for op in run.kernels}
        assert trace.ops.strings("type").count("FillMemory") == 20


def test_copies_and_fills_are_on_their_stream(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_collected(played, tmp_path, "copies", 4, settings="gpus=2")

    with run.trace() as trace:
        assert run.complaints == ""
        ops = trace.ops.to_pandas().sort_values("start_ns")
        assert Counter(zip(ops["type"], ops["size_bytes"], strict=True)) == {
            ("CopyHostToDevice", 1 << 20): 4,
            ("FillMemory", 1000): 4,
            ("CopyDeviceToDevice", 2000): 4,
            ("CopyDeviceToHost", 3000): 4,
            ("CopyPeerToPeer", 4000): 4,
        }
        assert set(ops["stream"]) == {7}
        real = sorted(op.start_ns for op in run.ops)
        assert max(abs(ops["start_ns"].to_numpy() - real)) < 20_000
        peer = ops[ops["size_bytes"] == 4000]
        assert set(zip(peer["source_device"], peer["target_device"], strict=True)) == {(0, 1)}


def test_names_are_right_where_modules_take_each_others_place(
    played: PlayedCuda, tmp_path: Path
) -> None:
    run = run_collected(played, tmp_path, "modules", 6)

    with run.trace() as trace:
        assert_whole(run, trace)
        names = [name for name in trace.ops.strings("name") if name.startswith("module")]
        assert sorted(names) == [f"module_kernel_{number}" for number in range(6)]


def test_launches_that_cuda_refused_are_not_counted(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_collected(played, tmp_path, "failures", 5)

    assert run.out == "refused 9 98\ndone failures\n"
    with run.trace() as trace:
        assert_whole(run, trace)


def test_calls_are_linked_with_what_they_launched(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_collected(played, tmp_path, "graph", 5, mode="hip")

    with run.trace() as trace:
        assert_whole(run, trace)
        calls = trace.calls.to_pandas().set_index("id")
        assert set(calls["domain"]) == {"CUDA"}
        assert set(calls["category"]) <= {"cuda_runtime", "cuda_driver"}
        linked = Counter(calls.loc[call, "name"] for call in trace.links["call"].tolist())
        assert linked == {"cudaGraphLaunch": 25}
        replays = calls[calls["name"] == "cudaGraphLaunch"]
        assert len(replays) == 5
        assert (replays["return_code"] == 0).all()
        assert Counter(calls["name"])["cudaStreamSynchronize"] == 5


def test_calls_of_kernels_and_copies(played: PlayedCuda, tmp_path: Path) -> None:
    run = run_collected(played, tmp_path, "steps", 4, mode="hip")

    with run.trace() as trace:
        assert_whole(run, trace)
        calls = trace.calls.to_pandas().set_index("id")
        ops = trace.ops.to_pandas().set_index("id")
        pairs = list(zip(trace.links["call"].tolist(), trace.links["op"].tolist(), strict=True))
        assert len(pairs) == 4 * 5
        for call, op in pairs:
            expected = LAUNCHED_BY[ops.loc[op, "name"]]
            assert calls.loc[call, "name"] == expected
            assert calls.loc[call, "start_ns"] < ops.loc[op, "start_ns"] + 20_000
            assert calls.loc[call, "thread"] == ops.loc[op, "thread"]
