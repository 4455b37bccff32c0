"""Packed inputs that unpack to more than allowed, or to more than the disk has room for."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import wavescope
from tests.builders import random_ops
from tests.sample_files import write_as
from wavescope import unpacking
from wavescope.cli.main import main
from wavescope.errors import UnreadableInputError
from wavescope.unpacking import VARIABLE, limit_bytes, unpacking_limited

ROWS = 4000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packed")


def packed(path: Path) -> Path:
    target = path.with_name(path.name + ".gz")
    target.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return target


@pytest.fixture(scope="module", params=["trace.db", "trace.json", "trace.pftrace", "trace.rpd"])
def trace(request: pytest.FixtureRequest, folder: Path) -> Path:
    return packed(write_as(random_ops(ROWS), folder / request.param))


@pytest.fixture
def private_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, to see that none is left."""
    own = tmp_path / "tmp"
    own.mkdir()
    monkeypatch.setenv("TMPDIR", str(own))
    monkeypatch.setattr("tempfile.tempdir", None)
    return own


@pytest.mark.parametrize("command", ["summary", "info", "report"])
def test_more_than_allowed_is_refused(
    command: str, trace: Path, private_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ["-o", str(private_tmp.parent / "out.html")] if command == "report" else []
    line = [command, str(trace), "--max-unpacked", "70k", *output]

    assert main(line) == 3

    said = capsys.readouterr().err
    assert f"cannot read {trace}: its " in said
    assert "unpack to more than 70.00 kB" in said
    assert "--max-unpacked SIZE" in said
    assert list(private_tmp.iterdir()) == []
    assert VARIABLE not in os.environ


def test_as_much_as_allowed_is_read(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", str(trace), "--json", "--max-unpacked", "50M"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_a_bare_path_is_told_by_as_much_as_allowed(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(trace), "--max-unpacked", "70k"]) == 3
    assert "unpack to more than" in capsys.readouterr().err


def test_archives_have_the_same_limit(
    tmp_path: Path, private_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "code.json").write_bytes(b" " * 300_000)
    with tarfile.open(tmp_path / "capture.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "code.json", "ui_output_agent_1_dispatch_1/code.json")

    assert main(["hotspots", str(tmp_path / "capture.tar.gz"), "--max-unpacked", "100k"]) == 3

    assert "unpack to more than 100.0 kB" in capsys.readouterr().err
    assert list(private_tmp.iterdir()) == []


def test_python_has_the_limit_as_a_variable(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "70000")
    with pytest.raises(UnreadableInputError, match=r"unpack to more than 70.00 kB"):
        wavescope.summary(wavescope.open(trace))


@pytest.mark.parametrize(
    ("packed_bytes", "expected"),
    [(1000, 10**9), (40_000_000, 10_000_000_000), (10**12, 64 * 10**9)],
)
def test_the_limit_grows_with_the_file(
    packed_bytes: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert limit_bytes(packed_bytes) == expected
    with unpacking_limited(123):
        assert limit_bytes(packed_bytes) == 123


LIMITED = """
import resource, sys
from wavescope.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
sys.exit(main(sys.argv[1:]))
"""


def test_a_limit_of_file_sizes_is_not_the_files_fault(folder: Path, private_tmp: Path) -> None:
    trace = packed(write_as(random_ops(ROWS), folder / "full.db"))
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, "summary", str(trace)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(private_tmp)},
    )

    assert ran.returncode == 4
    assert ran.stderr.startswith(
        f"error: temporary files in {private_tmp} may not grow so large\nhint: raise the limit"
    )
    assert list(private_tmp.iterdir()) == []


def test_a_bomb_is_refused_by_default(
    tmp_path: Path, private_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes out of repetition a thousandfold is refused without being told to."""
    monkeypatch.setattr(unpacking, "_LEAST_LIMIT_BYTES", 1_000_000)
    start = write_as(random_ops(10), tmp_path / "start.db").read_bytes()
    bomb = tmp_path / "bomb.db.gz"
    bomb.write_bytes(gzip.compress(start + bytes(20 << 20), mtime=0))

    with pytest.raises(UnreadableInputError, match=r"unpack to more than"):
        wavescope.open(bomb)

    assert list(private_tmp.iterdir()) == []
