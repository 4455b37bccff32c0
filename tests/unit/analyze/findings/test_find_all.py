"""Every finding on a trace that has it and on one that has not, with evidence that holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.builders import TraceMaker, a_trace
from tests.unit.analyze.findings import traces
from tests.unit.analyze.work.inputs import BF16, FLOAT
from wavescope.analyze.findings import FINDING_IDS, evidence_of, findings
from wavescope.analyze.quick_findings import Thresholds
from wavescope.errors import UsageError
from wavescope.formats.sqlite.read_only_query import ReadOnlyQuery
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.columns import MONITORS
from wavescope.model.progress import NO_LAUNCH
from wavescope.model.result import Finding, Result, Severity
from wavescope.model.selection import Selection, select

Make = Callable[[], TraceMaker]

CASES: dict[str, tuple[Make, Make]] = {
    "launch-bound": (traces.decode_of_short_ops, lambda: traces.decode_of_short_ops(gap_ns=400)),
    "gpu-idle": (
        lambda: traces.launched_every(50, 100_000, 10_000, 20_000),
        lambda: traces.launched_every(50, 100_000, 95_000, 20_000),
    ),
    "exposed-communication": (
        traces.exposed_collective,
        lambda: traces.exposed_collective(compute_end_ns=89),
    ),
    "exposed-copies": (traces.exposed_copy, lambda: traces.exposed_copy(compute_end_ns=89)),
    "copy-storm": (traces.many_fills, lambda: traces.many_fills(400, among=10_000)),
    "tiny-kernels": (traces.tiny_ones, lambda: traces.tiny_ones(6_000)),
    "slow-gpu": (traces.four_gpus, lambda: traces.four_gpus(slow_percent=3)),
    "duration-outliers": (traces.with_outliers, lambda: traces.with_outliers(40_000)),
    "duration-drift": (traces.drifting, lambda: traces.drifting(percent=1)),
    "queue-serialization": (traces.two_queues, lambda: traces.two_queues(5_000)),
    "low-coverage": (lambda: traces.covered(60), lambda: traces.covered(99)),
    "unknown-launches": (lambda: traces.partly_launched(10), lambda: traces.partly_launched(20)),
    "unfused-attention": (
        traces.attention_in_parts,
        lambda: traces.attention_in_parts(chosen="topk_select_kernel"),
    ),
    # 137.4 GFLOP take 138.9 us at the peak
    "above-roofline": (
        lambda: traces.products_of("aten::mm", BF16, 400_000),
        lambda: traces.products_of("aten::mm", BF16, 200_000),
    ),
    "full-precision-products": (
        lambda: traces.products_of("aten::mm", FLOAT, 3_000_000),
        lambda: traces.products_of("aten::mm", BF16, 3_000_000),
    ),
    "unfused-elementwise": (
        lambda: traces.in_a_row([traces.GEMM, traces.ADD, traces.ADD], 100_000, 20),
        lambda: traces.in_a_row([traces.GEMM, traces.ADD], 100_000, 30),
    ),
    "dominant-work": (
        lambda: traces.in_a_row([traces.MOE, traces.MOE, traces.GEMM], 100_000, 20),
        lambda: traces.in_a_row([traces.MOE, traces.GEMM, "rms_norm_kernel"], 100_000, 20),
    ),
    "clock-inversion": (traces.inverted, lambda: traces.partly_launched(20)),
    "sampled": (
        lambda: traces.covered(60).with_slice(0, 1_000),
        lambda: traces.covered(60),
    ),
    "copy-clock": (lambda: traces.copied_back(10_050), lambda: traces.copied_back(10_049)),
}


def found(make: Make, identifier: str) -> list[Finding]:
    return [each for each in findings(make().build()) if each.id == identifier]


def test_there_is_a_case_for_every_finding() -> None:
    assert {*CASES, "input-repaired"} == set(FINDING_IDS)


@pytest.mark.parametrize("identifier", CASES)
def test_told_where_it_is_and_only_there(identifier: str) -> None:
    has_it, has_it_not = CASES[identifier]

    assert found(has_it, identifier)
    assert not found(has_it_not, identifier)


@pytest.mark.parametrize("identifier", CASES)
def test_evidence_gain_and_next_step_are_there(identifier: str) -> None:
    for each in found(CASES[identifier][0], identifier):
        assert each.title and each.evidence and each.suggestion
        assert any(character.isdigit() for character in each.title + each.evidence)
        assert each.numbers
        assert (each.gain_percent is None) == (not each.gain_basis)
        assert each.gain_percent is None or 0 < each.gain_percent <= 100
        json.dumps(Result("x", findings=[each]).to_json())


OF_THE_RECORDING = {"low-coverage", "sampled", "clock-inversion"}
"""They speak of the whole recording, of no place in it."""


@pytest.mark.parametrize("identifier", sorted(CASES.keys() - OF_THE_RECORDING))
def test_a_timeline_can_be_moved_to_where_it_is_seen(identifier: str) -> None:
    trace = CASES[identifier][0]().build()

    for each in findings(trace):
        assert each.id in OF_THE_RECORDING or evidence_of(trace, each) is not None


@pytest.mark.parametrize("identifier", CASES)
def test_the_sql_runs_on_the_trace_file_and_shows_rows(identifier: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.db"
    maker = CASES[identifier][0]()
    write_trace([maker.builder], path)
    for each in found(lambda: maker, identifier):
        with closing(ReadOnlyQuery(path, each.sql)) as query:
            assert list(query)


def rows_of(maker: TraceMaker, finding: Finding, tmp_path: Path) -> list[dict[str, object]]:
    path = tmp_path / "trace.db"
    write_trace([maker.builder], path)
    with closing(ReadOnlyQuery(path, finding.sql)) as query:
        return [dict(zip(query.columns, row, strict=True)) for row in query]


class TestNumbersOfTheQueryAreThoseOfTheFinding:
    def test_idle(self, tmp_path: Path) -> None:
        maker = traces.launched_every(50, 100_000, 10_000, 20_000)
        (idle,) = found(lambda: maker, "gpu-idle")
        first = rows_of(maker, idle, tmp_path)[0]

        assert first["idle_ns"] == idle.numbers["idle_ns"] == 49 * 90_000
        assert first["gaps"] == idle.numbers["gap_count"] == 49
        assert first["op_after"] == idle.numbers["op_after_longest_gap"] == 2

    def test_storm(self, tmp_path: Path) -> None:
        maker = traces.many_fills()
        (storm,) = found(lambda: maker, "copy-storm")
        (row,) = rows_of(maker, storm, tmp_path)

        assert (row["calls"], row["total_ns"]) == (600, 2_400_000)
        assert (storm.numbers["calls"], storm.numbers["total_ns"]) == (600, 2_400_000)

    def test_outliers(self, tmp_path: Path) -> None:
        maker = traces.with_outliers()
        (outliers,) = found(lambda: maker, "duration-outliers")
        rows = rows_of(maker, outliers, tmp_path)

        assert [row["id"] for row in rows[:3]] == [51, 101, 151]
        assert outliers.numbers["longest_op"] == 51
        assert outliers.numbers["excess_ns"] == 3 * 490_000

    def test_coverage(self, tmp_path: Path) -> None:
        maker = traces.covered(60)
        (coverage,) = found(lambda: maker, "low-coverage")
        (row,) = rows_of(maker, coverage, tmp_path)

        assert (row["seen"], row["timed"]) == (100, 60)
        assert coverage.numbers["timed_percent"] == 60.0

    def test_slow_gpu(self, tmp_path: Path) -> None:
        maker = traces.four_gpus()
        (slow,) = found(lambda: maker, "slow-gpu")
        rows = rows_of(maker, slow, tmp_path)

        assert {row["gpuId"]: row["mean_ns"] for row in rows} == {
            0: 100_000, 1: 100_000, 2: 120_000, 3: 100_000,
        }  # fmt: skip
        assert (slow.numbers["gpu"], slow.numbers["rank"]) == (2, 2)
        assert slow.numbers["excess_percent"] == 20.0


def test_the_phase_bound_by_launches_is_named() -> None:
    (finding,) = found(traces.decode_of_short_ops, "launch-bound")

    assert finding.where == "phase decode"
    assert finding.numbers["ops"] == 200
    assert finding.numbers["gaps_ns"] == 200 * 30_000
    assert finding.gain_percent == 100 * 29 / 32
    assert finding.gain_basis.startswith("1.000 us left of each of these gaps")


def test_a_parent_is_not_told_when_its_child_explains_it() -> None:
    maker = traces.decode_of_short_ops().with_marker("request", 0, 200_000_000)

    assert [each.where for each in found(lambda: maker, "launch-bound")] == [
        "phase request > decode"
    ]


def test_a_trace_without_markers_can_be_launch_bound() -> None:
    maker = traces.every(a_trace(), "k", 200, 20_000, 2_000)

    assert [each.where for each in found(lambda: maker, "launch-bound")] == ["trace"]


def test_what_is_the_same_on_all_gpus_is_told_once() -> None:
    maker = a_trace()
    for gpu in range(4):
        maker.with_kernel("a", 0, 10, gpu=gpu).with_kernel("a", 90 - gpu, 100, gpu=gpu)
    (idle,) = found(lambda: maker, "gpu-idle")

    assert idle.numbers["gpu"] == 0
    assert idle.numbers["gpus"] == "0,1,2,3"
    assert idle.where == "gpus 0,1,2,3"
    assert "likewise GPU 1 79.0 %" in idle.evidence


def test_outliers_of_other_launch_sizes_are_none() -> None:
    maker = a_trace()
    for index in range(200):
        large = index % 100 == 50
        maker.with_kernel(
            "k",
            index * 10**6,
            index * 10**6 + (500_000 if large else 10_000),
            grid_x=99 if large else 1,
        )

    assert not found(lambda: maker, "duration-outliers")


@pytest.mark.parametrize(("after_the_long_one", "is_told"), [("argmax", False), ("norm", True)])
def test_long_calls_that_run_between_other_kernels_are_other_work(
    after_the_long_one: str, is_told: bool
) -> None:
    """The head of a model runs with the kernel of its layers, launched as large."""
    maker, now = a_trace(), 0
    step = [("norm", 10_000), ("gemm", 10_000)] * 24
    long = [("norm", 10_000), ("gemm", 200_000), (after_the_long_one, 10_000)]
    for name, length in [*step, *long] * 20:
        maker.with_kernel(name, now, now + length, grid_x=132)
        now += length

    assert bool(found(lambda: maker, "duration-outliers")) == is_told


@pytest.mark.parametrize(("gap_ns", "is_told"), [(1_400, False), (2_500, True)])
def test_short_gaps_without_recorded_launches_are_the_steps_of_the_gpu(
    gap_ns: int, is_told: bool
) -> None:
    maker = traces.decode_of_short_ops(gap_ns=gap_ns)

    assert bool(found(lambda: maker, "launch-bound")) == is_told


def test_growing_work_is_no_drift() -> None:
    assert not found(lambda: traces.drifting(grid_step=1), "duration-drift")


def test_kernels_that_get_faster_are_only_mentioned() -> None:
    (finding,) = found(lambda: traces.drifting(percent=-10), "duration-drift")

    assert (finding.severity, finding.gain_percent) == (Severity.INFO, None)


def test_queues_used_one_after_the_other_do_not_take_turns() -> None:
    assert not found(lambda: traces.two_queues(offset_ns=2_000_000), "queue-serialization")


def test_the_gravest_comes_first() -> None:
    maker = traces.covered(10).with_kernel("late", 1_000_000, 1_000_010)
    severities = [each.severity for each in findings(maker.build())]

    assert severities == sorted(severities, key=list(reversed(Severity)).index)
    assert severities[0] is Severity.PROBLEM


def test_a_filter_that_hides_copies_tells_nothing_of_them() -> None:
    trace = traces.exposed_copy().build()

    assert "exposed-copies" in {finding.id for finding in findings(trace)}
    part = select(trace, Selection(kernel="Cijk"))
    assert len(part.ops) == 2
    assert "exposed-copies" not in {finding.id for finding in findings(part)}


def test_thresholds_decide() -> None:
    trace = traces.exposed_collective(compute_end_ns=85).build()
    strict = Thresholds().with_values({"exposed_communication_percent": 5})

    assert "exposed-communication" not in [each.id for each in findings(trace)]
    assert "exposed-communication" in [each.id for each in findings(trace, strict)]
    with pytest.raises(UsageError, match="no threshold 'nothing'"):
        Thresholds().with_values({"nothing": 1})


def test_empty_and_hostile_traces() -> None:
    assert findings(a_trace().build()) == []
    low, high = -(1 << 62), 1 << 62
    maker = a_trace().with_kernel("'; DROP TABLE\x00 --", low, low + 10)
    maker.with_kernel("", 0, 0).with_kernel("x", high - 5, high).with_op("", 5, 6, type="Barrier")

    assert {each.id for each in findings(maker.build())} == {"gpu-idle"}


def test_gaps_between_replays_of_many_ops_are_not_launch_bound() -> None:
    maker = a_trace()
    for replay in range(20):
        first_ns = replay * 1_000_000
        traces.every(maker, "k", 100, 2_000, 2_000, first_ns=first_ns)

    assert not found(lambda: maker, "launch-bound")
    assert found(lambda: maker, "gpu-idle")


def test_a_gpu_with_more_work_is_not_called_slow() -> None:
    maker = a_trace()
    for gpu in range(3):
        for index in range(100):
            size = 120 if gpu == 1 else 100
            start = index * 200_000
            grid = {"grid_x": size, "grid_y": 1, "grid_z": 1}
            maker.with_kernel(traces.GEMM, start, start + size * 1_000, gpu=gpu, **grid)
    (finding,) = found(lambda: maker, "slow-gpu")

    assert finding.title == "GPU 1 needs 20.0 % longer than the others, for 20.0 % more work"
    assert finding.numbers["more_work_percent"] == 20.0
    assert "balance" in finding.suggestion


def test_the_gaps_of_the_phase_can_be_queried(tmp_path: Path) -> None:
    maker = traces.decode_of_short_ops()
    (finding,) = found(lambda: maker, "launch-bound")
    rows = rows_of(maker, finding, tmp_path)

    assert (rows[0]["gaps"], rows[0]["idle_ns"]) == (200, finding.numbers["gaps_ns"])
    assert {row["description"] for row in rows} == {"short"}
    assert finding.numbers["median_ns"] == 2_000


def test_drift_is_compared_with_the_clock_where_it_was_sampled() -> None:
    maker = traces.drifting()
    for index in range(20):
        maker.builder.add_row(
            MONITORS,
            device_type="gpu",
            device=0,
            quantity="sclk",
            start_ns=index,
            end_ns=index + 1,
            value=f"{2100 - 10 * index} MHz",
        )
    (finding,) = found(lambda: maker, "duration-drift")

    assert "the clock went from 2085 to 1925 (-7.7 %)" in finding.evidence
    assert finding.numbers["clock_change_percent"] == pytest.approx(-7.674, abs=0.001)
    (without,) = found(traces.drifting, "duration-drift")
    assert without.numbers["clock_change_percent"] is None


@pytest.mark.parametrize(
    ("linked", "told_by"), [(10, ["unknown-launches"]), (20, ["input-repaired"])]
)
def test_ops_without_a_launch_are_told_once(linked: int, told_by: list[str]) -> None:
    trace = traces.partly_launched(linked).build()
    trace.notes.add(f"ops (of 20) {NO_LAUNCH}", 20 - linked or 1)

    assert [each.id for each in findings(trace) if "no launch" in each.title] == told_by


def test_copies_that_contradict_their_calls_say_by_how_much() -> None:
    maker = (
        traces.copied_back(487_050)
        .with_copy(90, 100)
        .with_call("hipMemcpyAsync", 95, 96)
        .with_link(2, 2)
        .with_copy(200, 300, type="CopyDeviceToHost")
        .with_call("hipMemcpyDtoHAsync", 150, 160)
        .with_link(3, 3)
        .with_kernel("k", 10, 20)
        .with_call("hipLaunchKernel", 15, 16)
        .with_link(4, 4)
    )
    (finding,) = found(lambda: maker, "copy-clock")

    expected = {"copies": 2, "linked": 3, "largest_ns": 487_000, "first_op": 1}
    assert finding.numbers == expected
    assert "by up to 487.0 us, op 1" in finding.evidence


def test_copies_that_began_before_the_selected_time_are_not_told() -> None:
    maker = a_trace().with_copy(0, 900).with_kernel("gemm", 950, 1_000)
    maker.with_kernel("gemm", 100, 110, queue=1)
    part = select(maker.build(), Selection(start="50", end="2000"))

    assert "exposed-copies" not in {finding.id for finding in findings(part)}
