"""The demo's compiler: nothing of it goes on when the demo does not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.processes import wait_until_killed
from wavescope.collect.demo import programs


def test_what_a_compiler_started_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    monkeypatch.setattr(programs, "_BUILD_SECONDS", 1)

    with pytest.raises(subprocess.TimeoutExpired):
        programs._compiled(["sh", "-c", f"sleep 600 & echo $! >{started}; wait"], tmp_path)

    wait_until_killed(int(started.read_text()))


def test_a_compiler_says_what_is_wrong_and_keeps_its_files_together(tmp_path: Path) -> None:
    command = ["sh", "-c", 'echo "$HIP_PLATFORM $TMPDIR" >&2; exit 3']

    assert programs._compiled(command, tmp_path) == (3, f"amd {tmp_path}\n")
