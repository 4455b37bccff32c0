"""The folder of a workload while it is being collected: what is in it already, and what was asked.

`wavescope_profile.json` remembers the request and how each pass went, so that a later run goes on
where this one stopped, or adds counters that were not asked for before.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from wavescope.collect.counters.rocprofv3_passes import PassEnd
from wavescope.errors import UsageError
from wavescope.model.workload_layout import RECORD_FILE, SYSTEM_FILE

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
                f"{folder} exists and was not made by `wavescope profile`",
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
    """Remove a workload's folder, and nothing that is not one."""
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not any((folder / name).is_file() for name in (RECORD_FILE, SYSTEM_FILE)):
        raise UsageError(
            f"{folder} is not the folder of a workload", hint="--force removes only those"
        )
    shutil.rmtree(folder)


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
