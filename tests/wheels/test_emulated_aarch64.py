"""The wheel for aarch64, run by QEMU: it gives byte for byte what this machine's wavescope gives.

`WAVESCOPE_AARCH64_ROOT` names an unpacked root of Debian for arm64 with python3 and libstdc++6.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.capture_folders import a_capture, step
from tests.sample_files import SAMPLES
from tests.wheels.chosen_wheel import checked
from tests.wheels.test_installed_wheel import DEPENDENCIES
from tests.wheels.wheel_files import LINUX, wheel_of
from wavescope.cli.main import main

pytestmark = pytest.mark.wheels
ROOT = os.environ.get("WAVESCOPE_AARCH64_ROOT", "")
EMULATORS = ("qemu-aarch64-static", "qemu-aarch64")
ENDINGS = ("db", "json", "pftrace", "rpd", "html")
PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")


@dataclass(frozen=True)
class Emulated:
    """The wheel and what it needs in a folder, for the Python of a root of another processor."""

    emulator: str
    packages: Path

    def run(self, *arguments: str | Path) -> str:
        """What a command prints there; it has to succeed."""
        variables = {"PYTHONPATH": str(self.packages), "LC_ALL": "C.UTF-8", "HOME": "/nowhere"}
        return checked(
            [
                *("env", "-i", *(f"{name}={value}" for name, value in variables.items())),
                *(self.emulator, "-L", ROOT, f"{ROOT}/usr/bin/python3", "-m", "wavescope"),
                *map(str, arguments),
            ]
        )


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    emulator = next(filter(None, map(shutil.which, EMULATORS)), None)
    if emulator is None:
        pytest.skip("there is no QEMU for aarch64 (apt-get install qemu-user-static)")
    if not ROOT:
        pytest.skip("WAVESCOPE_AARCH64_ROOT names no root of Debian for arm64")
    print_version = "import sys; print('%d.%d' % sys.version_info[:2])"
    python = [emulator, "-L", ROOT, f"{ROOT}/usr/bin/python3"]
    version = checked([*python, "-c", print_version]).strip()
    packages = tmp_path_factory.mktemp("aarch64") / "packages"
    target = [f"--platform={platform}_aarch64" for platform in PLATFORMS]
    target += [f"--python-version={version}", "--implementation=cp", "--only-binary=:all:"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", f"--target={packages}", *target]
    (wheel,) = (wheel_of(each).path for each in LINUX if each.processor == "aarch64")
    checked([*pip, *DEPENDENCIES])
    checked([*pip, "--no-deps", str(wheel)])
    return Emulated(emulator, packages)


def test_help_is_the_same(emulated: Emulated, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert emulated.run("--help") == capsys.readouterr().out


@pytest.mark.parametrize("name", SAMPLES)
def test_every_format_is_read_and_written_the_same(
    emulated: Emulated, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = SAMPLES[name](tmp_path)

    assert main(["summary", str(path), "--json"]) == 0
    assert emulated.run("summary", path, "--json") == capsys.readouterr().out
    for ending in ENDINGS:
        command = "report" if ending == "html" else "convert"
        here, there = tmp_path / f"here/x.{ending}", tmp_path / f"there/x.{ending}"
        for made in (here, there):
            made.parent.mkdir(exist_ok=True)
        assert main([command, str(path), "-o", str(here), "--quiet"]) == 0
        emulated.run(command, path, "-o", there, "--quiet")
        assert there.read_bytes() == here.read_bytes(), ending


def test_an_instruction_trace_is_read_the_same(
    emulated: Emulated, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = (
        a_capture()
        .with_code(("s_load_dword s0, s[4:5], 0x0", "/k.py:3"), ("s_endpgm", ""))
        .with_wave([step(1, stall=40), step(2)], slot=0, begin=0, workgroup=0)
    )
    folder = capture.write(tmp_path)

    assert main(["hotspots", str(folder), "--json"]) == 0
    assert emulated.run("hotspots", folder, "--json") == capsys.readouterr().out
