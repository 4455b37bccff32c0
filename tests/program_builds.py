"""Builds the test programs for the ROCm that is tested: the machine's own, or a fetched one.

A program for a fetched one names that one's dynamic linker and libraries itself, so that it runs on it
however it is started: by a shell, by `env`, by another program. What it starts is not affected.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.runtimes import runtime_under_test
from wavescope.collect.runtimes import Runtime

APT = "apt-get install --no-install-recommends libhsa-runtime-dev libamdhip64-dev hipcc"
_OBJECTS = Path(__file__).resolve().parent.parent / "build" / "test_programs"
_HIP = ("hipcc", "-O1", "-w")
_NEWER_C_LIBRARY = "-Wl,--allow-shlib-undefined"
"""The libraries may need a newer C library than this machine has."""
_C = ("gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread")


def built_program(source: Path, program: Path, *flags: str) -> Path:
    """`program`, built of a source in C or HIP for the tested runtime; a skip where it cannot be."""
    return built_for(runtime_under_test(), source, program, *flags)


def built_for(runtime: Runtime | None, source: Path, program: Path, *flags: str) -> Path:
    """`program`, built for a runtime unless it is there; None is the machine's own.

    Of several workers that need it at once one builds it, and the others wait.
    """
    compiler = _compiler(source)
    with program.with_name(f"{program.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            draft = program.with_name(f"{program.name}.draft")
            _build(runtime, source, draft, (*compiler, *flags))
            draft.rename(program)
    return program


def built_to_run_in(root: Runtime, source: Path, program: Path, *flags: str) -> Path:
    """`program`, built to be run inside a root: by the dynamic linker and the libraries there."""
    options = [flag for flag in (*_compiler(source), *flags) if not flag.startswith("-l")]
    library = _library(root, source.suffix == ".hip")
    _run(*options, "-c", "-o", f"{program}.o", str(source))
    _run("g++", "-o", str(program), f"{program}.o", _NEWER_C_LIBRARY, str(library), "-pthread")
    return program


def _compiler(source: Path) -> tuple[str, ...]:
    """The compiler of a source with its usual options; a skip where it is not here."""
    compiler = _HIP if source.suffix == ".hip" else _C
    if shutil.which(compiler[0]) is None or not Path("/usr/include/hsa/hsa.h").exists():
        pytest.skip(f"{source.name} cannot be compiled: {APT}")
    return compiler


def _build(runtime: Runtime | None, source: Path, program: Path, compile_: tuple[str, ...]) -> None:
    # Debian 12's compiler serves all runtimes: only what is linked differs.
    compiled = str(_compiled_once(source, [flag for flag in compile_ if not flag.startswith("-l")]))
    if runtime is None:
        own = [] if source.suffix == ".hip" else ["-lhsa-runtime64"]
        _run(*compile_, "-o", str(program), compiled, *own)
    else:
        _run("g++", "-o", str(program), compiled, *linked_to(runtime, source.suffix == ".hip"))


@cache
def _version(compiler: str) -> str:
    """That of the compiler and of the packages that it compiles with, as far as it tells."""
    return _run(compiler, "--version")


def _compiled_once(source: Path, command: list[str]) -> Path:
    """The object of `source`, kept for the tests of all runtimes: compiling takes longest."""
    compiler = Path(shutil.which(command[0]) or command[0]).resolve()
    read = [source, *sorted(source.parent.glob("*.h"))]
    told = [*command, str(compiler), _version(str(compiler))]
    made_of = "\0".join(told).encode() + b"".join(path.read_bytes() for path in read)
    kept = _OBJECTS / f"{source.stem}-{hashlib.sha256(made_of).hexdigest()[:16]}.o"
    if not kept.exists():
        _OBJECTS.mkdir(parents=True, exist_ok=True)
        draft = kept.with_suffix(f".{os.getpid()}.o")
        _run(*command, "-c", "-o", str(draft), str(source))
        draft.rename(kept)
    return kept


def linked_to(runtime: Runtime, is_hip: bool) -> list[str]:
    """What the linker is told so that a program has the libraries of a runtime and no others."""
    folders = [f"-Wl,-rpath,{folder}" for folder in runtime.library_folders]
    return [
        f"-Wl,--dynamic-linker={runtime.loader}",
        "-Wl,--disable-new-dtags",  # a path that holds for the libraries of libraries, too
        *folders,
        _NEWER_C_LIBRARY,
        str(_library(runtime, is_hip)),
        *(_found_only_by_others(runtime.loader.parent) if is_hip else ()),
        "-pthread",
    ]


def _library(runtime: Runtime, is_hip: bool) -> Path:
    wanted = "libamdhip64.so.[0-9]" if is_hip else "libhsa-runtime64.so.1"
    folders = {folder.resolve() for folder in runtime.library_folders}
    (library,) = (path for folder in folders for path in folder.glob(wanted))
    return library


@cache
def _found_only_by_others(folder: Path) -> tuple[str, ...]:
    """What libraries with a RUNPATH of their own need: the program's path does not hold for them.

    They find what is loaded already, so the program itself has to need it.
    """
    needed: set[str] = set()
    for library in sorted(folder.glob("lib*.so.*")):
        told = subprocess.run(
            ["readelf", "-d", str(library)], capture_output=True, text=True, check=True
        ).stdout
        if "(RUNPATH)" in told:
            needed.update(re.findall(r"\(NEEDED\).*\[(.+)\]", told))
    paths = sorted(folder / name for name in needed if (folder / name).exists())
    return ("-Wl,--no-as-needed", *map(str, paths))


def _run(*command: str) -> str:
    environment = os.environ | {"HIP_PLATFORM": "amd"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
