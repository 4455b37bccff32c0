"""A disk without room for what is unpacked is not a damaged input, and the other way round."""

from __future__ import annotations

import gzip
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.builders import random_ops
from tests.capture_folders import a_capture, step
from tests.made_once import made_once
from tests.sample_files import write_as
from wavescope.cli.main import main

PROGRAM = """
import contextlib, io, json, os, sys
from wavescope.cli.main import main

def run(*arguments):
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main(arguments)
    return [code, said.getvalue()]

folder, lines = sys.argv[1], json.loads(sys.argv[2])
found = [run(*line) for line in lines]
print(json.dumps([*found, sorted(os.listdir(folder))]))
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def write(folder: Path) -> None:
        write_as(random_ops(20_000), folder / "trace.db")

    return made_once(tmp_path_factory, "full_or_cut", write) / "trace.db"


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that packs to far less than it is."""
    noise = random.Random(1).randbytes(1 << 20).hex()
    return (
        a_capture()
        .with_source("/k.py", f"load()\n# {noise}\n")
        .with_code(("s_load_dword s0, s[4:5], 0x0", "/k.py:1"), ("s_nop 0", "/k.py:1"))
        .with_wave([step(1, issue=4), step(2, stall=100)])
        .write(tmp_path_factory.mktemp("capture"))
    )


def packed(path: Path, target: Path) -> Path:
    target.write_bytes(gzip.compress(path.read_bytes(), 1))
    return target


def tarred(folder: Path, target: Path, mode: str) -> Path:
    with tarfile.open(target, mode) as archive:  # type: ignore[call-overload]
        archive.add(folder, folder.name)
    return target


def zipped(folder: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, f"{folder.name}/{path.name}")
    return target


def with_log(database: Path, target: Path) -> Path:
    """A database whose last rows are in a log: it is copied to be read."""
    shutil.copyfile(database, target)
    target.with_name(f"{target.name}-wal").write_bytes(bytes(4096))
    return target


def test_a_full_disk_is_told_with_its_place(database: Path, capture: Path, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    mount = f"mount -t tmpfs -o size=100k none {shlex.quote(str(full))}"
    apart = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if subprocess.run([*apart, mount], capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    text = tmp_path / "trace.json"
    assert main(["convert", str(database), "-o", str(text), "-q"]) == 0
    lines = [
        ["summary", str(packed(database, tmp_path / "trace.db.gz"))],
        ["summary", str(with_log(database, tmp_path / "logged.db"))],
        ["hotspots", str(tarred(capture, tmp_path / "capture.tar.gz", "w:gz"))],
        ["hotspots", str(tarred(capture, tmp_path / "capture.tar.xz", "w:xz"))],
        ["query", str(text), "SELECT 1", "-q"],
        ["convert", str(database), "--format", "rpd", "-o", "-", "-q"],
    ]
    program = [sys.executable, "-c", PROGRAM, str(full), json.dumps(lines)]

    done = subprocess.run(
        [*apart, f"{mount} && TMPDIR={shlex.quote(str(full))} exec {shlex.join(program)}"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    *found, left = json.loads(done.stdout)
    for line, (code, said) in zip(lines, found, strict=True):
        first, hint = said.splitlines()
        assert code == 4, (line, said)
        assert first.startswith(f"error: no space left for temporary files in {full}"), line
        assert hint == "hint: free some space, or set TMPDIR to a folder with more"
    assert left == []


def test_a_log_full_of_holes_is_not_copied(
    database: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    room = tmp_path / "temporary"
    room.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(room))
    path = with_log(database, tmp_path / "trace.db")
    os.truncate(path.with_name("trace.db-wal"), 1 << 40)

    assert main(["summary", str(path)]) == 3

    said = capsys.readouterr().err
    assert said.startswith(f"error: cannot read {path}: its ")
    assert " unpack to more than 1.000 GB\nhint: " in said
    assert list(room.iterdir()) == []
    assert main(["summary", str(path), "--max-unpacked", "1000"]) == 3
    assert " unpack to more than 1.000 kB" in capsys.readouterr().err


CUT: dict[str, tuple[str, Callable[[Path, Path, Path], Path]]] = {
    "trace.db": ("summary", lambda trace, _, to: Path(shutil.copyfile(trace, to))),
    "trace.db.gz": ("summary", lambda trace, _, to: packed(trace, to)),
    "c.tar": ("hotspots", lambda _, capture, to: tarred(capture, to, "w")),
    "c.tar.gz": ("hotspots", lambda _, capture, to: tarred(capture, to, "w:gz")),
    "c.tar.bz2": ("hotspots", lambda _, capture, to: tarred(capture, to, "w:bz2")),
    "c.tar.xz": ("hotspots", lambda _, capture, to: tarred(capture, to, "w:xz")),
    "c.zip": ("hotspots", lambda _, capture, to: zipped(capture, to)),
}


PACKED_AS_ONE = ("trace.db.gz", "c.tar.gz", "c.tar.bz2", "c.tar.xz")


@pytest.fixture(scope="module")
def whole(
    database: Path, capture: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], bytes]:
    """What is in each file of CUT; packing takes longest."""
    folder = tmp_path_factory.mktemp("whole")
    return cache(lambda name: CUT[name][1](database, capture, folder / name).read_bytes())


@pytest.fixture(params=[*((name, "cut") for name in CUT), *((n, "changed") for n in PACKED_AS_ONE)])
def damaged(
    request: pytest.FixtureRequest, whole: Callable[[str], bytes], tmp_path: Path
) -> tuple[str, Path]:
    """A command, and a file that it reads when it is whole."""
    name, damage = request.param
    path, data = tmp_path / name, whole(name)
    half = len(data) // 2
    rest = b"" if damage == "cut" else bytes(64) + data[half + 64 :]
    path.write_bytes(data[:half] + rest)
    return CUT[name][0], path


def test_what_is_cut_or_damaged_is_an_unreadable_input(
    damaged: tuple[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    command, path = damaged

    assert main([command, str(path)]) == 3

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"error: cannot read {path}")
    assert "\nhint: was it copied completely?" in said.err
    assert "space" not in said.err
