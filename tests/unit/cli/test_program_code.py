"""What goes wrong after a recorded program's end is told, and its exit code stays."""

from __future__ import annotations

import errno

import pytest

from wavescope.cli.program_code import if_heard, program_code_kept
from wavescope.errors import MachineError


def after_the_program(error: Exception) -> None:
    def fail() -> None:
        raise error

    with program_code_kept():
        fail()


def test_errors_are_told_with_their_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    after_the_program(MachineError("the disk is gone", hint="look for it"))
    after_the_program(OSError(errno.ENOSPC, "No space left on device", "trace.pftrace"))

    assert capsys.readouterr().err.splitlines() == [
        "error: the disk is gone",
        "hint: look for it",
        "error: trace.pftrace: No space left on device",
        "hint: free some space, or choose another place with -o (TMPDIR for temporary files)",
    ]


def test_nobody_is_told_that_nobody_reads(capsys: pytest.CaptureFixture[str]) -> None:
    after_the_program(BrokenPipeError(errno.EPIPE, "Broken pipe"))

    assert capsys.readouterr().err == ""


def test_what_is_said_before_a_program_cannot_keep_it_from_running() -> None:
    said: list[str] = []

    def only_once(sentence: str) -> None:
        if said:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        said.append(sentence)

    tell = if_heard(only_once)
    tell("first")
    tell("second")

    assert said == ["first"]
