"""Runs the test programs on the software GPU and reads what it executed."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.made_once import shared_folder
from tests.program_builds import built_program
from tests.runtimes import TESTED, plain_environment
from wavescope.collect.machine import Machine
from wavescope.collect.runtimes import MACHINE
from wavescope.collect.softgpu import softgpu_environment, softgpu_trouble

PROGRAMS = Path(__file__).resolve().parent / "programs"


def require_softgpu() -> None:
    """Skip with the reason when programs cannot run on the software GPU here."""
    if trouble := softgpu_trouble(Machine()):
        pytest.skip(f"{trouble} ({trouble.hint})")


def require_hip() -> None:
    """Skip where there is no HIP that a program which was not compiled here could load."""
    require_softgpu()
    names = [f"libamdhip64.so.{version}" for version in (7, 6, 5)]
    if TESTED == MACHINE and not Machine().library(*names):
        pytest.skip("there is no HIP runtime: apt-get install libamdhip64-5")


def softgpu_variables(**settings: str) -> dict[str, str]:
    """The environment of a program on the software GPU with these variables set."""
    require_softgpu()
    environment = plain_environment() | settings
    return environment | softgpu_environment("", environment)


def compiled(source: Path, factory: pytest.TempPathFactory, *flags: str) -> Path:
    """The program of `source`, compiled once per test run, or a skip when it cannot be."""
    name = f"{source.stem}{''.join(flags).replace('/', '_')}"
    return built_program(source, shared_folder(factory) / name, *flags)


@dataclass(frozen=True)
class ExecutedOp:
    """A line of the truth log."""

    gpu: int
    queue: int
    packet: int
    kind: str
    name: str
    start_ns: int
    end_ns: int
    completed_ns: int
    bytes: int
    signal: int
    fault: str

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns


def executed_ops(path: Path) -> list[ExecutedOp]:
    """All lines of a truth log."""
    with path.open(newline="") as file:
        return [
            ExecutedOp(
                **{
                    name: value if name in {"kind", "name", "fault"} else int(value)
                    for name, value in row.items()
                }  # type: ignore[arg-type]
            )
            for row in csv.DictReader(file)
        ]


@dataclass(frozen=True)
class Ran:
    """How a program on the software GPU ended."""

    code: int
    out: str
    err: str
    truths: list[list[ExecutedOp]]
    """What each of its processes executed."""

    @property
    def ops(self) -> list[ExecutedOp]:
        (only,) = self.truths
        return only

    def rows(self) -> list[list[int]]:
        """The numbers of the lines that the program printed."""
        return [[int(value) for value in line.split(",")] for line in self.out.splitlines()]


def on_softgpu(
    folder: Path,
    options: list[str],
    *command: str | Path,
    variables: Mapping[str, str] | None = None,
) -> Ran:
    """Run `wavescope softgpu OPTIONS -- COMMAND` with a truth log for each process in `folder`."""
    wavescope = [sys.executable, "-m", "wavescope", "softgpu", "--truth", f"{folder}/truth.%p.csv"]
    done = subprocess.run(
        [*wavescope, *options, "--", *map(str, command)],
        env={**plain_environment(), **(variables or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    truths = [executed_ops(path) for path in sorted(folder.glob("truth.*.csv"))]
    return Ran(done.returncode, done.stdout, done.stderr, truths)
