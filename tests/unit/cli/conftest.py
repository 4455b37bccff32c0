"""Trace files and a way to run command lines in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.builders import a_trace
from tests.capture_folders import a_capture, step
from tests.counters_builder import a_workload
from wavescope.cli.main import main
from wavescope.formats.wavescope.writing import write_trace

HOSTILE_NAME = 'evil\n\x1b[31m</script>|"name"'


@dataclass(frozen=True)
class Ran:
    """What a command line left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `wavescope ARGUMENTS` as for a pipe of 100 columns."""
    monkeypatch.setenv("COLUMNS", "100")

    def ran(*arguments: str | Path) -> Ran:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Ran(code, captured.out, captured.err)

    return ran


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    """Two kernels of 1,000 and 3,000 ns on GPU 0, a copy on GPU 1, a marker around the first."""
    maker = (
        a_trace()
        .with_kernel("gemm", 1_000, 2_000, process=0)
        .with_kernel(HOSTILE_NAME, 4_000, 7_000, process=0)
        .with_copy(2_000, 6_000, gpu=1, size_bytes=8_000, process=1)
        .with_marker("prefill", 900, 2_500)
        .with_marker("decode", 3_000, 8_000)
        .with_call("hipLaunchKernel", 500, 900)
        .with_link(1, 1)
        .with_process(42, rank=0, name="server")
        .with_process(43, rank=1, name="server")
        .with_agent(0, chip="gfx942")
        .with_coverage(10, 3, skipped=7, reason="graph replay")
        .with_metadata("command", "python3 serve.py")
    )
    path = tmp_path / "trace.db"
    write_trace([maker.builder], path)
    return path


@pytest.fixture
def capture_folder(tmp_path: Path) -> Path:
    """A wave of two instructions that waits 9 cycles."""
    return (
        a_capture()
        .with_code(("s_waitcnt vmcnt(0)", "/k.py:2"), "s_endpgm")
        .with_wave([step(1, stall=9), step(2)])
        .write(tmp_path / "captured")
    )


@pytest.fixture
def counter_folder(tmp_path: Path) -> Path:
    """One dispatch of 1,000 ns with four waves."""
    folder = tmp_path / "counters"
    a_workload(folder).with_dispatch("gemm", 1_000, SQ_WAVES=4).write()
    return folder
