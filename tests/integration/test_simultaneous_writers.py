"""Two processes write one output at the same time: nothing is lost, and nothing is half of each."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders import random_ops
from tests.recorded import PATIENCE_S, collector
from tests.sample_files import write_as
from wavescope.formats import open_trace
from wavescope.model.columns import OPS
from wavescope.placing import LONGEST_TOLD_NAME

WAVESCOPE = (sys.executable, "-m", "wavescope")
WRITER = """
import sys
import wavescope

trace, output, format_name, force = sys.argv[1:]
told = False

def wait(done, total):
    global told
    if not told:
        told = True
        print("writing", flush=True)
        sys.stdin.readline()

try:
    wavescope.convert(trace, output, format=format_name, force=force == "force", progress=wait)
except wavescope.WavescopeError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


class Writer:
    """A process that stops in the middle of its output."""

    def __init__(self, trace: Path, output: Path, format_name: str, *, force: bool) -> None:
        arguments = [str(trace), str(output), format_name, "force" if force else "new"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def begin(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "writing\n"

    def finish(self) -> str:
        """What it says at its end."""
        return self.process.communicate("\n", timeout=PATIENCE_S)[1]


@contextmanager
def writers(*given: Writer) -> Iterator[None]:
    try:
        yield
    finally:
        for writer in given:
            writer.process.kill()
            writer.process.communicate()


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("traces")
    return (
        write_as(random_ops(100), folder / "small.db"),
        write_as(random_ops(200), folder / "large.db"),
    )


KINDS = ["wavescope", "csv-folder"]


def op_count(path: Path, format_name: str) -> int:
    if format_name == "csv-folder":
        return len((path / "ops.csv").read_text().splitlines()) - 1
    with open_trace(path) as trace:
        return trace.source.row_count(OPS)


# A name that the folder of the unfinished output has no room for: nobody hears of it early.
LONG = "n" * (LONGEST_TOLD_NAME + 1)


@pytest.mark.parametrize("format_name", KINDS)
def test_the_second_writer_is_refused_at_the_end(
    traces: tuple[Path, Path], tmp_path: Path, format_name: str
) -> None:
    output = tmp_path / LONG
    first = Writer(traces[0], output, format_name, force=False)
    second = Writer(traces[1], output, format_name, force=False)
    with writers(first, second):
        first.begin()
        second.begin()
        assert second.finish() == ""
        said = first.finish()

    assert said == (
        f"OutputExistsError: {output} already exists: another process wrote it meanwhile\n"
    )
    assert op_count(output, format_name) == 200
    assert [path.name for path in tmp_path.iterdir()] == [LONG]


@pytest.mark.parametrize("format_name", KINDS)
def test_the_second_writer_is_refused_before_it_begins(
    traces: tuple[Path, Path], tmp_path: Path, format_name: str
) -> None:
    output = tmp_path / "out"
    first = Writer(traces[0], output, format_name, force=False)
    with writers(first):
        first.begin()
        done = subprocess.run(
            [*WAVESCOPE, "convert", traces[1], "--format", format_name, "-o", output],
            capture_output=True,
            text=True,
            check=False,
        )
        assert first.finish() == ""

    assert done.returncode == 2
    assert done.stderr.startswith(f"error: another process is writing {output}\n")
    assert op_count(output, format_name) == 100
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("format_name", KINDS)
def test_with_force_the_last_one_wins(
    traces: tuple[Path, Path], tmp_path: Path, format_name: str
) -> None:
    output = tmp_path / "out"
    first = Writer(traces[0], output, format_name, force=True)
    second = Writer(traces[1], output, format_name, force=True)
    with writers(first, second):
        first.begin()
        second.begin()
        assert second.finish() == ""
        assert op_count(output, format_name) == 200
        assert first.finish() == ""

    assert op_count(output, format_name) == 100
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_killed_writer_keeps_nobody_from_writing(
    traces: tuple[Path, Path], tmp_path: Path
) -> None:
    output = tmp_path / "out.db"
    killed = Writer(traces[0], output, "wavescope", force=False)
    with writers(killed):
        killed.begin()
    after = Writer(traces[1], output, "wavescope", force=False)
    with writers(after):
        after.begin()
        assert after.finish() == ""

    assert op_count(output, "wavescope") == 200


RECORDED = (
    "import ctypes, sys\n"
    "ctypes.CDLL(None).roctxMarkA(sys.argv[1].encode())\n"
    "print('running', flush=True)\n"
    "sys.stdin.readline()\n"
)


@pytest.fixture
def recording_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    collector()
    (tmp_path / "runtime").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def recording(name: str, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*WAVESCOPE, "trace", "-o", "t.db", *options, sys.executable, "-c", RECORDED, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def marker_names(path: Path) -> list[str]:
    with open_trace(path) as trace:
        return trace.markers.strings("name")


def test_a_recording_into_the_same_trace_is_refused_before_its_program_runs(
    recording_folder: Path,
) -> None:
    first = recording("first")
    assert first.stdout is not None
    assert first.stdout.readline() == "running\n"
    refused = recording("second")
    out, said = refused.communicate(timeout=PATIENCE_S)
    first.communicate("\n", timeout=PATIENCE_S)

    assert (refused.returncode, out) == (2, "")
    assert said.startswith(f"error: process {first.pid} is recording a program into t.db\n")
    assert first.returncode == 0
    assert marker_names(recording_folder / "t.db") == ["first"]


def test_a_recording_that_comes_second_keeps_its_records(recording_folder: Path) -> None:
    program = recording("mine")
    assert program.stdout is not None
    assert program.stdout.readline() == "running\n"
    (recording_folder / "t.db").write_text("of another program")
    _, said = program.communicate("\n", timeout=PATIENCE_S)

    assert program.returncode == 0  # the program's own
    assert (recording_folder / "t.db").read_text() == "of another program"
    assert "could not be merged: t.db already exists" in said
    (session,) = recording_folder.glob("t.db.session-*")
    done = subprocess.run(
        [*WAVESCOPE, "recover", session, "-o", "mine.db"], capture_output=True, check=False
    )
    assert done.returncode == 0
    assert marker_names(recording_folder / "mine.db") == ["mine"]


def test_recordings_with_force_leave_a_whole_trace_of_the_last(recording_folder: Path) -> None:
    first, second = recording("first", "--force"), recording("second", "--force")
    for program in (first, second):
        assert program.stdout is not None
        assert program.stdout.readline() == "running\n"
    second.communicate("\n", timeout=PATIENCE_S)
    assert marker_names(recording_folder / "t.db") == ["second"]
    first.communicate("\n", timeout=PATIENCE_S)

    assert (first.returncode, second.returncode) == (0, 0)
    assert marker_names(recording_folder / "t.db") == ["first"]
