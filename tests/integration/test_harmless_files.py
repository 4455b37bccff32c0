"""A program's descriptors, files and limits are its own: the collector keeps none and changes none.

Each kind of trouble is met in the middle of a run. The program ends as it does alone, its files have
the same bytes under the same descriptors, and what could not be recorded is counted with its reason.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.executed import built, dispatch_coverage, run_on_gpu
from tests.recorded import ProcessFiles, only_process
from wavescope.formats.session.reading import open_session
from wavescope.model.columns import OPS

pytestmark = pytest.mark.recording

BEFORE, AFTER = 2_000, 40_000
NO_SPACE = "the disk, or the limit of a file's size, had no more room"
CUT_OFF = "the program closed the driver's descriptor: no signals are made any more"
FILE_NAMES = {"control", "counters", "facts", "markers", "ops", "text"}
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can do that to itself")


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
    """A run, alone or recorded; without the software GPU's log, which is a file of its own."""
    own = folder / "own"
    own.mkdir(parents=True)
    done = run_on_gpu(program, kind, own, folder=folder, mode=mode, WAVESCOPE_SOFTGPU_TRUTH="")
    result = (own / "result").read_text() if (own / "result").exists() else "none"
    return Seen(done.code, done.output, done.errors, result)


def recorded_beside(program: Path, kind: str, folder: Path) -> Path:
    """Run a kind alone and recorded, which must look the same; the session."""
    alone = seen_of(program, kind, folder / "alone", None)
    recorded = seen_of(program, kind, folder / "recorded", "standard")

    assert recorded == alone
    assert alone.code == 0
    return folder / "recorded" / "session"


def assert_losses(process: ProcessFiles, reason: str, words: str) -> None:
    """What was seen and not recorded is counted, and for this reason only."""
    coverage = dispatch_coverage(process)
    assert coverage["seen"] == BEFORE + AFTER
    assert coverage["lost"] == {reason: BEFORE + AFTER - coverage["timed"]}
    assert coverage["lost"][reason] > 0
    assert len(process.ops()) == coverage["timed"]
    lost_markers = BEFORE + AFTER - len(process.markers())
    markers, texts = process.facts("note")
    text = f"markers not recorded: {words}"
    assert markers == {"fact": "note", "text": text, "count": lost_markers}
    assert texts["text"] == f"texts not recorded: {words}"
    assert 0 < texts["count"] <= BEFORE + AFTER
    assert [fact["reason"] for fact in process.facts("end")] == ["exit"]


@pytest.mark.parametrize(
    "kind",
    [
        "nothing",
        "close_standard",
        "chdir",
        "umask",
        "limit_descriptors",
        pytest.param("chroot", marks=needs_root),
        pytest.param("setuid", marks=needs_root),
    ],
)
def test_nothing_is_lost_and_no_file_changed(program: Path, kind: str, tmp_path: Path) -> None:
    session = recorded_beside(program, kind, tmp_path)

    process = only_process(session)
    coverage = dispatch_coverage(process)
    assert (coverage["seen"], coverage["timed"]) == (BEFORE + AFTER, BEFORE + AFTER)
    assert len(process.ops()) == BEFORE + AFTER
    assert len(process.markers()) == BEFORE + AFTER
    assert session.stat().st_mode & 0o777 == 0o700
    modes = {path.suffix[1:]: path.stat().st_mode & 0o777 for path in session.iterdir()}
    assert modes == dict.fromkeys(FILE_NAMES, 0o600)


def test_a_limit_of_file_sizes_is_a_counted_loss(program: Path, tmp_path: Path) -> None:
    session = recorded_beside(program, "limit_file_size", tmp_path)

    assert_losses(only_process(session), "no_space", NO_SPACE)


@pytest.mark.parametrize("kind", ["close_range", "close_loop"])
def test_a_program_that_closes_the_drivers_descriptor_goes_on(
    program: Path, kind: str, tmp_path: Path
) -> None:
    process = only_process(recorded_beside(program, kind, tmp_path))

    coverage = dispatch_coverage(process)
    assert coverage["seen"] == BEFORE + AFTER
    assert coverage["timed"] == len(process.ops()) >= BEFORE
    lost = BEFORE + AFTER - coverage["timed"]
    assert coverage["lost"] == ({"buffer_full": lost} if lost else {})
    assert len(process.markers()) == BEFORE + AFTER
    assert [fact["text"] for fact in process.facts("note")] == [CUT_OFF]


def test_a_deleted_session_harms_nobody(program: Path, tmp_path: Path) -> None:
    session = recorded_beside(program, "session_deleted", tmp_path)

    assert list(session.iterdir()) == []


def test_files_in_the_place_of_the_session_stay_as_they_are(program: Path, tmp_path: Path) -> None:
    session = recorded_beside(program, "session_replaced", tmp_path)

    contents = {path.suffix[1:]: path.read_text() for path in session.iterdir()}
    assert contents == dict.fromkeys(FILE_NAMES, "mine")


def test_a_session_that_is_cut_off_harms_nobody_and_is_told(program: Path, tmp_path: Path) -> None:
    session = recorded_beside(program, "session_cut", tmp_path)

    with open_session(session) as source:
        assert source.row_count(OPS) == 0
        notes = dict(source.notes)
    assert "files of the session that somebody cut off: what was in them is lost" in notes


def test_a_full_disk_is_a_counted_loss(program: Path, tmp_path: Path) -> None:
    disk, own, kept = (tmp_path / name for name in ("disk", "own", "kept"))
    for folder in (disk, own):
        folder.mkdir()
    mount = f"mount -t tmpfs -o size=1M none {shlex.quote(str(disk))}"
    apart = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if subprocess.run([*apart, mount], capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    run = shlex.join([str(program), "nothing", str(own)])
    keep = shlex.join(["cp", "-r", str(disk / "session"), str(kept)])

    done = run_on_gpu(
        Path(shutil.which("unshare") or "unshare"),
        *apart[1:],
        f"{mount} && {run}; code=$?; {keep}; exit $code",
        folder=tmp_path,
        WAVESCOPE_OUTPUT=str(disk / "session"),
        WAVESCOPE_SOFTGPU_TRUTH="",
    )

    assert (done.code, done.output, done.errors) == (0, "done\n", "")
    assert_losses(only_process(kept), "no_space", NO_SPACE)
