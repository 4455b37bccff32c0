"""Which line an instruction belongs to: never the head of a function."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture_folders import a_capture, step
from tests.plan_contexts import a_context, analysis
from wavescope.analyze.capture.function_headers import function_headers, is_statement
from wavescope.analyze.capture.plan import plan_result
from wavescope.model.result import Result

SOURCE = """import flyc

@flyc.kernel(
    warps=4,
)
def attention(
    query,
    scale: float,
):
    \"\"\"What it does
    in two lines.\"\"\"
    # load first
    value = load(
        query,
    )
    return value
"""
LOAD = "global_load_dwordx4 v[8:11], v[2:3], off"


def test_heads_of_functions_take_all_of_their_lines() -> None:
    headers = function_headers(SOURCE.splitlines(), "/k.py")

    assert [line for line, why in sorted(headers.items()) if why == "decorator"] == [3, 4, 5]
    assert [line for line, why in sorted(headers.items()) if why == "function definition"] == [
        6, 7, 8, 9,
    ]  # fmt: skip
    assert [line for line, why in sorted(headers.items()) if "docstring" in why] == [10, 11]


def test_a_file_that_is_no_python_is_read_line_by_line() -> None:
    headers = function_headers(["@jit", "def f(", "  x):", "  y = (((", "'"], "/k.py")

    assert headers == {1: "decorator", 2: "function definition", 3: "function definition"}
    assert function_headers(["int f() {", "  return 1;"], "/k.cpp") == {}


@pytest.mark.parametrize(
    ("line", "expected"),
    [("    v = load(x)", True), ("  )", False), ("", False), ("  # load", False), ("// c", False)],
)
def test_lines_that_hold_code(line: str, expected: bool) -> None:
    assert is_statement(line) is expected


def a_plan_of(source_of_load: str, folder: Path) -> Result:
    capture = (
        a_capture()
        .with_source("/k.py", SOURCE)
        .with_code((LOAD, source_of_load), ("s_waitcnt vmcnt(0)", "/k.py:6"), "s_endpgm")
        .with_wave([step(1), step(2, stall=900), step(3)])
    )
    return plan_result(analysis(capture, folder))


@pytest.mark.parametrize("line", [3, 4, 6, 7, 10, 12, 15])
def test_a_head_is_never_the_line_to_move(line: int, tmp_path: Path) -> None:
    result = a_plan_of(f"/k.py:{line}", tmp_path)

    assert result.table("plan").column("where")[0] == "row 1"
    assert result.table("sketch_1").column("before") == [LOAD, "<use it>  # waits", ""]


def test_the_caller_of_a_head_is(tmp_path: Path) -> None:
    result = a_plan_of("/k.py:6 -> /k.py:13", tmp_path)

    assert result.table("plan").column("where")[0] == "k.py:13"
    assert result.table("sketch_1").column("before")[0] == "value = load("


def test_instructions_of_a_head_are_told_apart(tmp_path: Path) -> None:
    """Two loads that the compiler put on the definition are two places, not one."""
    capture = a_capture().with_source("/k.py", SOURCE)
    capture.with_code(
        (LOAD, "/k.py:6"), "s_waitcnt vmcnt(0)", (LOAD, "/k.py:6"), "s_waitcnt vmcnt(0)"
    )
    capture.with_wave([step(1), step(2, stall=500), step(3), step(4, stall=400)])

    result = plan_result(analysis(capture, tmp_path))

    assert result.table("plan").column("where")[:2] == ["row 1", "row 3"]


def test_loops_are_claimed_only_where_a_wave_went_round(tmp_path: Path) -> None:
    straight = a_capture().with_code(LOAD, "s_waitcnt vmcnt(0)", "s_cbranch_scc1 65530")
    straight.with_wave([step(1), step(2, stall=900), step(3)])
    round_again = a_capture().with_code(LOAD, "s_waitcnt vmcnt(0)", "s_cbranch_scc1 65530")
    round_again.with_wave([step(1), step(2, stall=900), step(3)] * 2)

    once = plan_result(analysis(straight, tmp_path / "once")).table("sketch_1")
    twice = plan_result(analysis(round_again, tmp_path / "twice")).table("sketch_1")

    assert not any(str(line).startswith("for each") for row in once.rows for line in row)
    assert twice.column("before")[0] == "for each element:"
    assert a_context(straight, tmp_path / "context").loops == []
