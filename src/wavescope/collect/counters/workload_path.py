"""Where a workload's counters go: placeholders, ranks, and launchers in the wrong place."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.ranks import Rank
from wavescope.errors import UsageError

_PLACEHOLDER = re.compile(r"%hostname%|%gpumodel%|%rank%(/?)|%env\{([^}%]*)\}%")
_LAUNCHERS = frozenset(
    ("mpirun", "mpiexec", "srun", "orterun", "prterun", "prun", "jsrun", "aprun", "flux")
)
_PREFIXES = frozenset(("env", "numactl", "taskset", "nice", "time", "timeout", "stdbuf", "nohup"))
_OPTION = re.compile(r"-.*|\w+=.*|[\d,.:-]+[smhd]?", re.ASCII | re.DOTALL)
"""Options of such a command, their numbers, and variables."""
_PYTHON = re.compile(r"python(\d+(\.\d+)*)?", re.ASCII)


@dataclass(frozen=True)
class Surroundings:
    """What placeholders stand for."""

    model: str
    host: str
    rank: Rank
    environment: Mapping[str, str]


def workload_folder(name: str, directory: str, around: Surroundings) -> Path:
    """The folder of `-n` or `--output-directory`, one for each rank of a parallel job."""
    rank = around.rank
    has_rank = rank.rank >= 0 and rank.world_size != 1
    if not directory:
        if not name:
            raise UsageError("give the workload a name with -n, or --output-directory")
        if "/" in name or name in (".", ".."):
            raise UsageError(f"'{name}' is no name", hint="--output-directory takes a path")
        return Path("workloads", name, str(rank.rank) if has_rank else around.model)

    def filled(found: re.Match[str]) -> str:
        text = found.group(0)
        if text == "%hostname%":
            return around.host
        if text == "%gpumodel%":
            return around.model
        if found.group(2) is not None:
            return around.environment.get(found.group(2), "")
        return f"{rank.rank}{found.group(1)}" if has_rank else ""

    path = Path(_PLACEHOLDER.sub(filled, directory) or ".")
    return path / str(rank.rank) if has_rank and "%rank%" not in directory else path


def require_no_launcher(command: Sequence[str]) -> None:
    """Refuse a launcher of ranks: it would be profiled itself, and all ranks write one folder."""
    at = 0
    while at < len(command) and Path(command[at]).name in _PREFIXES:
        at = _after_options(command, at + 1)
    launcher = Path(command[at]).name if at < len(command) else ""
    if launcher not in _LAUNCHERS:
        return
    program = _program(command, at + 2 if launcher == "flux" else at + 1)
    started = shlex.join(command[:program])
    if program >= len(command):
        started = f"{launcher} run -n RANKS" if launcher == "flux" else f"{launcher} -n RANKS"
    profiled = shlex.join(command[program:]) or "./program"
    raise UsageError(
        f"{launcher} cannot be profiled: it starts the ranks, and each of them is to be profiled",
        hint=f"write {started} wavescope profile [options] -- {profiled}",
    )


def _after_options(command: Sequence[str], at: int) -> int:
    """The place of the first word from `at` on that is no option."""
    while at < len(command) and _OPTION.fullmatch(command[at]):
        at += 1
    return at


def _program(command: Sequence[str], at: int) -> int:
    """The place of what a launcher starts: a program that is there, else the first plain word."""
    first = at = _after_options(command, at)
    while at < len(command) and shutil.which(command[at]) is None:
        at = _after_options(command, at + 1)
    return at if at < len(command) else first


def require_runnable(command: Sequence[str]) -> None:
    """Refuse what cannot be started, or would wait for input: it would fail in every pass."""
    if shutil.which(command[0]) is None:
        raise UsageError(
            f"there is no program '{command[0]}'",
            hint="check the spelling and PATH; a program here needs ./ before its name",
        )
    if len(command) == 1 and _PYTHON.fullmatch(Path(command[0]).name):
        raise UsageError(
            f"{command[0]} without a script waits for input", hint="-- python3 train.py"
        )
