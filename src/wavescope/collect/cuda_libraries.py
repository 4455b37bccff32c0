"""CUDA's libraries that a program would use: where they are, of which CUDA, and which to take.

Programs bring their own: packages of pip or conda beside a toolkit or two. Nothing is loaded here;
versions are told by package names, toolkits' descriptions and folders.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.machine import Machine
from wavescope.collect.python_environments import package_folders, prefixes

CudaVersion = tuple[int, ...]
"""Of a library or driver: (13, 0), or (13,) where no more is known."""

_KNOWN_MAJORS = (12, 13)
"""Whose records the collector knows."""
_FIRST_WITH_SLICES = (13,)
"""Of CUPTI, whose records of kernels may go on again while a program runs."""
_TOOLKIT_FOLDERS = ("extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib", "lib")
_TOOLKIT_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")
_TOOLKIT_NAME = re.compile(r"cuda-(\d+)\.(\d+)")
_SONAME = re.compile(r"\.so\.(\d\d)(?!\d)(?:\.(\d+))?")
_WHEEL_VERSION = re.compile(r"-(\d+)\.(\d+)[\d.]*\.dist-info")
_TORCH_CUDA = re.compile(r"^cuda\b[^'\"\n]*['\"](\d+)\.", re.MULTILINE)
_ELF = b"\x7fELF"


class CudaPart(enum.Enum):
    """A library of CUDA's that comes in packages of its own."""

    CUPTI = "cupti"
    NVRTC = "nvrtc"


class Fit(enum.Enum):
    """Whether a library can be used with the driver that is installed."""

    GOOD = "fits the driver"
    NEWER_MINOR = "newer than the driver, may not work"
    NEWER_MAJOR = "too new for the driver"
    NOT_KNOWN = "of a CUDA that wavescope does not know"

    @property
    def is_usable(self) -> bool:
        """Whether it is worth trying."""
        return self in (Fit.GOOD, Fit.NEWER_MINOR)


@dataclass(frozen=True)
class CudaLibrary:
    """A library that was found."""

    path: Path
    version: CudaVersion
    """Empty where it cannot be told."""

    @property
    def words(self) -> str:
        """Version and path, for people."""
        return f"{version_text(self.version)} ({self.path})"

    @property
    def has_slices(self) -> bool:
        """Of CUPTI: whether its records may go on again, as far as is known."""
        return not self.version or self.version >= _FIRST_WITH_SLICES

    def fit(self, driver: CudaVersion) -> Fit:
        """How it goes with a driver of this CUDA version; an empty one is not known."""
        if self.version and self.version[0] not in _KNOWN_MAJORS:
            return Fit.NOT_KNOWN
        if not driver or self.version <= driver:
            return Fit.GOOD
        return Fit.NEWER_MINOR if self.version[0] == driver[0] else Fit.NEWER_MAJOR


def version_text(version: CudaVersion) -> str:
    """As people write it."""
    return ".".join(map(str, version)) or "of unknown version"


def chosen_library(found: Sequence[CudaLibrary], driver: CudaVersion) -> CudaLibrary | None:
    """The first that fits the driver; else the first that may work with it."""
    for wanted in (Fit.GOOD, Fit.NEWER_MINOR):
        for library in found:
            if library.fit(driver) is wanted:
                return library
    return None


def found_libraries(part: CudaPart, command: Sequence[str], machine: Machine) -> list[CudaLibrary]:
    """The libraries that the program of `command` could use, its own packages' first."""
    found: dict[Path, CudaLibrary] = {}
    for folder, version in _folders(part, command, machine):
        for path in _files(part, folder):
            if (real := path.resolve()) not in found:
                found[real] = CudaLibrary(path, version or _version_by_place(path))
    for name in (f"lib{part.value}.so.{major}" for major in reversed(_KNOWN_MAJORS)):
        path = Path(machine.library(name) or "/")
        if _is_library(path) and path.resolve() not in found:
            found[path.resolve()] = CudaLibrary(path, _version_by_place(path))
    return list(found.values())


def _folders(
    part: CudaPart, command: Sequence[str], machine: Machine
) -> Iterator[tuple[Path, CudaVersion]]:
    """Where a library may be, with its version where the place says it."""
    for packages in package_folders(command, machine):
        yield from _wheel_folders(part, packages)
    for folder in filter(None, machine.environment.get("LD_LIBRARY_PATH", "").split(":")):
        yield Path(folder), ()
    for prefix in prefixes(command, machine):
        yield prefix / "lib", ()
    for toolkit in _toolkits(machine):
        for name in _TOOLKIT_FOLDERS:
            yield toolkit / name, _toolkit_version(part, toolkit)


def _wheel_folders(part: CudaPart, packages: Path) -> list[tuple[Path, CudaVersion]]:
    """Those of NVIDIA's packages; the one first whose CUDA torch was built for."""
    nvidia = packages / "nvidia"
    if not nvidia.is_dir():
        return []
    versions = {
        (int(found[1]), int(found[2]))
        for path in packages.glob(f"nvidia_cuda_{part.value}*.dist-info")
        if (found := _WHEEL_VERSION.search(path.name))
    }
    places = [*sorted(nvidia.glob("cu[0-9]*"), reverse=True), nvidia / f"cuda_{part.value}"]
    folders = []
    for place in places:
        majors = {int(name[1]) for path in _files(part, place / "lib")
                  if (name := _SONAME.search(path.name))}  # fmt: skip
        of_place = [version for version in versions if version[0] in majors]
        folders.append((place / "lib", max(of_place, default=())))
    wanted = _torch_major(packages)
    return sorted(folders, key=lambda folder: folder[1][:1] != (wanted,))


def _torch_major(packages: Path) -> int:
    """The CUDA that the torch beside it was built for, or 0."""
    try:
        text = (packages / "torch/version.py").read_text(errors="replace")
    except OSError:
        return 0
    found = _TORCH_CUDA.search(text)
    return int(found[1]) if found else 0


def _toolkits(machine: Machine) -> list[Path]:
    named = [Path(machine.environment[name]) for name in _TOOLKIT_VARIABLES
             if machine.environment.get(name)]  # fmt: skip
    installed = machine.root / "usr/local"
    dated = sorted(installed.glob("cuda-*"), key=lambda path: _numbers(path.name), reverse=True)
    return list(dict.fromkeys([*named, installed / "cuda", *dated]))


def _numbers(name: str) -> CudaVersion:
    found = _TOOLKIT_NAME.fullmatch(name)
    return (int(found[1]), int(found[2])) if found else ()


def _toolkit_version(part: CudaPart, toolkit: Path) -> CudaVersion:
    """What a toolkit says of itself, else what its folder is called."""
    try:
        described = json.loads((toolkit / "version.json").read_bytes())
        text = str((described.get(f"cuda_{part.value}") or described["cuda"])["version"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return _numbers(toolkit.resolve().name)
    numbers = text.split(".")[:2]
    return tuple(map(int, numbers)) if all(map(str.isdecimal, numbers)) else ()


def _version_by_place(path: Path) -> CudaVersion:
    """By the name of a toolkit's folder above it, else by its own, which names the major at least.

    Toolkits from 12 on number the file itself by the year.
    """
    for folder in path.resolve().parents:
        if version := _numbers(folder.name):
            return version
    found = _SONAME.search(path.name)
    return tuple(int(number) for number in found.groups() if number) if found else ()


def _files(part: CudaPart, folder: Path) -> list[Path]:
    """The libraries in a folder, by the name first that programs ask for."""
    found = sorted(folder.glob(f"lib{part.value}.so*"), key=lambda path: path.name)
    return sorted(filter(_is_library, found), key=lambda path: not _SONAME.search(path.name))


def _is_library(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_ELF)) == _ELF
    except OSError:
        return False
