"""What of an outcome is a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.cases import Case
from fuzz.execution import Limits, Places
from fuzz.inputs import Input
from fuzz.verdict import HANG, Outcome, failure_of
from fuzz.worker import Worker

REFUSED = "error: cannot read x: it is damaged\nhint: look\n"


@pytest.mark.parametrize(
    ("outcome", "failure"),
    [
        (Outcome(), ""),
        (Outcome(code=3, errors=REFUSED), ""),
        (Outcome(code=3, errors="damaged\n"), "no error in one sentence"),
        (Outcome(code=70, errors=REFUSED), "exit code 70"),
        (Outcome(signal=HANG), "hang"),
        (Outcome(errors="a\x1b[31m"), "control characters in a message"),
        (Outcome(left=("x",)), "files were left behind"),
        (Outcome(changed=("x",)), "the input was changed"),
        (Outcome(tells_bug=True), "a bug in a worker"),
        (Outcome(peak_bytes=200), "too much memory"),
    ],
)
def test_what_is_a_failure(outcome: Outcome, failure: str) -> None:
    assert failure_of(outcome, most_bytes=100) == failure


def test_a_bug_that_a_worker_tells_in_a_row_is_seen(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    trace = b'{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":5}]}'
    command = ("query", "{in}", "SELECT 'a bug: KeyError'")
    case = Case("any", 0, Input({"t.json": trace}, "t.json"), command)
    worker = Worker(Places(tmp_path / "run", tmp_path), lambda *_: case, Limits(seconds=60))

    with capfd.disabled():  # the child has its own standard output
        outcome = worker.run_once(case)

    assert (outcome.code, outcome.tells_bug) == (0, True)
