"""Runs tests on every ROCm at hand: the machine's own, and those that were fetched.

`@each_runtime` gives a test the parameter `runtime`. Such tests are marked `runtimes`: `make
test-runtimes` fetches what can be fetched and runs them, a plain `make test` leaves them out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.softgpu_programs import APT, Ran, compiled, on_softgpu, shared_folder
from wavescope.collect.machine import Machine
from wavescope.collect.runtimes import (
    MACHINE,
    Runtime,
    RuntimeState,
    chosen_runtime,
    listed_runtimes,
)

MATRIX = (MACHINE, "6.1", "6.4")
_CACHE = {n: v for n, v in os.environ.items() if n == "WAVESCOPE_RUNTIMES"}
"""Tests see no settings of the machine; where its runtimes are is what these are about."""


def _environment() -> dict[str, str]:
    return {**os.environ, **_CACHE}


@dataclass(frozen=True)
class TestedRuntime:
    """A runtime of the matrix by its name; whether it is there is asked when a test needs it."""

    name: str

    __test__ = False  # for pytest: the name begins with Test

    def require(self) -> Runtime | None:
        """The runtime, None for the machine's own; a skip with the reason where it is not there."""
        at_hand = runtimes_at_hand()
        if self.name not in at_hand:
            way = (
                "install ROCm" if self.name == MACHINE else f"wavescope softgpu --fetch {self.name}"
            )
            pytest.skip(f"the runtime {self.name} is not here: {way}")
        return chosen_runtime(self.name, _environment())

    @property
    def environment(self) -> dict[str, str]:
        """For `wavescope trace`: it says where the runtimes are."""
        return _environment()

    @property
    def options(self) -> list[str]:
        """For `wavescope softgpu`."""
        return ["--runtime", self.name]


def runtimes_at_hand() -> list[str]:
    """Names of the runtimes that programs can be run on now."""
    environment = _environment()
    listed = listed_runtimes(environment, Machine(environment=environment))
    return [runtime.name for runtime in listed if runtime.state is RuntimeState.READY]


def each_runtime(test: Callable[..., Any]) -> Callable[..., Any]:
    """Run a test with `runtime` once per ROCm of the matrix."""
    parameters = [pytest.param(TestedRuntime(name), id=name) for name in MATRIX]
    marked: Callable[..., Any] = pytest.mark.parametrize("runtime", parameters)(test)
    return pytest.mark.runtimes(marked)


def run_on(
    runtime: TestedRuntime,
    folder: Path,
    options: list[str],
    *command: str | Path,
    variables: Mapping[str, str] | None = None,
) -> Ran:
    """Run a program on the software GPU below that runtime, with truth logs in `folder`."""
    runtime.require()
    given = {**_CACHE, **(variables or {})}
    return on_softgpu(folder, [*runtime.options, *options], *command, variables=given)


def compiled_for(
    source: Path, runtime: TestedRuntime, factory: pytest.TempPathFactory, *flags: str
) -> Path:
    """The program of `source`, linked to the libraries of that runtime, once per test run.

    Debian 12's compiler serves all runtimes: only the library that is linked differs.
    """
    other = runtime.require()
    if other is None:
        return compiled(source, factory, *flags)
    is_hip = source.suffix == ".hip"
    compiler = "hipcc" if is_hip else "gcc"
    if shutil.which(compiler) is None or not Path("/usr/include/hsa/hsa.h").exists():
        pytest.skip(f"{source.name} cannot be compiled: {APT}")
    program = (
        shared_folder(factory) / f"{source.stem}-{runtime.name}{''.join(flags).replace('/', '_')}"
    )
    if program.exists():
        return program
    unfinished = program.with_name(f"{program.name}.{os.getpid()}")
    own = ["-O1", "-w"] if is_hip else ["-std=gnu11", "-O1"]
    _run([compiler, *own, *flags, "-c", "-o", f"{unfinished}.o", str(source)])
    # What those libraries need themselves, such as a newer C library, is not on this machine.
    link = ["-Wl,--allow-shlib-undefined", *_libraries(other, is_hip=is_hip), "-pthread"]
    _run(["g++", "-o", str(unfinished), f"{unfinished}.o", *link])
    unfinished.rename(program)
    return program


def _libraries(runtime: Runtime, *, is_hip: bool) -> list[str]:
    for folder in runtime.library_folders:
        found = sorted(folder.glob("libamdhip64.so.[0-9]" if is_hip else "libhsa-runtime64.so.1"))
        if found:
            return [f"-L{folder}", f"-l:{found[-1].name}"]
    raise AssertionError(f"the runtime {runtime.name} lacks a library to link")


def _run(command: list[str]) -> None:
    environment = {**os.environ, "HIP_PLATFORM": "amd"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
