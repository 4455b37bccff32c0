"""A program's descriptors, files and limits are its own: the collector keeps none and changes none.

Each kind of trouble is met in the middle of a run. The program ends as it does alone, its files have
the same bytes under the same descriptors, and what could not be recorded is counted with its reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.executed import built, dispatch_coverage, run_on_gpu
from tests.recorded import processes

BEFORE, AFTER = 2_000, 40_000


@dataclass(frozen=True)
class Seen:
    """What a program and its user see."""

    code: int
    output: str
    errors: str
    result: str


@pytest.fixture
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.getbasetemp() / "kinds"
    folder.mkdir(exist_ok=True)
    return built("kinds_files.c", folder)


def seen_of(program: Path, kind: str, folder: Path, mode: str | None) -> Seen:
    own = folder / "own"
    own.mkdir(parents=True)
    for path in (folder, own):
        path.chmod(0o777)
    done = run_on_gpu(program, kind, own, folder=folder, mode=mode, WAVESCOPE_SOFTGPU_TRUTH="")
    result = own / "result"
    return Seen(
        done.code, done.output, done.errors, result.read_text() if result.exists() else "none"
    )


@pytest.mark.parametrize(
    "kind", ["nothing", "close_range", "close_loop", "close_standard", "chdir"]
)
def test_nothing_is_lost_and_no_file_changed(program: Path, kind: str, tmp_path: Path) -> None:
    alone = seen_of(program, kind, tmp_path / "alone", None)
    recorded = seen_of(program, kind, tmp_path / "recorded", "standard")

    assert recorded == alone
    assert alone.code == 0
    (process,) = processes(tmp_path / "recorded" / "session")
    coverage = dispatch_coverage(process)
    assert (coverage["seen"], coverage["timed"]) == (BEFORE + AFTER, BEFORE + AFTER)
    assert len(process.ops()) == BEFORE + AFTER
    assert len(process.markers()) == BEFORE + AFTER
