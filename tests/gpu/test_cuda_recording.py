"""CUDA programs recorded on a real GPU: what is in the trace is what ran."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.cuda_programs import (
    coverage,
    kernel_counts,
    kernel_rows,
    kind_counts,
    marker_names,
    other_cuda,
    record,
    recorded_environment,
)
from wavescope.formats import open_trace
from wavescope.model.columns import UNKNOWN
from wavescope.model.op_kinds import OpKind

pytestmark = pytest.mark.gpu

EXACT_MODES = ("standard", "full", "hip")
FLUSH_SLACK_NS = 2_000_000_000
CLOCK_SLACK_NS = 50_000


@pytest.mark.parametrize("mode", EXACT_MODES)
def test_every_kernel_copy_and_fill_is_in_the_trace(
    cuda_scenarios: str, tmp_path: Path, mode: str
) -> None:
    recording = record([cuda_scenarios, "plain"], tmp_path, mode=mode)

    assert (recording.code, recording.output) == (0, "done\n"), recording.messages
    with recording.trace() as trace:
        assert kernel_counts(trace) == {"scale_kernel": 40, "shift_kernel": 25}
        kinds = kind_counts(trace)
        assert (kinds[OpKind.KERNEL], kinds[OpKind.COPY], kinds[OpKind.FILL]) == (65, 7, 5)
        counted = coverage(trace)
        assert (counted["timed"], counted["lost"]) == (counted["seen"], 0)


def test_kernels_have_their_sizes_names_and_streams(cuda_scenarios: str, tmp_path: Path) -> None:
    with record([cuda_scenarios, "plain"], tmp_path).trace() as trace:
        scale, shift = (kernel_rows(trace, word) for word in ("scale_kernel", "shift_kernel"))
        sizes = ("grid_x", "grid_y", "grid_z", "workgroup_x", "workgroup_y", "workgroup_z")
        found = {tuple(int(trace.ops[name][row]) for name in sizes) for row in scale}
        assert found == {(3 * 64, 2 * 2, 1, 64, 2, 1)}  # the model counts work-items
        assert {int(trace.ops["lds_bytes"][row]) for row in scale} == {1024}
        names = trace.ops.strings("name")
        assert {names[row] for row in scale} == {"scale_kernel(float*)"}
        assert {names[row] for row in shift} == {"void shift_kernel<float>(float*)"}
        streams = [{int(trace.ops["queue"][row]) for row in rows} for rows in (scale, shift)]
        assert [len(each) for each in streams] == [1, 1]
        assert streams[0] != streams[1]


def test_copies_have_their_bytes_and_directions(cuda_scenarios: str, tmp_path: Path) -> None:
    with record([cuda_scenarios, "plain"], tmp_path).trace() as trace:
        kinds, types = trace.op_kind.tolist(), trace.ops.strings("type")
        copies = Counter(
            (types[at], int(trace.ops["size_bytes"][at]))
            for at, kind in enumerate(kinds)
            if kind in (OpKind.COPY, OpKind.FILL)
        )
        assert copies == {
            ("CopyHostToDevice", 1 << 20): 4,
            ("CopyDeviceToHost", 1 << 19): 3,
            ("FillMemory", 4096): 5,
        }


def test_ranges_of_nvtx_own_what_was_launched_in_them(cuda_scenarios: str, tmp_path: Path) -> None:
    with record([cuda_scenarios, "plain"], tmp_path).trace() as trace:
        assert sorted(trace.markers.strings("name")) == ["inner", "launched", "launching"]
        assert marker_names(trace, kernel_rows(trace, "scale_kernel")) == {"launching"}
        assert marker_names(trace, kernel_rows(trace, "shift_kernel")) == {"inner"}


@pytest.mark.parametrize("mode", EXACT_MODES)
def test_nodes_of_graph_replays_are_recorded(
    cuda_scenarios: str, tmp_path: Path, mode: str
) -> None:
    with record([cuda_scenarios, "graph", "30"], tmp_path, mode=mode).trace() as trace:
        rows = kernel_rows(trace, "node_kernel")
        assert len(rows) == 7 * 30
        assert UNKNOWN not in trace.ops["graph"][rows].tolist()
        nodes = Counter(trace.ops["graph_node"][rows].tolist())
        assert sorted(nodes.values()) == [30] * 7
        counted = coverage(trace)
        assert (counted["seen"], counted["timed"], counted["lost"]) == (210, 210, 0)


def test_lite_counts_what_it_does_not_time(cuda_scenarios: str, tmp_path: Path) -> None:
    recording = record([cuda_scenarios, "graph", "20000"], tmp_path, mode="lite")

    assert recording.code == 0, recording.messages
    with recording.trace() as trace:
        counted = coverage(trace)
        assert counted["seen"] == 7 * 20_000
        assert counted["timed"] + counted["skipped"] + counted["lost"] == counted["seen"]
        assert len(kernel_rows(trace, "node_kernel")) == counted["timed"]


def test_lite_lets_programs_live_that_launch_all_the_time(
    cuda_scenarios: str, tmp_path: Path
) -> None:
    for number in range(5):  # with records that went on and off 4 of 5 crashed with CUPTI 12.9
        recording = record([cuda_scenarios, "flood", "300000"], tmp_path, mode="lite")
        assert (recording.code, recording.output) == (0, "done\n"), (number, recording.messages)
        with recording.trace() as trace:
            counted = coverage(trace)
            assert counted["seen"] == 300_000
            assert counted["timed"] + counted["skipped"] + counted["lost"] == counted["seen"]


def test_lite_records_slices_of_graph_replays(cuda_scenarios: str, tmp_path: Path) -> None:
    if other_cuda() is not None:
        pytest.skip("CUPTI before 13.0 has no slices")
    recording = record([cuda_scenarios, "long_graph", "5"], tmp_path, mode="lite")

    assert recording.code == 0, recording.messages
    replays = int(re.findall(r"replays (\d+)", recording.output)[0])
    with recording.trace() as trace:
        counted = coverage(trace)
        assert counted["seen"] == 7 * replays
        assert counted["timed"] + counted["skipped"] + counted["lost"] == counted["seen"]
        assert 0 < len(kernel_rows(trace, "node_kernel")) == counted["timed"] < counted["seen"]


def test_lite_without_slices_records_graphs_as_a_whole(cuda_scenarios: str, tmp_path: Path) -> None:
    recording = record([cuda_scenarios, "graph", "300"], tmp_path, "--slices", "off", mode="lite")

    assert recording.code == 0, recording.messages
    with recording.trace() as trace:
        assert kind_counts(trace) == {OpKind.GRAPH_RUN: 300}
        counted = coverage(trace)
        assert (counted["seen"], counted["skipped"], counted["lost"]) == (2100, 2100, 0)


@pytest.mark.parametrize(
    ("mode", "options"), [("standard", []), ("lite", []), ("lite", ["--slices", "off"])]
)
def test_graphs_survive_pauses(
    cuda_scenarios: str, tmp_path: Path, mode: str, options: list[str]
) -> None:
    recording = record([cuda_scenarios, "pause_graph", "3"], tmp_path, *options, mode=mode)

    assert recording.code == 0, recording.messages
    replays, paused = map(int, re.findall(r"\d+", recording.output)[:2])
    assert paused == 3 * 40
    with recording.trace() as trace:
        kernels, runs = (kind_counts(trace)[kind] for kind in (OpKind.KERNEL, OpKind.GRAPH_RUN))
        # Recording is taken up by a thread of the collector, a while after it was asked for.
        if mode == "standard":
            assert 7 * 40 < kernels <= 7 * replays
        assert 0 < kernels + 7 * runs <= 7 * replays
        counted = coverage(trace)
        assert counted["timed"] == kernels
        assert counted["timed"] + counted["skipped"] + counted["lost"] == counted["seen"]


def test_calls_are_recorded_with_the_kernels_they_launched(
    cuda_scenarios: str, tmp_path: Path
) -> None:
    with record([cuda_scenarios, "plain"], tmp_path, mode="hip").trace() as trace:
        names = trace.calls.strings("name")
        launches = [at for at, name in enumerate(names) if "LaunchKernel" in name]
        assert len(launches) == 65
        assert sum("Memcpy" in name for name in names) == 7
        assert sum("Memset" in name for name in names) == 5
        by_correlation = {int(trace.calls["correlation"][at]): at for at in launches}
        for row in kernel_rows(trace, "kernel"):
            call = by_correlation[int(trace.ops["correlation"][row])]
            begun_ns = int(trace.ops["start_ns"][row])
            assert int(trace.calls["start_ns"][call]) <= begun_ns + CLOCK_SLACK_NS


def test_nothing_is_recorded_while_paused(cuda_scenarios: str, tmp_path: Path) -> None:
    recording = record([cuda_scenarios, "pause"], tmp_path)

    assert recording.code == 0, recording.messages
    launched = int(re.findall(r"after (\d+)", recording.output)[0])
    with recording.trace() as trace:
        counts = kernel_counts(trace)
        assert counts["before_kernel"] == 10
        assert "paused_kernel" not in counts
        # Recording is taken up by a thread of the collector, a while after it was asked for.
        assert launched // 2 < counts["after_kernel"] <= launched


def test_a_program_may_start_paused(cuda_scenarios: str, tmp_path: Path) -> None:
    recording = record([cuda_scenarios, "pause"], tmp_path, "--start-paused")

    assert recording.code == 0, recording.messages
    with recording.trace() as trace:
        counts = kernel_counts(trace)
        assert set(counts) == {"after_kernel"}
        assert counts["after_kernel"] > 0


def test_forked_processes_are_recorded_each_for_itself(cuda_scenarios: str, tmp_path: Path) -> None:
    alone = subprocess.run(
        [cuda_scenarios, "forks"], capture_output=True, text=True, timeout=60, check=True
    )
    recording = record([cuda_scenarios, "forks"], tmp_path)

    assert (recording.code, recording.output) == (0, alone.stdout), recording.messages
    with recording.trace() as trace:
        assert kernel_counts(trace) == {
            "before_kernel": 20, "after_kernel": 15, "child_kernel": 12,
        }  # fmt: skip
        process_of = {
            word: set(trace.ops["process"][kernel_rows(trace, word)].tolist())
            for word in ("before_kernel", "after_kernel", "child_kernel")
        }
        assert process_of["before_kernel"] == process_of["after_kernel"]
        assert process_of["child_kernel"].isdisjoint(process_of["before_kernel"])


def test_a_program_that_becomes_another_counts_what_it_took_along(
    cuda_scenarios: str, tmp_path: Path
) -> None:
    recording = record([cuda_scenarios, "becomes_another"], tmp_path)

    assert (recording.code, recording.output) == (0, "done\n"), recording.messages
    with recording.trace() as trace:
        counts, counted = kernel_counts(trace), coverage(trace)
        assert counts["after_kernel"] == 15
        assert counted["timed"] + counted["lost"] == counted["seen"] == 35
        assert counts.get("before_kernel", 0) + counted["lost"] == 20


def test_kernels_lie_between_the_clock_readings_around_them(
    cuda_scenarios: str, tmp_path: Path
) -> None:
    recording = record([cuda_scenarios, "brackets", "100"], tmp_path)

    lines = [line.split() for line in recording.output.splitlines() if line != "done"]
    with recording.trace() as trace:
        rows = kernel_rows(trace, "spin_kernel")[1:]
        assert len(rows) == len(lines) == 100
        for row, (before, after) in zip(rows, lines, strict=True):
            assert int(trace.ops["start_ns"][row]) > int(before) - CLOCK_SLACK_NS
            assert int(trace.ops["end_ns"][row]) < int(after) + CLOCK_SLACK_NS


def test_a_killed_program_leaves_what_was_delivered(cuda_scenarios: str, tmp_path: Path) -> None:
    output = tmp_path / "killed.db"
    command = [sys.executable, "-m", "wavescope", "trace", "-q", "-o", str(output), "--",
               cuda_scenarios, "endless"]  # fmt: skip
    log: list[tuple[int, int]] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=recorded_environment()
    ) as recorder:
        assert recorder.stdout is not None
        process = int(recorder.stdout.readline().split()[1])
        for line in recorder.stdout:
            kernels, ns = line.split()
            log.append((int(kernels), int(ns)))
            if int(ns) - log[0][1] > 2 * FLUSH_SLACK_NS:
                break
        os.kill(process, signal.SIGKILL)
        recorder.communicate(timeout=120)

    old_enough = [kernels for kernels, ns in log if ns < log[-1][1] - FLUSH_SLACK_NS]
    with open_trace(output) as trace:
        assert len(kernel_rows(trace, "before_kernel")) >= old_enough[-1] > 0


def test_a_program_without_a_gpu_runs_unharmed(cuda_scenarios: str, tmp_path: Path) -> None:
    hidden = {"CUDA_VISIBLE_DEVICES": ""}
    recording = record([cuda_scenarios, "plain"], tmp_path, environment=hidden)

    assert recording.code == 3
    assert "no CUDA-capable device" in recording.messages


def test_the_gpu_is_described(cuda_scenarios: str, tmp_path: Path) -> None:
    with record([cuda_scenarios, "plain"], tmp_path).trace() as trace:
        told = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,uuid", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        listed = [tuple(line.split(", ")) for line in told.stdout.splitlines()]
        models, uuids = (trace.agents.strings(name) for name in ("model", "uuid"))
        assert (models[0], uuids[0]) in listed
        assert trace.agents.strings("chip")[0].startswith("sm_")
        assert int(trace.agents["cu_count"][0]) > 0
