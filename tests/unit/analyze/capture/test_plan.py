"""The whole plan: order, priorities, no stall counted twice, what it says without wave files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture_folders import CaptureBuilder, a_capture, step
from tests.counters_builder import counted
from tests.plan_contexts import a_context, analysis
from wavescope.analyze.capture.plan import KernelCounters, plan_result
from wavescope.analyze.capture.plan.plan import Priority, planned_changes, priority_of
from wavescope.errors import UsageError
from wavescope.model.chips.chip_table import chip_named
from wavescope.model.counters import CounterTable
from wavescope.model.result import Severity

SOURCE = "@kernel\ndef attention():\n  a = args()\n  for i in n:\n    v = load(i)\n    p = lds(i)\n    acc = mfma(v, p)\n"
MFMA = "v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[4:5], v[6:7], a[0:3]"


def a_kernel() -> CaptureBuilder:
    """Entry wait 60, then ten rounds: load wait 200, LDS wait 30, each in a matrix loop."""
    code = (
        ("s_load_dwordx4 s[0:3], s[4:5], 0x0", "/k.py:3"),
        ("s_waitcnt lgkmcnt(0)", "/k.py:3"),
        ("buffer_load_dwordx4 v[8:11], v1, s[0:3], 0 offen", "/k.py:5"),
        ("s_waitcnt vmcnt(0)", "/k.py:7"),
        ("ds_read_b64 v[4:5], v2", "/k.py:6"),
        ("s_waitcnt lgkmcnt(0)", "/k.py:7"),
        (MFMA, "/k.py:7"),
        ("s_cbranch_scc1 65530", "/k.py:4"),
        ("s_endpgm", "/k.py:7"),
    )
    one_round = [step(3), step(4, stall=200), step(5), step(6, stall=30), step(7), step(8)]
    return (
        a_capture()
        .with_code(*code)
        .with_source("/k.py", SOURCE)
        .with_wave([step(1), step(2, stall=60), *one_round * 10, step(9)])
    )


def test_the_costliest_change_comes_first_and_nothing_counts_twice(tmp_path: Path) -> None:
    context = a_context(a_kernel(), tmp_path)

    changes = planned_changes(context)

    assert [
        (change.opportunity.pattern, change.opportunity.where, change.priority)
        for change in changes
    ] == [
        ("load-in-matrix-loop", "k.py:5", Priority.HIGH),
        ("lds-before-matrix", "k.py:6", Priority.HIGH),
        ("scalar-entry", "k.py:3", Priority.LOW),
        ("memory-bound-why", "whole kernel", Priority.LOW),
    ]
    gains = [change.gain_percent for change in changes if change.gain_percent is not None]
    assert gains == pytest.approx(
        [100 * cycles / context.lifetime for cycles in (2_000 - 9 * 4, 300, 60)]
    )
    assert sum(gains) <= 100 * int(context.pieces.exposed.sum()) / context.lifetime


def test_gains_say_how_they_were_bounded(tmp_path: Path) -> None:
    result = plan_result(analysis(a_kernel(), tmp_path))

    first = result.findings[0]
    assert first.gain_basis.startswith("upper bound: 1,964 exposed stall cycles of 2,")
    assert "removed from the wave timelines" in first.gain_basis
    assert first.severity is Severity.PROBLEM
    assert (
        first.title == "#1 [HIGH] a load inside the matrix loop has too little work to hide behind"
    )
    assert first.numbers["priority"] == "HIGH"
    assert "v = load(i)" in str(first.numbers["before"])


def test_before_and_after_are_in_the_kernels_own_lines(tmp_path: Path) -> None:
    result = plan_result(analysis(a_kernel(), tmp_path))

    sketch = result.table("sketch_1")
    assert sketch.column("before")[:3] == [
        "for each step:", "    v = load(i)  # waits 204 cycles", "    acc = mfma(v, p)",
    ]  # fmt: skip
    assert sketch.column("after")[-1] == "    acc = mfma(v, p)  # hides it"


def test_without_wave_files_rows_are_used_and_it_is_said(tmp_path: Path) -> None:
    folder = a_kernel().write(tmp_path / "all")
    for wave in folder.glob("se*.json"):
        wave.unlink()
    (folder / "filenames.json").unlink()
    from wavescope.analyze.capture import CaptureAnalysis
    from wavescope.formats.captures import find_captures, load_capture

    result = plan_result(CaptureAnalysis(load_capture(find_captures([folder])[0])))

    assert result.findings[-1].id == "plan-rows-only"
    assert result.facts["exposed_stall_percent"] is None
    assert "exposed of" not in result.findings[0].evidence
    assert "without wave files" in result.findings[0].gain_basis
    assert result.table("plan").column("pattern")[0] == "exposed-load"


def test_a_kernel_without_stall_needs_no_plan(tmp_path: Path) -> None:
    capture = a_capture().with_code("v_add_f32 v0, v1, v2", "s_endpgm")
    result = plan_result(analysis(capture.with_wave([step(1), step(2)]), tmp_path))

    assert result.table("plan").rows == []
    assert result.findings == []


def test_an_empty_capture_gives_an_empty_plan(tmp_path: Path) -> None:
    result = plan_result(analysis(a_capture().with_code("s_endpgm"), tmp_path))

    assert result.table("plan").rows == []


@pytest.mark.parametrize(
    ("gain", "priority"),
    [
        (8.0, Priority.HIGH),
        (7.9, Priority.MEDIUM),
        (3.0, Priority.MEDIUM),
        (2.9, Priority.LOW),
        (None, Priority.LOW),
    ],
)
def test_priorities(gain: float | None, priority: Priority) -> None:
    assert priority_of(gain) is priority


def counters_of(*kernels: str) -> list[CounterTable]:
    rows = [
        (kernel, 1_000, {"TCC_HIT": 10.0 * number, "TCC_MISS": 5.0})
        for number, kernel in enumerate(kernels, 1)
    ]
    return [counted(*rows)]


def test_counters_of_the_kernel_are_found_by_name() -> None:
    found = KernelCounters.of_kernel(
        counters_of("axpy(float*)", "other", "axpy(float*)"), "axpy(float*)", None
    )

    assert found.values == {"TCC_HIT": 20.0, "TCC_MISS": 5.0}
    assert found.traffic is not None
    assert found.traffic.hit_percent == 80.0


def test_counters_are_found_by_the_short_name_too() -> None:
    found = KernelCounters.of_kernel(
        counters_of("axpy(float*) [clone .kd]"), "axpy(float*)", chip_named("gfx942")
    )

    assert found.values["TCC_HIT"] == 10.0


def test_counters_of_another_kernel_are_refused() -> None:
    with pytest.raises(UsageError, match="do not belong to axpy") as error:
        KernelCounters.of_kernel(counters_of("gemm"), "axpy(float*)", None)

    assert "gemm" in error.value.hint


def test_many_places_of_little_worth_are_one_group(tmp_path: Path) -> None:
    capture = a_capture()
    steps = []
    for line in range(300):
        capture.with_code(
            ("global_load_dword v0, v[4:5], off", f"/k.py:{line + 1}"), "s_waitcnt vmcnt(0)"
        )
        steps += [step(2 * line + 1), step(2 * line + 2, stall=100)]

    (change, _) = planned_changes(a_context(capture.with_wave(steps), tmp_path))

    assert change.opportunity.where == "k.py:1 and 299 other places"
    assert change.priority is Priority.HIGH
