"""Builds played CUDA, whose sources are in native/tests/played_cuda, and the programs that run on it.

Played GPUs compute nothing: an op takes as long as its kernel is said to take. What they ran is in a log.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.made_once import made_once

_TESTS = Path(__file__).resolve().parent
_STANDINS = _TESTS.parent / "native" / "tests" / "played_cuda"
_PROGRAMS = _TESTS / "programs" / "played_cuda"
_COMPILER = ("g++", "-std=c++17", "-fPIC", "-fvisibility=hidden", "-w", "-pthread")
_VERSIONS = {"12": 28, "13": 130401}
"""What cuptiGetVersion says of CUDA 12.9 and 13.4."""
LACKING = "lacking"
"""The name of a CUPTI without cuptiActivityGetNextRecord."""


@dataclass(frozen=True)
class PlayedCuda:
    """Programs and libraries; those of a version are in a folder of its name."""

    folder: Path

    def program(self, version: str = "13") -> Path:
        return self.folder / version / "cuda_program"

    def program_with_tool(self, version: str = "13") -> Path:
        return self.folder / version / "cuda_program_with_tool"

    def libraries(self, version: str = "13") -> Path:
        return self.folder / version


def build_played_cuda(factory: pytest.TempPathFactory) -> PlayedCuda:
    """Played CUDA, compiled once per test run; a skip where there is no compiler."""
    if shutil.which("g++") is None:
        pytest.skip("played CUDA cannot be compiled: there is no g++")
    return PlayedCuda(made_once(factory, "played_cuda", _build))


def _build(folder: Path) -> None:
    driver = [_object(folder, _STANDINS / f"{name}.cpp") for name in ("engine", "driver")]
    programs = {path.stem: _object(folder, path) for path in sorted(_PROGRAMS.glob("*.cpp"))}
    for version, number in _VERSIONS.items():
        records = [
            _object(
                folder, _STANDINS / f"cupti_{part}.cpp", version, f"-DPLAYED_CUPTI_VERSION={number}"
            )
            for part in ("activity", "callbacks", "records")
        ]
        runtime = _object(folder, _STANDINS / "runtime.cpp", version, f"-DPLAYED_CUDART={version}")
        own = folder / version
        cuda = _library(own / "libcuda.so.1", *driver)
        cudart = _library(own / f"libcudart.so.{version}", runtime, cuda)
        cupti = _library(own / f"libcupti.so.{version}", *records, cuda)
        work = (programs["cuda_work"], programs["nvtx"], cudart, cuda)
        _link(own / "cuda_program", programs["cuda_program"], *work, "-rdynamic")
        _link(own / "cuda_program_with_tool", programs["cupti_tool"], *work, cupti, "-rdynamic")
    flags = (f"-DPLAYED_CUPTI_VERSION={_VERSIONS['13']}", "-DPLAYED_LACKS_NEXT_RECORD")
    lacking = _object(folder, _STANDINS / "cupti_activity.cpp", LACKING, *flags)
    shutil.copytree(folder / "13", folder / LACKING)
    _library(
        folder / LACKING / "libcupti.so.13",
        lacking,
        *records[1:],
        folder / LACKING / "libcuda.so.1",
    )


def _object(folder: Path, source: Path, kind: str = "all", *flags: str) -> Path:
    target = folder / f"{source.stem}.{kind}.o"
    includes = [f"-I{_STANDINS.parent.parent}", f"-I{_STANDINS}", f"-I{_PROGRAMS}"]
    _run(*_COMPILER, *flags, *includes, "-c", "-o", str(target), str(source))
    return target


def _library(target: Path, *parts: Path) -> Path:
    target.parent.mkdir(exist_ok=True)
    return _link(target, *parts, "-shared", f"-Wl,-soname,{target.name}")


def _link(target: Path, *parts: Path | str) -> Path:
    _run("g++", "-pthread", "-o", str(target), *map(str, parts), "-ldl", "-Wl,-rpath,$ORIGIN")
    return target


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
