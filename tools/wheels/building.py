"""Builds the sdist, and wheels from what is inside it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from tools.wheels.environment import BuildEnvironment
from tools.wheels.targets import Target


@dataclass(frozen=True)
class Build:
    """Where things are while wheels are built."""

    repository: Path
    work: Path
    output: Path
    environment: BuildEnvironment
    epoch: int

    def variables(self) -> dict[str, str]:
        """The environment of the build backend: it depends on nothing that the user has set."""
        tools = str(self.environment.python.parent)
        ours = {
            "PATH": os.pathsep.join((tools, os.environ.get("PATH", os.defpath))),
            "SOURCE_DATE_EPOCH": str(self.epoch),
        }
        unwanted = ("CXXFLAGS", "CFLAGS", "CPPFLAGS", "LDFLAGS", "CXX", "CC", "CMAKE_ARGS")
        kept = {name: value for name, value in os.environ.items() if name not in unwanted}
        return kept | ours


def last_commit_seconds(repository: Path) -> int:
    """When the newest commit was made: the time that all files in the packages have."""
    command = ["git", "-C", str(repository), "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def build_sdist(build: Build) -> Path:
    """The written source distribution."""
    return _built(build, build.repository, ["--sdist"], build.work / "sdist")


def unpacked(build: Build, sdist: Path) -> Path:
    """The folder with the content of `sdist`: a wheel has nothing that the sdist lacks."""
    folder = _emptied(build.work / "source")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    return source


def build_wheel(build: Build, source: Path, target: Target, sbom: Path) -> Path:
    """The written wheel of `target`, with `sbom` beside its metadata."""
    defined = {
        "CMAKE_TOOLCHAIN_FILE": source / "native" / "toolchains" / "zig.cmake",
        "WAVESCOPE_ZIG": build.environment.zig(),
        "WAVESCOPE_ZIG_TARGET": target.zig,
        "WAVESCOPE_ZIG_CPU": target.oldest_processor,
        "WAVESCOPE_ZIG_SYSTEM": target.system,
        "WAVESCOPE_ZIG_PROCESSOR": target.processor,
        "WAVESCOPE_SBOM": sbom,
    }
    settings = {f"cmake.define.{name}": str(value) for name, value in defined.items()}
    # The linker has left out what a strip of this machine might not know how to.
    settings |= {"wheel.tags": target.tag, "install.strip": "false"}
    # Of its own: CMake keeps the compiler that it found first, whatever it is told later.
    settings["build-dir"] = str(_emptied(build.work / f"{target.name}-cmake"))
    arguments = [f"-C{name}={value}" for name, value in settings.items()]
    return _built(build, source, ["--wheel", *arguments], build.work / target.name)


def _built(build: Build, source: Path, arguments: list[str], folder: Path) -> Path:
    """The one file that the build backend writes, moved to the output folder."""
    _emptied(folder)
    command = [str(build.environment.python), "-m", "build", "--no-isolation", "--outdir"]
    subprocess.run(
        [*command, str(folder), *arguments, str(source)], check=True, env=build.variables()
    )
    (file,) = folder.iterdir()
    build.output.mkdir(parents=True, exist_ok=True)
    return Path(shutil.move(file, build.output / file.name))


def _emptied(folder: Path) -> Path:
    """`folder`, with nothing in it that an earlier build left."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder
