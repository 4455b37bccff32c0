"""The folder of a workload while it is being collected: what is in it already, and what was asked.

`wavescope_profile.json` remembers the request and how each pass went, so that a later run goes on
where this one stopped, or adds counters that were not asked for before.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from wavescope.collect.counters.rocprofv3_passes import PassEnd
from wavescope.collect.ranks import Rank
from wavescope.errors import UsageError
from wavescope.model.workload_layout import RECORD_FILE, SYSTEM_FILE
from wavescope.version import __version__

_RECORD_VERSION = 1


@dataclass(frozen=True)
class WorkloadRequest:
    """What decides whether counters of two runs belong together."""

    command: tuple[str, ...]
    chip: str
    kernels: tuple[str, ...] = ()
    iterations: tuple[str, ...] = ()


@dataclass
class CollectedPass:
    """A pass that has been run."""

    counters: list[str]
    dispatches: int
    complete: bool
    problems: list[str] = field(default_factory=list)
    """What an analysis is to say of it."""


@dataclass
class WorkloadRecord:
    """What a folder holds."""

    request: WorkloadRequest
    passes: dict[str, CollectedPass] = field(default_factory=dict)
    samples: dict[str, str | int] = field(default_factory=dict)
    """How program counters were sampled; empty when they were not."""
    unknown: list[str] = field(default_factory=list)
    """Counters that were wanted and that rocprofv3 does not know."""

    @property
    def is_begun(self) -> bool:
        """Whether anything was collected, or tried to be."""
        return bool(self.passes or self.samples)

    def collected(self) -> set[str]:
        """The counters that need not be collected again."""
        return {name for each in self.passes.values() if each.complete for name in each.counters}

    def note(self, asked: Sequence[str], end: PassEnd) -> None:
        """Remember how a pass went."""
        self.passes[end.name] = CollectedPass(
            list(asked), end.dispatches, end.is_complete, end.problems
        )

    def save(self, folder: Path) -> None:
        """Write the record; what was there is replaced only by a whole one."""
        content = {
            "version": _RECORD_VERSION,
            "request": asdict(self.request),
            "passes": {name: asdict(each) for name, each in self.passes.items()},
            "samples": self.samples,
            "unknown_counters": self.unknown,
        }
        unfinished = folder / f"{RECORD_FILE}.unfinished"
        unfinished.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        unfinished.replace(folder / RECORD_FILE)


def opened_record(folder: Path, request: WorkloadRequest) -> WorkloadRecord:
    """The record of an existing folder that the request fits, or a new one for an empty folder."""
    path = folder / RECORD_FILE
    if not path.is_file():
        if folder.is_dir() and any(folder.iterdir()):
            raise UsageError(
                f"{folder} exists and was not made by `wavescope counters collect`",
                hint="choose another -n or --output-directory, or empty it with --force",
            )
        return WorkloadRecord(request)
    record = _parsed(path)
    if record.request != request:
        raise UsageError(
            f"{folder} holds counters of another request: {_difference(record.request, request)}",
            hint="choose another -n or --output-directory, or replace it with --force",
        )
    return record


def emptied(folder: Path) -> None:
    """Remove what is in a workload's folder, and nothing that is not one."""
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not any((folder / name).is_file() for name in (RECORD_FILE, SYSTEM_FILE)):
        raise UsageError(
            f"{folder} is not a workload folder", hint="--force removes only workload folders"
        )
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def free_pass_names(names: Sequence[str], taken: Iterable[str]) -> list[str]:
    """`names`, of which plain passes are numbered on after those that are there."""
    used = set(taken)
    result = []
    for name in names:
        if name.startswith("pmc_perf_") and (name in used or name in result):
            number = 0
            while f"pmc_perf_{number}" in used or f"pmc_perf_{number}" in result:
                number += 1
            name = f"pmc_perf_{number}"  # noqa: PLW2901  the name it gets instead
        result.append(name)
    return result


def _parsed(path: Path) -> WorkloadRecord:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        request = content["request"]
        return WorkloadRecord(
            WorkloadRequest(
                tuple(map(str, request["command"])),
                str(request["chip"]),
                tuple(map(str, request["kernels"])),
                tuple(map(str, request["iterations"])),
            ),
            {str(name): _pass(each) for name, each in content["passes"].items()},
            dict(content.get("samples", {})),
            [str(name) for name in content.get("unknown_counters", [])],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{path} is damaged: {error}", hint="replace the folder with --force"
        ) from error


def _pass(content: Mapping[str, Any]) -> CollectedPass:
    counters = [str(name) for name in content["counters"]]
    problems = [str(text) for text in content.get("problems", [])]
    return CollectedPass(counters, int(content["dispatches"]), bool(content["complete"]), problems)


def _difference(old: WorkloadRequest, new: WorkloadRequest) -> str:
    names = ("command", "chip", "kernels", "iterations")
    for name in names:
        if getattr(old, name) != getattr(new, name):
            return f"its {name} was {_shown(getattr(old, name))}"
    return "it differs"


def _shown(value: object) -> str:
    return " ".join(value) or "not limited" if isinstance(value, tuple) else str(value)


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
            raise UsageError("the workload needs a name: -n NAME, or --output-directory DIR")
        if "/" in name or name in (".", ".."):
            raise UsageError(f"'{name}' is not a name", hint="--output-directory takes a path")
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
        f"{launcher} cannot be profiled: it starts the ranks, each of which has to be profiled",
        hint=f"write {started} wavescope counters collect [options] -- {profiled}",
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
            f"{command[0]} without a script would wait for input", hint="-- python3 train.py"
        )


OPTIONS_FILE = "profiling_config.yaml"
LOG_FILE = "log.txt"


def write_options(folder: Path, options: Mapping[str, object]) -> None:
    """Write the options as YAML; each value is spelled as JSON, which is YAML too."""
    lines = [f"{name}: {json.dumps(value)}\n" for name, value in sorted(options.items())]
    (folder / OPTIONS_FILE).write_text("".join(lines), encoding="utf-8")


class ProfileLog:
    """Adds lines with their time to the log of a workload."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOG_FILE

    def begin(self, command: Sequence[str], collector: Path) -> None:
        """Say what is run, by what."""
        self.add(f"wavescope {__version__} with {collector}: {shlex.join(command)}")

    def add(self, text: str) -> None:
        """Add a line; line ends within it are spelled out."""
        line = text.replace("\n", "\\n")
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        with self._path.open("a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(f"{stamp} {line}\n")
