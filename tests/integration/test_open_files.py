"""Whoever opens traces in one process again and again runs out of nothing."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

import wavescope
from tests.builders import random_ops
from wavescope.cli.main import main
from wavescope.formats.wavescope.writing import write_trace


def open_files() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def a_trace_file(folder: Path) -> Path:
    path = folder / "trace.db"
    write_trace([random_ops(200).build().source], path)
    return path


@pytest.mark.parametrize("command", ["summary", "info", "phases", "steps", "analyze-trace"])
def test_commands_give_every_file_back(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = a_trace_file(tmp_path)
    main([command, "-q", str(path)])
    before = open_files()

    for _ in range(3):
        assert main([command, "-q", str(path)]) == 0

    assert open_files() == before


def test_traces_give_every_file_back_when_closed(tmp_path: Path) -> None:
    path = a_trace_file(tmp_path)
    before = open_files()

    for _ in range(3):
        with wavescope.open(path) as trace:
            assert len(trace.ops["start_ns"]) == 200

    assert open_files() == before
