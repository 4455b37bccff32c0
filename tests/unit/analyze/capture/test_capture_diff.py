"""Two captures compared: alignment of instructions, lines by text, cycles per wave, doubts."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture_folders import CaptureBuilder, a_capture, step
from tests.plan_contexts import analysis
from wavescope.analyze.capture.diff import capture_diff
from wavescope.analyze.capture.diff.alignment import aligned, normalized
from wavescope.model.result import Result

LOAD = "global_load_dwordx4 v[0:3], v[4:5], off"
WAIT = "s_waitcnt vmcnt(0)"
ADD = "v_add_f32 v0, v1, v2"
SOURCE = "@kernel\ndef k():\n    x = load()\n    y = x + 1\n"
SHIFTED = "# a new comment\n" + SOURCE


def a_kernel(
    stall: int, *, source: str = SOURCE, waves: int = 1, offset: int = 0
) -> CaptureBuilder:
    code = (
        (LOAD, f"/k.py:{3 + offset}"),
        (WAIT, f"/k.py:{4 + offset}"),
        (ADD, f"/k.py:{4 + offset}"),
    )
    capture = a_capture().with_code(*code).with_source("/k.py", source)
    for wave in range(waves):
        capture.with_wave([step(1), step(2, stall=stall), step(3)], simd=wave)
    return capture


def diff(before: CaptureBuilder, after: CaptureBuilder, folder: Path) -> Result:
    return capture_diff(analysis(before, folder / "a"), analysis(after, folder / "b"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LOAD, "global_load_dwordx4 v#, v#, off"),
        ("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], 0", "v_mfma_f32_16x16x16_f16 a#, v#, v#, #"),
        ("s_cbranch_scc1 65530", "s_cbranch_scc1 #"),
        ("buffer_load_dword v7, v1, s[0:3], 0 offen offset:0x40", "buffer_load_dword v#, v#, s#, # offen offset:#"),
    ],
)  # fmt: skip
def test_instructions_without_their_numbers(text: str, expected: str) -> None:
    assert normalized(text) == expected


def test_alignment_skips_what_is_new_and_what_is_gone() -> None:
    assert aligned(list("abcdef"), list("abXcdf")) == [(0, 0), (1, 1), (2, 3), (3, 4), (5, 5)]
    assert aligned(list("aaaa"), list("aaa")) == [(0, 0), (1, 1), (2, 2)]
    assert aligned([], list("abc")) == []
    assert aligned(list("ab"), list("ba")) in ([(0, 1)], [(1, 0)])


def test_alignment_of_repeated_code_uses_what_is_unique() -> None:
    left = ["x", "x", "load", "x", "x", "store", "x"]
    right = ["x", "load", "x", "x", "x", "store", "x"]

    pairs = aligned(left, right)

    assert (2, 1) in pairs
    assert (5, 5) in pairs


@given(
    st.lists(st.sampled_from("abcd"), max_size=30), st.lists(st.sampled_from("abcd"), max_size=30)
)
def test_pairs_are_equal_and_in_order(left: list[str], right: list[str]) -> None:
    pairs = aligned(left, right)

    assert all(left[at] == right[other] for at, other in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in itertools.pairwise(pairs))
    if left == right:
        assert pairs == [(at, at) for at in range(len(left))]


def test_cycles_are_per_wave(tmp_path: Path) -> None:
    result = diff(a_kernel(100), a_kernel(40, waves=3), tmp_path)

    assert result.facts["cycles_per_wave_a"] == 112
    assert result.facts["cycles_per_wave_b"] == 52
    assert result.facts["change_percent"] == pytest.approx(-53.57, abs=0.01)
    assert result.findings[0].title == "a wave of B takes 53.6 % fewer cycles than one of A"
    assert result.table("kinds").rows[0] == ("VMEM-wait", 100.0, 40.0, -60.0)


def test_lines_are_matched_by_their_text(tmp_path: Path) -> None:
    result = diff(a_kernel(100), a_kernel(40, source=SHIFTED, offset=1), tmp_path)

    lines = {row["source"]: row for row in result.table("lines").records()}
    assert set(lines) == {"x = load()", "y = x + 1"}
    assert (lines["y = x + 1"]["stall_a"], lines["y = x + 1"]["stall_b"]) == (100, 40)
    assert (lines["x = load()"]["charged_a"], lines["x = load()"]["charged_b"]) == (100, 40)
    assert lines["x = load()"]["line"] == "k.py:4", "as in B"


def test_lines_without_source_are_matched_by_number(tmp_path: Path) -> None:
    before, after = a_kernel(100), a_kernel(40)
    after.sources.clear()

    result = diff(before, after, tmp_path)

    assert "matched by their number" in result.table("lines").title
    labels = [row["line"] for row in result.table("lines").records()]
    assert sorted(labels) == ["k.py:3", "k.py:4"]


def test_instructions_are_aligned(tmp_path: Path) -> None:
    before = a_capture().with_code(LOAD, WAIT, ADD)
    before.with_wave([step(1), step(2, stall=100), step(3)])
    after = a_capture().with_code("global_load_dwordx4 v[8:11], v[4:5], off", "s_nop 0", WAIT, ADD)
    after.with_wave([step(1), step(2, stall=5), step(3, stall=20), step(4)])

    rows = diff(before, after, tmp_path).table("instructions").rows

    assert [row[:6] for row in rows] == [
        ("same", 2, 3, 100.0, 20.0, -80.0),
        ("only in B", None, 2, None, 5.0, 5.0),
        ("changed registers", 1, 1, 0.0, 0.0, 0.0),
        ("same", 3, 4, 0.0, 0.0, 0.0),
    ]


def test_the_same_capture_twice_changes_nothing(tmp_path: Path) -> None:
    result = diff(a_kernel(100), a_kernel(100), tmp_path)

    assert result.facts["change_percent"] == 0
    assert result.findings[0].title == "a wave of B takes as many cycles as one of A"
    assert all(row[5] == 0 for row in result.table("instructions").rows)


def test_the_same_code_that_went_round_more_often_did_other_work(tmp_path: Path) -> None:
    before, after = a_kernel(100), a_kernel(100)
    after.waves[0].steps *= 3

    verdict, doubt = diff(before, after, tmp_path).findings

    assert "3 and 9 instructions executed" in verdict.evidence
    assert doubt.title == "the same code did another amount of work"


def test_launches_of_other_sizes_are_compared_by_their_durations(tmp_path: Path) -> None:
    size = {"Workgroup_Size_X": 64, "Workgroup_Size_Y": 1, "Workgroup_Size_Z": 1}
    size |= {"Grid_Size_Y": 1, "Grid_Size_Z": 1, "Start_Timestamp": 1_000}
    before, after = a_kernel(100).with_agent(Name="gfx942"), a_kernel(200).with_agent(Name="gfx942")
    before.with_kernel_row(**size, Grid_Size_X=64_000, End_Timestamp=31_000)
    after.with_kernel_row(**size, Grid_Size_X=32_000, End_Timestamp=26_000)

    verdict, doubt = diff(before, after, tmp_path).findings

    assert verdict.title == "a wave of B takes 89.3 % more cycles than one of A"
    assert "the launch took 30.00 us in A and 25.00 us in B" in verdict.evidence
    assert verdict.numbers["launch_ns_b"] == 25_000
    assert doubt.title == "the launches have different numbers of waves"
    assert doubt.evidence.startswith("1,000 in A, 500 in B")


def test_a_capture_that_tells_nothing_raises_a_doubt(tmp_path: Path) -> None:
    nothing = a_kernel(100)
    nothing.waves.clear()

    titles = [finding.title for finding in diff(a_kernel(100), nothing, tmp_path).findings]

    assert "B tells nothing of the kernel" in titles


def test_captures_that_do_not_belong_together_raise_doubts(tmp_path: Path) -> None:
    other = a_capture(demangled="gemm(float*)", gfxip=11).with_code(
        "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]"
    )
    other.with_wave([step(1, stall=9)])

    titles = [finding.title for finding in diff(a_kernel(100), other, tmp_path).findings]

    assert "the captures are of different kernels" in titles
    assert "the captures are of different chips" in titles
    assert "most instructions have no partner" in titles
