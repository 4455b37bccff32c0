"""What the benchmarks on NVIDIA GPUs compute themselves, so that they can check wavescope by it."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "nvidia"


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.syspath_prepend(str(FOLDER))
    import against_torch_profiler
    import arms
    import kernel_times
    import overhead
    import phase_labels
    import waiting_run

    return SimpleNamespace(
        against=against_torch_profiler,
        arms=arms,
        kernel_times=kernel_times,
        overhead=overhead,
        phase_labels=phase_labels,
        waiting_run=waiting_run,
    )


def _kineto(path: Path, *events: dict[str, object]) -> Path:
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def _event(name: str, ts: float, dur: float, category: str = "kernel") -> dict[str, object]:
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur,
            "args": {"device": 0, "stream": 7}}  # fmt: skip


def test_overlapping_kernels_are_busy_once(benchmarks: SimpleNamespace) -> None:
    kernels = [
        benchmarks.kernel_times.Kernel("k", *span) for span in ((0, 10), (5, 8), (9, 20), (30, 31))
    ]

    assert benchmarks.kernel_times.busy_ns(kernels) == 21


def test_both_readers_of_the_json_agree(tmp_path: Path, benchmarks: SimpleNamespace) -> None:
    path = _kineto(
        tmp_path / "trace.json",
        _event("void add<(int)4>(float*)", 1000.123, 2.5),
        _event("gemm", 1010, 3.001),
        _event("Memcpy HtoD", 1020, 1, "gpu_memcpy"),
    )

    expected = [("voidadd<4>(float*)", 2500), ("gemm", 3001)]
    times = benchmarks.kernel_times
    for kernels in (times.json_ops(path).kernels, times.traced_kernels(path)):
        found = sorted(kernels, key=lambda kernel: kernel.start_ns)
        assert [(kernel.name, kernel.end_ns - kernel.start_ns) for kernel in found] == expected
        assert found[1].start_ns - found[0].start_ns == 9_877


def test_costs_are_told_by_rounds(benchmarks: SimpleNamespace) -> None:
    rounds = [
        {
            arm: {"step_us": base * factor}
            for arm, factor in (("none", 1), ("floor", 1.04), ("standard", 1.05))
        }
        for base in (100.0, 200.0, 300.0)
    ]
    del rounds[1]["floor"]

    assert benchmarks.overhead.rows_of("step_us", rounds) == [
        ["none", 3, "200.00", "100.00 - 300.00", "", "", "", ""],
        ["floor", 2, "208.00", "104.00 - 312.00", "+4.00", "+4.00 to +4.00", "", ""],
        [
            "standard",
            3,
            "210.00",
            "105.00 - 315.00",
            "+5.00",
            "+5.00 to +5.00",
            "+1.00",
            "+1.00 to +1.00",
        ],
    ]


def test_processes_that_keep_one_of_few_speeds_are_told_apart(benchmarks: SimpleNamespace) -> None:
    values = (755.0, 705.0, 758.0, 708.0, 761.5)
    rounds = [{"none": {"step_us": value}} for value in values]

    assert benchmarks.overhead.levels(list(values)) == [[705.0, 708.0], [755.0, 758.0, 761.5]]
    assert benchmarks.overhead.level_rows("step_us", rounds) == [["none", "706.5 (2), 758.0 (3)"]]


def test_an_interval_covers_the_middle(benchmarks: SimpleNamespace) -> None:
    middle, low, high = benchmarks.arms.interval([1.0, 2.0, 3.0, 4.0, 100.0])

    assert (middle, low, high) == (3.0, 1.0, 100.0)


def test_copies_that_cuda_runs_as_kernels_count_as_copies(
    tmp_path: Path, benchmarks: SimpleNamespace
) -> None:
    path = _kineto(
        tmp_path / "trace.json",
        _event("memcpy32_post", 1000, 1),
        _event("my_memcpy32_post", 1010, 2),
        _event("Memcpy DtoD (Device -> Device)", 1020, 3, "gpu_memcpy"),
        _event("Memcpy HtoD (Pinned -> Device)", 1030, 4, "gpu_memcpy"),
    )

    ops = benchmarks.kernel_times.json_ops(path)

    assert [kernel.name for kernel in ops.kernels] == ["my_memcpy32_post"]
    assert sorted(copy.end_ns - copy.start_ns for copy in ops.copies) == [1000, 3000]
    assert ops.copies_as_kernels == 1


def test_kernels_of_one_launch_are_of_a_graph(tmp_path: Path, benchmarks: SimpleNamespace) -> None:
    events = [_event("add", 1000 + 10 * at, 1) for at in range(5)]
    for event, launch in zip(events, (7, 8, 8, 9, 10), strict=True):
        event["args"] = {"device": 0, "stream": 7, "correlation": launch}
    kernels = benchmarks.kernel_times.json_ops(_kineto(tmp_path / "trace.json", *events)).kernels

    totals = benchmarks.against.totals_of(kernels, [])

    assert (totals["launches"], totals["graphs"]) == ({"add": 3000}, {"add": 2000})
    assert (totals["times"], totals["counts"]) == ({"add": 5000}, {"add": 5})


def _totals(**times: int) -> dict[str, object]:
    parts = {"launches": {"gemm": times["gemm"]}, "graphs": {"add": times["add"]}}
    return {
        "counts": dict.fromkeys(times, 1),
        "times": times,
        "busy_ns": sum(times.values()),
    } | parts


def test_rounds_of_one_tool_are_the_yardstick(benchmarks: SimpleNamespace) -> None:
    rounds = [
        {"wavescope": _totals(gemm=1000, add=100), "torch.profiler": _totals(gemm=1004, add=102)},
        {"wavescope": _totals(gemm=1001, add=104), "torch.profiler": _totals(gemm=1003, add=100)},
    ]

    # `gemm` is within 0.4 % in all pairs; `add` only in one, of the first and the last round.
    assert benchmarks.against.yardsticks(rounds) == [
        ["wavescope and itself", 1, "90.6 %", "100.0 %", "0.0 %", "0.452 %", "0.452 %"],
        ["torch.profiler and itself", 1, "90.9 %", "100.0 %", "0.0 %", "0.272 %", "0.272 %"],
        ["wavescope and torch.profiler", 4, "90.9 %", "100.0 %", "0.0 %", "0.227 %", "0.542 %"],
    ]
    add = benchmarks.against.compared(rounds, "add")
    assert (add["counts"], add["torch_counts"], add["ms"], add["torch_ms"]) == (
        [1], [1], 102e-6, 101e-6,
    )  # fmt: skip
    assert (add["percent"], add["apart"]) == (pytest.approx(100 / 101), pytest.approx(4.0))


@pytest.mark.parametrize(
    ("path", "phase"),
    [
        (("measured", "prefill"), 0),
        (("measured", "Decode", "step *"), 1),
        (("decode", "prefill of the next"), 0),
        (("warm-up",), -1),
        ((), -1),
    ],
)
def test_a_phase_is_looked_for_in_the_whole_path(
    benchmarks: SimpleNamespace, path: tuple[str, ...], phase: int
) -> None:
    assert benchmarks.phase_labels.phase_in(path) == phase


def test_ends_of_kernels_are_found_by_name(tmp_path: Path, benchmarks: SimpleNamespace) -> None:
    path = _kineto(
        tmp_path / "trace.json",
        _event("step_kernel(float*)", 1000, 2),
        _event("warm_up_kernel(float*)", 1010, 2),
        _event("step_kernel(float*)", 1020, 3),
        _event("Memcpy HtoD step_kernel", 1030, 1, "gpu_memcpy"),
    )

    ends = benchmarks.kernel_times.kernel_ends(path, re.compile("step_kernel"))

    assert (ends - ends.min()).tolist() == [0, 21_000]
    assert benchmarks.kernel_times.op_count(path) == 4


_PROGRAM = """
import sys
print("some words\\nready", flush=True)
line = sys.stdin.readline()
print("measured " + '{"step_us": %s, "launch_mean_us": 2.0, "other_us": 0.5}', flush=True)
sys.exit(%d)
"""


def _waiting(benchmarks: SimpleNamespace, text: str, folder: str) -> object:
    held = TemporaryDirectory(dir=folder)
    return benchmarks.waiting_run.WaitingRun([sys.executable, "-c", text], dict(os.environ), held)


def test_a_run_waits_until_it_is_measured(tmp_path: Path, benchmarks: SimpleNamespace) -> None:
    run = _waiting(benchmarks, _PROGRAM % (7.5, 0), str(tmp_path))

    assert run.await_ready()
    figures = run.measured()
    assert benchmarks.overhead.completed("none", run, figures) == {
        "step_us": 7.5, "launch_mean_us": 2.0, "other_us": 0.5, "cpu_us": 2.5, "recorded": None,
    }  # fmt: skip
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arm", "text", "reason"),
    [
        ("none", _PROGRAM % (7.5, 3), "it failed with code 3"),
        ("none", "import sys; sys.exit('broken')", "it failed with code 1: broken"),
        ("floor", _PROGRAM % (7.5, 0), "it recorded nothing"),
        ("lite", _PROGRAM % (7.5, 0), "it recorded nothing"),
        ("torch.profiler", _PROGRAM % (7.5, 0), "it recorded nothing"),
    ],
)
def test_a_run_that_says_nothing_of_the_cost_is_left_out(
    tmp_path: Path, benchmarks: SimpleNamespace, arm: str, text: str, reason: str
) -> None:
    run = _waiting(benchmarks, text, str(tmp_path))

    run.await_ready()
    assert benchmarks.overhead.completed(arm, run, run.measured()).startswith(reason)


def test_every_round_has_each_arm_once(benchmarks: SimpleNamespace) -> None:
    steps = list(benchmarks.overhead.plan(["none", "floor", "lite"], 20))

    assert [number for number, _ in steps] == [at // 3 for at in range(60)]
    orders = [tuple(arm for _, arm in steps[at : at + 3]) for at in range(0, 60, 3)]
    assert {tuple(sorted(order)) for order in orders} == {("floor", "lite", "none")}
    assert len(set(orders)) > 1
