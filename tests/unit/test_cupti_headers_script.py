"""`tools/fetch_cupti_headers` with a played pip: what it keeps, and networks that fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "fetch_cupti_headers"
# Writes a wheel for each package, or fails as often as the file `failures` says.
PIP = """\
#!{python}
import os, sys, zipfile
from pathlib import Path

here = Path(__file__).parent
if "pip" not in sys.argv:
    os.execv("{python}", ["{python}", *sys.argv[1:]])
failures = int((here / "failures").read_text())
if failures:
    (here / "failures").write_text(str(failures - 1))
    sys.exit(1)
target = Path(sys.argv[sys.argv.index("--dest") + 1])
target.mkdir(parents=True, exist_ok=True)
assert "--require-hashes" in sys.argv
locked = Path(sys.argv[sys.argv.index("--requirement") + 1]).read_text()
for name in (line.split("==")[0] for line in locked.splitlines() if "==" in line):
    with zipfile.ZipFile(target / f"{{name}}.whl", "w") as wheel:
        header = "crt/words.h" if name.endswith("crt") else "cupti.h" if "cupti" in name else "cuda.h"
        wheel.writestr(f"nvidia/some/include/{{header}}", name)
        wheel.writestr("nvidia/some/include/", "")
        wheel.writestr("nvidia/some/include/../../escaped.h", name)
        wheel.writestr("nvidia/some/lib/libcupti.so.13", name)
"""


class PlayedMachine:
    def __init__(self, folder: Path) -> None:
        self.headers, self._bin = folder / "headers", folder / "bin"
        self._bin.mkdir()
        self._log = folder / "slept"
        self._program("python", PIP.format(python=sys.executable))
        self._program("sleep", f'#!/bin/bash\necho "$1" >>{self._log}\n')
        self.fails(0)

    def _program(self, name: str, text: str) -> None:
        (self._bin / name).write_text(text)
        (self._bin / name).chmod(0o755)

    def fails(self, times: int) -> None:
        (self._bin / "failures").write_text(str(times))

    def fetch(self) -> tuple[int, str]:
        """The exit code and what was said on standard error."""
        done = subprocess.run(
            ["bash", str(SCRIPT), str(self._bin), str(self.headers)],
            env={"PATH": f"{self._bin}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    def slept(self) -> list[str]:
        return self._log.read_text().split() if self._log.exists() else []

    def files(self) -> dict[str, str]:
        """What was left, by its path."""
        found = (path for path in self.headers.rglob("*") if path.is_file())
        return {str(path.relative_to(self.headers)): path.read_text() for path in found}


@pytest.fixture
def machine(tmp_path: Path) -> PlayedMachine:
    return PlayedMachine(tmp_path)


def test_only_headers_are_kept_each_version_in_its_folder(machine: PlayedMachine) -> None:
    assert machine.fetch() == (0, "")
    assert machine.files() == {
        "12/cupti.h": "nvidia-cuda-cupti-cu12",
        "12/cuda.h": "nvidia-cuda-runtime-cu12",
        "12/crt/words.h": "nvidia-cuda-crt",
        "13/cupti.h": "nvidia-cuda-cupti",
        "13/cuda.h": "nvidia-cuda-runtime",
        "13/crt/words.h": "nvidia-cuda-crt",
    }
    assert machine.slept() == []


def test_headers_of_before_do_not_stay(machine: PlayedMachine) -> None:
    stale = machine.headers / "13" / "old.h"
    stale.parent.mkdir(parents=True)
    stale.write_text("")
    assert machine.fetch() == (0, "")
    assert not stale.exists()


def test_a_network_that_fails_twice_is_asked_again(machine: PlayedMachine) -> None:
    machine.fails(2)
    code, said = machine.fetch()
    assert code == 0
    assert said.count("failed (attempt") == 2
    assert machine.slept() == ["10", "20"]
    assert "13/cupti.h" in machine.files()


def test_without_a_network_it_says_what_to_look_for(machine: PlayedMachine) -> None:
    machine.fails(100)
    code, said = machine.fetch()
    assert code == 1
    assert "hint: is there a network" in said
    assert "requirements/cupti-12.txt" in said
    assert machine.files() == {}
