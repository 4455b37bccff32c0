"""A disk that takes no more, in the middle of every command that writes."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import random_ops
from tests.sample_files import write_as

OUTPUTS = (
    "out.db",
    "out.pftrace",
    "out.pftrace.gz",
    "out.json",
    "out.json.gz",
    "out.csv",
    "out.parquet",
    "out.arrow",
    "out.rpd",
    "out_results.json",
    "csv-folder",
    "parquet-folder",
    "arrow-folder",
)
LIMITS = (4096, 60_000, 150_000)
PROGRAM = """
import contextlib, io, json, os, resource, sys
from wavescope.cli.main import main

trace, folder, limit, *outputs = sys.argv[1:]
if int(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))

def run(*arguments):
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = main([*arguments, "-q"])
    return [code, said.getvalue(), sorted(os.listdir(folder))]

lines = {name: ["convert", trace, "-o", f"{folder}/{name}"] for name in outputs}
for name in outputs:
    if name.endswith("-folder"):
        lines[name] += ["--format", name]
lines["trim"] = ["trim", trace, "-o", f"{folder}/part.db", "--gpu", "0"]
lines["merge"] = ["merge", trace, trace, "-o", f"{folder}/all.db"]
print(json.dumps({name: run(*line) for name, line in lines.items()}))
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Large enough that no format of it fits."""
    return write_as(random_ops(30_000), tmp_path_factory.mktemp("trace") / "trace.db")


def results(command: list[str]) -> dict[str, tuple[int, str, list[str]]]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: tuple(found) for name, found in json.loads(done.stdout).items()}


def assert_told(found: dict[str, tuple[int, str, list[str]]], *reasons: str) -> None:
    """Exit code 4 and one line that names the reason; not even a temporary file is left."""
    assert set(found) == {*OUTPUTS, "trim", "merge"}
    for name, (code, said, left) in found.items():
        first, *others = said.splitlines()
        assert (code, left) == (4, []), (name, said)
        assert first.startswith("error: "), name
        assert any(reason in first for reason in reasons), (name, said)
        assert all(line.startswith("hint: ") for line in others), name


@pytest.mark.parametrize("limit", LIMITS)
def test_files_that_may_not_grow(trace: Path, tmp_path: Path, limit: int) -> None:
    found = results(
        [sys.executable, "-c", PROGRAM, str(trace), str(tmp_path), str(limit), *OUTPUTS]
    )

    assert_told(found, "File too large", "Input/output error")


def test_a_disk_without_space(trace: Path, tmp_path: Path) -> None:
    mount = f"mount -t tmpfs -o size=100k none {shlex.quote(str(tmp_path))}"
    apart = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if subprocess.run([*apart, mount], capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    program = [sys.executable, "-c", PROGRAM, str(trace), str(tmp_path), "0", *OUTPUTS]

    found = results([*apart, f"{mount} && exec {shlex.join(program)}"])

    assert_told(found, "No space left on device")
    assert all("hint: free some space" in said for _, said, _ in found.values())
