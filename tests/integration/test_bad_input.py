"""Bad inputs against every command: a clear error or a repaired read, and nothing else touched."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

import wavescope
from tests.builders import a_trace
from tests.integration.bad_inputs import EMPTY, REFUSED, REPAIRED, Make
from tests.sample_files import write_as
from wavescope.cli.main import main
from wavescope.units import fit_for_spreadsheets

COMMANDS: dict[str, tuple[str, ...]] = {
    "info": ("info", "IN"),
    "summary": ("summary", "IN"),
    "phases": ("phases", "IN"),
    "steps": ("steps", "IN"),
    "work": ("work", "IN"),
    "analyze-trace": ("analyze-trace", "IN"),
    "compare": ("compare", "IN", "GOOD"),
    "compared with": ("compare", "GOOD", "IN"),
    "query": ("query", "IN", "SELECT count(*) FROM rocpd_op"),
    "report": ("report", "IN", "-o", "OUT.html"),
    "reports": ("report", "IN", "GOOD", "-o", "OUT.html"),
    "trim": ("trim", "IN", "-o", "OUT.db", "--start", "0%"),
    "merge": ("merge", "IN", "GOOD", "-o", "OUT.db"),
    "wavescope": ("convert", "IN", "-o", "OUT.db"),
    "perfetto": ("convert", "IN", "-o", "OUT.pftrace"),
    "chrome": ("convert", "IN", "-o", "OUT.json.gz"),
    "csv": ("convert", "IN", "-o", "OUT", "--format", "csv-folder"),
    "parquet": ("convert", "IN", "-o", "OUT", "--format", "parquet-folder"),
    "rocprofv3": ("convert", "IN", "-o", "OUT_results.json"),
    "rpd": ("convert", "IN", "-o", "OUT.rpd"),
}
READING = (
    "info",
    "summary",
    "phases",
    "steps",
    "work",
    "analyze-trace",
    "compare",
    "compared with",
    "query",
)
VERDICTS: dict[str, tuple[str, ...]] = {
    "base": ("compare", "--base", "IN", "--new", "GOOD"),
    "new": ("compare", "--base", "GOOD", "--new", "IN"),
}
"""Their exit code is the verdict."""
SEEN_BY_SQL = ("times that are text", "row ids below zero")
"""What is wrong with rows is nothing to SQL, which shows a trace file as it is."""
HOSTILE = '"quoted" <b></script> line\nbreak ../../etc/passwd \x1b[31mred %s {0} \u202e\u200b'


@dataclass(frozen=True)
class Ran:
    """What a command left behind; `folder` held nothing before."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def written(self) -> list[Path]:
        return sorted(self.folder.iterdir())


Run = Callable[..., Ran]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A readable trace, for what needs two."""
    path = tmp_path_factory.mktemp("good") / "good.db"
    return write_as(a_trace().with_kernel("fine", 1, 2), path)


@pytest.fixture
def run(
    tmp_path: Path,
    good: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Runs a command of the table on an input, writing into a folder of its own."""
    numbers = itertools.count()
    monkeypatch.setenv("COLUMNS", "200")

    def ran(command: str, path: Path, *more: str) -> Ran:
        folder = tmp_path / f"written {next(numbers)}"
        folder.mkdir()
        words = {"IN": str(path), "GOOD": str(good)}
        arguments = [
            str(folder / word) if word.startswith("OUT") else words.get(word, word)
            for word in {**COMMANDS, **VERDICTS}[command]
        ]
        capfd.readouterr()
        code = main([*arguments, *more])
        captured = capfd.readouterr()
        return Ran(code, captured.out, captured.err, folder)

    return ran


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Make], Path]:
    """Writes a bad input into a new folder."""
    return lambda make: make(tmp_path_factory.mktemp("input"))


def assert_refused(ran: Ran, path: Path) -> None:
    """One error line that names the input, hints at most after it, nothing written."""
    first, *others = ran.err.splitlines()
    assert first.startswith(f"error: cannot read {path}: ")
    assert all(line.startswith("hint: ") for line in others)
    assert (ran.code, ran.out, ran.written) == (3, "", [])


def assert_read(ran: Ran, command: str) -> None:
    """The command worked and wrote what it was asked for."""
    assert ran.code == 0, ran.err
    assert not [line for line in ran.err.splitlines() if line.startswith(("error", "Traceback"))]
    assert len(ran.written) == (0 if command in READING else 1)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_an_error_of_one_line(
    name: str, run: Run, made: Callable[[Make], Path]
) -> None:
    path = made(REFUSED[name])
    for command in COMMANDS:
        if command != "query" or name not in SEEN_BY_SQL:
            assert_refused(run(command, path), path)


@pytest.mark.parametrize("name", EMPTY)
def test_a_trace_without_ops_is_a_trace(name: str, run: Run, made: Callable[[Make], Path]) -> None:
    path = made(EMPTY[name])
    for command in COMMANDS:
        ran = run(command, path)
        assert_read(ran, command)
        if command == "summary":
            assert "ops              0" in ran.out


@pytest.mark.parametrize("name", REPAIRED)
def test_what_can_be_repaired_is_read_and_said(
    name: str, run: Run, made: Callable[[Make], Path]
) -> None:
    make, note = REPAIRED[name]
    path = made(make)
    before = path.read_bytes()
    for command in COMMANDS:
        ran = run(command, path)
        assert_read(ran, command)
        if command != "query" or path.name != "trace.db":
            assert note in ran.out + ran.err, command
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("command", VERDICTS)
def test_a_verdict_rests_on_runs_that_can_be_read(
    command: str, run: Run, made: Callable[[Make], Path]
) -> None:
    refused = made(REFUSED["broken JSON"])
    make, note = REPAIRED["JSON cut in the middle"]

    assert_refused(run(command, refused), refused)
    assert note in run(command, made(make)).out


@pytest.mark.parametrize("name", ["wavescope cut to 0.3", "broken JSON", "folder"])
def test_an_existing_output_survives_a_bad_input(
    name: str, tmp_path: Path, made: Callable[[Make], Path]
) -> None:
    path = made(REFUSED[name])
    for suffix in (".db", ".pftrace", ".json", ".csv", ".rpd", "_results.json", ".parquet"):
        target = tmp_path / f"mine{suffix}"
        target.write_text("mine")

        assert main(["convert", str(path), "-o", str(target), "--force"]) == 3

        assert target.read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 7


HOSTILE_NAMES = {
    "hostile": HOSTILE,
    "long": "n" * 1_000_000,
    "empty": "",
    "NUL": "a\0b",
    "sql": "'); DROP TABLE rocpd_op; --",
    "path": "/../../" * 50,
}


@pytest.mark.parametrize("kind", HOSTILE_NAMES)
def test_hostile_names_harm_nothing(kind: str, tmp_path: Path, run: Run) -> None:
    name = HOSTILE_NAMES[kind]
    maker = (
        a_trace()
        .with_process(1, name=name, command=name)
        .with_agent(0, model=name)
        .with_kernel(name, 10, 20)
        .with_copy(20, 30, size_bytes=8)
        .with_marker(name, 5, 40)
        .with_call(name, 1, 2, args=name)
        .with_link(1, 1)
        .with_metadata(name, name)
    )
    (tmp_path / "in").mkdir()
    path = write_as(maker, tmp_path / "in" / "trace.db")
    for command in COMMANDS:
        ran = run(command, path)
        assert_read(ran, command)
        assert not set(ran.out) & {"\x1b", "\0", "\u202e"}
        for written in ran.written:
            assert written.name.startswith("OUT")
    for command in ("wavescope", "perfetto", "chrome", "rocprofv3", "rpd"):
        (written,) = run(command, path).written
        with wavescope.open(written) as trace:
            assert (len(trace.ops), len(trace.calls)) == (2, 1)
            if kind not in {"NUL", "empty"}:
                assert name in trace.ops.strings("name"), command


@pytest.mark.parametrize("flags", [("--json",), ("--format", "csv"), ("--format", "markdown")])
@pytest.mark.parametrize("kind", ["hostile", "sql"])
def test_hostile_names_are_escaped_in_every_output(
    kind: str, flags: tuple[str, ...], tmp_path: Path, run: Run
) -> None:
    name = HOSTILE_NAMES[kind]
    path = write_as(a_trace().with_kernel(name, 1, 2).with_marker(name, 1, 2), tmp_path / "t.db")

    summary, info = run("summary", path, *flags), run("info", path, *flags, "--kernels")

    for ran in (summary, info):
        assert ran.code == 0, ran.err
        if flags == ("--json",):
            rows = json.loads(ran.out)["tables"][0]["rows"]
            assert rows[0][0] == name
        elif "csv" in flags:
            rows = csv.reader(io.StringIO(ran.out, newline=""))
            assert [row[0] for row in rows][1] == fit_for_spreadsheets(name)
        else:
            assert not set(ran.out) & {"\x1b", "\u202e"}


@pytest.mark.parametrize(
    "command", [("info",), ("convert", "-o", "out/t.json")], ids=lambda c: c[0]
)
def test_a_file_without_permission(command: tuple[str, ...], tmp_path: Path) -> None:
    path = write_as(a_trace().with_kernel("k", 1, 2), tmp_path / "secret.db")
    path.chmod(0)
    (tmp_path / "out").mkdir(mode=0o777)
    (tmp_path / "out").chmod(0o777)
    line = [sys.executable, "-m", "wavescope", command[0], "--quiet", str(path), *command[1:]]

    done = subprocess.run(
        without_root(line, tmp_path), capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines()[0] == f"error: cannot read {path}: no permission to read it"
    assert list((tmp_path / "out").iterdir()) == []


def without_root(line: list[str], folder: Path) -> list[str]:
    """The command line as somebody whom permissions concern; a skip where none can be had."""
    if os.geteuid() != 0:
        return line
    if shutil.which("setpriv") is None:
        pytest.skip("root may read every file, and there is no setpriv to become somebody else")
    for place in (folder, *folder.parents):
        if place.stat().st_uid == 0 and place.is_relative_to(Path(tempfile.gettempdir())):
            place.chmod(place.stat().st_mode | 0o011)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    tried = [*nobody, sys.executable, "-c", "import wavescope, numpy"]
    if subprocess.run(tried, capture_output=True, check=False, cwd=folder).returncode:
        pytest.skip("root may read every file, and nobody else may run this Python")
    return nobody + line


@pytest.mark.parametrize(
    "command", ["info", "summary", "steps", "query", "wavescope", "perfetto", "report"]
)
def test_a_folder_whose_name_is_not_utf8_is_a_folder(
    command: str, tmp_path: Path, run: Run
) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xffname"))
    folder.mkdir()
    path = write_as(a_trace().with_kernel("k", 1, 2), folder / "trace.db")

    assert_read(run(command, path), command)


def test_a_write_ahead_log_that_is_noise_is_no_harm(tmp_path: Path, run: Run) -> None:
    path = write_as(a_trace().with_kernel("k", 1, 2), tmp_path / "trace.db")
    (tmp_path / "trace.db-wal").write_bytes(b"noise" * 1000)
    before = {entry.name: entry.read_bytes() for entry in tmp_path.glob("trace*")}

    ran = run("summary", path)

    assert ran.code == 0, ran.err
    assert "kernel launches  1" in ran.out
    assert {entry.name: entry.read_bytes() for entry in tmp_path.glob("trace*")} == before


def test_sql_cannot_reach_beyond_the_trace(tmp_path: Path, run: Run) -> None:
    path = write_as(a_trace().with_kernel("k", 1, 2), tmp_path / "trace.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIEW bad AS SELECT load_extension('/tmp/x.so') AS x")
        connection.commit()
    before = path.read_bytes()

    for sql in ("SELECT * FROM bad", "ATTACH '/etc/passwd' AS p", "DELETE FROM rocpd_op"):
        assert main(["query", str(path), sql]) == 2
    assert path.read_bytes() == before
