"""Uneven waves: told by when compute units finish, not by how long single waves live."""

from __future__ import annotations

import json
from pathlib import Path

from tests.capture_folders import CaptureBuilder, a_capture, step
from tests.plan_contexts import a_context, analysis, found_by
from wavescope.analyze.capture import CaptureAnalysis
from wavescope.analyze.capture.kernel_waves import kernel_waves
from wavescope.analyze.capture.plan.context import PlanContext
from wavescope.analyze.capture.plan.patterns import uneven_waves
from wavescope.formats.captures import find_captures, load_capture


def waves_of(*lives: int) -> CaptureBuilder:
    """A wave on each of as many compute units, all begin at once."""
    capture = a_capture().with_code("v_add_f32 v0, v1, v2")
    for cu, life in enumerate(lives):
        capture.with_wave([step(1, issue=life)], cu=cu)
    return capture


def test_uneven_waves(tmp_path: Path) -> None:
    context = a_context(waves_of(100, 100, 100, 500), tmp_path)

    (found,) = found_by(uneven_waves.find, context)

    assert found.gain_cycles == round(800 * (500 - 200) / 500)
    assert found.evidence == (
        "the last of 4 compute units finishes after 500 cycles, the mean of them after 200"
    )
    assert "some of them wait longer" in found.cause
    assert "spread evenly" in found.gain_basis


def test_uneven_waves_with_uneven_work(tmp_path: Path) -> None:
    capture = waves_of(100, 100, 100)
    capture.with_wave([step(1, issue=100)] * 5, cu=3)

    (found,) = found_by(uneven_waves.find, a_context(capture, tmp_path))

    assert "5.0 times the instructions" in found.cause


def test_even_waves_are_none(tmp_path: Path) -> None:
    assert found_by(uneven_waves.find, a_context(waves_of(100, 100, 105, 100), tmp_path)) == []


def test_waves_are_uneven_from_a_fifth_above_the_mean(tmp_path: Path) -> None:
    above = a_context(waves_of(95, 95, 95, 95, 122), tmp_path / "above")
    exactly = a_context(waves_of(100, 100, 80, 120), tmp_path / "exactly")

    (found,) = found_by(uneven_waves.find, above)
    assert found.gain_cycles == round(502 * (122 - 502 / 5) / 122)
    assert found_by(uneven_waves.find, exactly) == []


def test_waves_of_different_lives_on_units_that_finish_together_are_even(tmp_path: Path) -> None:
    capture = a_capture().with_code("v_add_f32 v0, v1, v2")
    for cu in range(4):
        capture.with_wave([step(1, issue=500)], cu=cu)
        for begin in (0, 100, 200, 300, 400):
            capture.with_wave([step(1, issue=100)], cu=cu, simd=1, begin=begin)

    assert found_by(uneven_waves.find, a_context(capture, tmp_path)) == []


def test_one_compute_unit_says_nothing_of_the_others(tmp_path: Path) -> None:
    capture = a_capture().with_code("v_add_f32 v0, v1, v2")
    for simd, life in enumerate((100, 100, 100, 500)):
        capture.with_wave([step(1, issue=life)], simd=simd)

    assert found_by(uneven_waves.find, a_context(capture, tmp_path)) == []


def test_waves_that_leave_early_are_set_apart(tmp_path: Path) -> None:
    capture = waves_of(1_000, 1_000, 1_000, 1_000)
    for cu in range(4, 12):
        capture.with_wave([step(1, issue=20)], cu=cu)
    even = a_context(capture, tmp_path / "even")
    capture.with_wave([step(1, issue=4_000)], cu=12)

    assert found_by(uneven_waves.find, even) == [], "units whose waves left had nothing to finish"
    (found,) = found_by(uneven_waves.find, a_context(capture, tmp_path / "uneven"))
    assert found.numbers["left_early_waves"] == 8
    assert found.numbers["compute_units"] == 5
    assert "8 waves that lived less than 5 % of the longest are not counted" in found.evidence


def test_equal_work_whose_longest_wave_does_not_end_last_is_none(tmp_path: Path) -> None:
    """The last to end began late: it is not long, and no wave does more than another."""
    capture = waves_of(300, 100, 100)
    capture.with_wave([step(1, issue=200)], cu=3, begin=400)

    assert found_by(uneven_waves.find, a_context(capture, tmp_path)) == []


def test_more_work_in_a_wave_that_does_not_end_last_is_told(tmp_path: Path) -> None:
    capture = waves_of(100, 100)
    capture.with_wave([step(1, issue=150)] * 2, cu=2)
    capture.with_wave([step(1, issue=200)], cu=3, begin=400)

    (found,) = found_by(uneven_waves.find, a_context(capture, tmp_path))

    assert found.numbers["instruction_ratio"] == 2.0


def test_clocks_of_shader_engines_are_not_compared(tmp_path: Path) -> None:
    capture = a_capture().with_code("v_add_f32 v0, v1, v2")
    for engine, begin in enumerate((0, 1_000_000)):
        for cu in range(2):
            capture.with_wave([step(1, issue=100)], shader_engine=engine, cu=cu, begin=begin)

    assert found_by(uneven_waves.find, a_context(capture, tmp_path)) == []


def with_other_waves(folder: Path) -> CaptureAnalysis:
    """The capture with waves in occupancy.json that no file holds: of this and another kernel."""
    path = folder / "occupancy.json"
    document = json.loads(path.read_text())
    document["0"] += [[0, 9, 0, 0, 1, 1], [900, 9, 0, 0, 0, 1]]
    document["0"] += [[0, 10, 0, 0, 1, 2], [90_000, 10, 0, 0, 0, 2]]
    document["dispatches"]["2"] = "another(int)"
    path.write_text(json.dumps(document))
    return CaptureAnalysis(load_capture(find_captures([folder])[0]))


def test_waves_of_all_units_count_but_not_those_of_other_kernels(tmp_path: Path) -> None:
    untraced = with_other_waves(waves_of(100, 100, 100, 100).write(tmp_path))

    (found,) = found_by(uneven_waves.find, PlanContext(untraced))

    assert found.numbers["last_finish_cycles"] == 900
    assert found.numbers["compute_units"] == 5


def test_without_occupancy_the_wave_files_tell_of_the_traced_units(tmp_path: Path) -> None:
    folder = waves_of(100, 200).write(tmp_path)
    (folder / "occupancy.json").unlink()

    waves = kernel_waves(load_capture(find_captures([folder])[0]))

    assert waves.life.tolist() == [100, 200]
    assert waves.finish_times().tolist() == [100, 200]


def test_a_slot_that_is_used_again_at_once_holds_two_waves(tmp_path: Path) -> None:
    capture = a_capture().with_code("v_add_f32 v0, v1, v2")
    for begin in (0, 100):
        capture.with_wave([step(1, issue=100)], begin=begin)

    assert kernel_waves(analysis(capture, tmp_path).capture).life.tolist() == [100, 100]
