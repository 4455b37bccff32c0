"""`tools/test_runtimes`: the tests of recording on each runtime that is there, and a word about the others."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools/test_runtimes"
FETCHES = """#!/bin/sh
test "$3" != none && exit 0
echo "reading package lists" >&2
echo "error: apt on this machine knows no archive of Debian" >&2
echo "hint: name one" >&2
exit 3
"""
TESTS = """#!/bin/sh
echo "$WAVESCOPE_TEST_RUNTIME: $*"
test "$WAVESCOPE_TEST_RUNTIME" != failing
"""


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    for name, text in {"wavescope": FETCHES, "pytest": TESTS}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def run(tools: Path, *runtimes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(TOOL), str(tools), *runtimes], capture_output=True, text=True, check=False
    )


def test_what_cannot_be_fetched_is_told_in_a_line_and_fails_nothing(tools: Path) -> None:
    done = run(tools, "none")

    reason = "error: apt on this machine knows no archive of Debian"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"runtime none is not tested: {reason}\n"


def test_a_failure_on_a_runtime_fails_after_the_others_were_tested(tools: Path) -> None:
    done = run(tools, "failing", "none", "6.4")

    assert (done.returncode, done.stderr) == (1, "tests failed on: failing\n")
    tested = [line.partition(":")[0] for line in done.stdout.splitlines() if " -m " in line]
    assert tested == ["failing", "6.4"]


@pytest.mark.parametrize(
    ("runtime", "tests"),
    [
        ("6.4", "(recording or runtimes) and not engine and not slow and not gpu and not torch"),
        ("6.4+llama", "engine"),
    ],
)
def test_the_tests_of_a_runtime_are_chosen(tools: Path, runtime: str, tests: str) -> None:
    done = run(tools, runtime)

    assert done.returncode == 0
    assert f"{runtime}: -n auto -rs -m {tests} tests/integration\n" in done.stdout
