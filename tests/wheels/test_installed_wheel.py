"""The wheel for this machine, installed where there is no compiler, for each Python at hand.

`PYTHONS` names the interpreters, with spaces between them; otherwise those of 3.10 to 3.14 on PATH are taken.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.wheels.wheel_files import LINUX, VERSION, wheel_of

pytestmark = [
    pytest.mark.wheels,
    pytest.mark.skipif(sys.platform != "linux", reason="the wheels for Linux are tried here"),
]

DEPENDENCIES = ("isal", "numpy", "orjson", "tomli; python_version < '3.11'")


def works(interpreter: str) -> bool:
    """Whether it runs: a name on PATH may stand for a version that is not installed."""
    return subprocess.run([interpreter, "-c", ""], capture_output=True, check=False).returncode == 0


def interpreters() -> list[str]:
    if named := os.environ.get("PYTHONS", "").split():
        return named
    names = (f"python3.{minor}" for minor in range(10, 15))
    return [name for name in names if shutil.which(name) and works(name)] or [sys.executable]


def files_below(folder: Path) -> set[str]:
    """What is installed; compiled modules come and go with what is run."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir())
    return {str(path) for path in paths if path.suffix != ".pyc"}


@dataclass(frozen=True)
class Installation:
    """A virtual environment with the wheel, and the files it had before."""

    folder: Path
    before: set[str]

    @property
    def home(self) -> Path:
        """Where the user of it keeps files."""
        return self.folder.with_name("home")

    def run(self, *arguments: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
        """A command with nothing but this environment on PATH: no compiler, no other wavescope."""
        variables = {
            "PATH": str(self.folder / "bin"),
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
        }
        command = [str(self.folder / "bin" / arguments[0]), *arguments[1:]]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, **{"env": variables, **more}
        )

    def output(self, *arguments: str | Path, **more: Any) -> str:
        done = self.run(*arguments, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module", params=interpreters())
def installation(request: Any, tmp_path_factory: Any) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("wheel") / "environment"
    subprocess.run([request.param, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "--only-binary", ":all:", *DEPENDENCIES], check=True)
    before = files_below(folder)
    (target,) = (target for target in LINUX if target.processor == platform.machine())
    subprocess.run([*pip, "install", "--no-index", wheel_of(target).path], check=True)
    installed = Installation(folder, before)
    installed.home.mkdir()
    yield installed
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def trace(installation: Installation, tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    installation.output("wavescope", "demo", "-o", folder / "output")
    (path,) = (folder / "output").glob("*.db")
    return path


def test_it_is_this_version(installation: Installation) -> None:
    assert installation.output("wavescope", "--version").split()[-1] == VERSION


def test_the_doctor_tries_the_libraries(installation: Installation) -> None:
    done = installation.run("wavescope", "doctor", "--json")
    states = {name: state for name, state, *_ in json.loads(done.stdout)["tables"][0]["rows"]}

    for name in ("Python", "NumPy", "orjson", "isal", "SQLite", "native library", "collector"):
        assert states[name] == "ok", name


def test_numbers_are_those_of_the_checkout(installation: Installation, trace: Path) -> None:
    own = subprocess.run(
        [sys.executable, "-m", "wavescope", "summary", trace, "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(installation.output("wavescope", "summary", trace, "--json")) == json.loads(
        own.stdout
    )


@pytest.mark.skipif(shutil.which("hipcc") is None, reason="hipcc compiles the program of the demo")
def test_the_demo_is_recorded_on_the_software_gpu(
    installation: Installation, tmp_path: Path
) -> None:
    path = os.pathsep.join((str(installation.folder / "bin"), os.environ["PATH"]))
    variables = {"PATH": path, "HOME": str(installation.home), "LC_ALL": "C.UTF-8"}
    installation.output("wavescope", "demo", "-o", tmp_path / "output", env=variables)
    (recorded,) = (tmp_path / "output").glob("*.db")

    facts = installation.output(
        "wavescope", "query", recorded, "SELECT count(*) AS ops FROM rocpd_op", "--json"
    )
    assert json.loads(facts)["tables"][0]["rows"][0][0] > 1000


def test_uninstalling_leaves_nothing(installation: Installation) -> None:
    installation.output("python", "-m", "pip", "uninstall", "--yes", "--quiet", "wavescope")

    assert files_below(installation.folder) == installation.before
    (packages,) = (installation.folder / "lib").glob("python3.*/site-packages")
    assert not (packages / "wavescope").exists()
