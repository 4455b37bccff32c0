"""The wheel that tests install, and the wheels that it depends on."""

from __future__ import annotations

import email
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

_DIST = Path(__file__).resolve().parents[2] / "dist"
_NAMED = os.environ.get("WAVESCOPE_TEST_WHEEL", "")
_PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")


def wheel() -> Path:
    """The newest wheel in dist/ for this machine, or the one that WAVESCOPE_TEST_WHEEL names."""
    if _NAMED:
        return Path(_NAMED).absolute()
    found = sorted(
        _DIST.glob("wavescope-*linux*_x86_64.whl"), key=lambda path: path.stat().st_mtime
    )
    if not found:
        pytest.skip("there is no wheel in dist/: make wheels")
    return found[-1]


def wheel_version() -> str:
    """The version that the wheel says it has."""
    return wheel().name.split("-")[1]


def fetch_dependencies(python_version: str, folder: Path) -> Path:
    """`folder`, with the wheel and what it needs as wheels for that version of Python."""
    target = [f"--platform={platform}_x86_64" for platform in _PLATFORMS]
    target += [f"--python-version={python_version}", "--implementation=cp"]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", *target]
    # The requirements, not the wheel: its platform may be only this machine's own.
    checked([*pip, "--dest", str(folder), *_requirements()])
    folder.joinpath(wheel().name).write_bytes(wheel().read_bytes())
    return folder


def checked(command: Sequence[str]) -> str:
    """What a command prints; it has to succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def _requirements() -> list[str]:
    """What the wheel needs, without extras."""
    with zipfile.ZipFile(wheel()) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        facts = email.message_from_bytes(archive.read(name))
    return [line for line in facts.get_all("Requires-Dist", []) if "extra ==" not in line]
