"""The wheel in every Python at hand: installed, used and removed without a compiler on PATH.

PYTHONS names other interpreters than those on PATH: `PYTHONS="python3.14 /opt/python3.10/bin/python3"`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.wheels.chosen_wheel import wheel, wheel_version
from wavescope.api.machine import generate_demo
from wavescope.cli.main import main

pytestmark = pytest.mark.wheels
OLDEST, NEWEST = 10, 15
NAMED = os.environ.get("PYTHONS", "").split()
INTERPRETERS = NAMED or [f"python3.{minor}" for minor in range(OLDEST, NEWEST + 1)]


@dataclass(frozen=True)
class Environment:
    """A virtual environment; its programs see no others."""

    folder: Path

    def run(self, *command: str) -> str:
        """What a program of it prints; it has to succeed."""
        done = subprocess.run(
            [str(self.folder / "bin" / command[0]), *command[1:]],
            env={**os.environ, "PATH": str(self.folder / "bin"), "PYTHONDONTWRITEBYTECODE": ""},
            cwd=self.folder.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def files(self) -> set[Path]:
        """All files and folders that are in it."""
        return set(self.folder.rglob("*"))


@pytest.fixture(scope="module", params=INTERPRETERS)
def environment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Environment:
    """A fresh one of each interpreter; a skip where that is not here."""
    wheel()
    interpreter = shutil.which(request.param)
    if interpreter is None:
        pytest.skip(f"there is no {request.param} on PATH")
    folder = tmp_path_factory.mktemp("environment") / "venv"
    made = subprocess.run(
        [interpreter, "-m", "venv", str(folder)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        reason = f"{made.stdout}{made.stderr}".strip().partition("\n")[0]
        pytest.skip(f"{request.param} makes no environment: {reason}")
    return Environment(folder)


def test_it_is_installed_used_and_removed(
    environment: Environment, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(environment.folder.parent)
    generate_demo(Path("trace.db"))
    assert main(["summary", "trace.db", "--json"]) == 0
    here = json.loads(capsys.readouterr().out)

    environment.run("pip", "install", "--quiet", "--only-binary=:all:", str(wheel()))
    assert environment.run("wavescope", "--version") == f"wavescope {wheel_version()}\n"
    checks = json.loads(environment.run("wavescope", "doctor", "--json"))["tables"][0]["rows"]
    assert [row[0] for row in checks if row[4] and row[1] != "ok"] == []
    assert {row[0]: row[1] for row in checks}["collector"] == "ok"
    assert json.loads(environment.run("wavescope", "summary", "trace.db", "--json")) == here

    environment.run("pip", "uninstall", "--quiet", "--yes", "wavescope")
    assert [path for path in environment.files() if "wavescope" in str(path.name)] == []
