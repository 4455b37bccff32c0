"""Which rank of a parallel job this is, and names of files that tell ranks apart.

Placeholders of such names are %p, %h, %rank% and %env{NAME}%.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from wavescope.errors import UsageError
from wavescope.model.columns import UNKNOWN

_PLACEHOLDER = re.compile(r"%env\{([^}%]*)\}%|%rank%|%p|%h|%%")


@dataclass(frozen=True)
class Rank:
    """A rank and the number of ranks, -1 where unknown."""

    rank: int = UNKNOWN
    world_size: int = UNKNOWN


LAUNCHER_VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PALS_RANKID", "PALS_WORLD_SIZE"),
    ("FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    ("MPI_RANKID", "MPI_NRANKS"),
    ("MPI_RANK", "MPI_SIZE"),
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("PBS_NODENUM", "PBS_O_TASKNUM"),
    ("PMIX_RANK", ""),
)
"""Rank and size by launcher, innermost first: a batch system sets its own for every rank alike.

native/core/process_facts.cpp has the same table for the recorded processes.
"""


def launcher_rank(environment: Mapping[str, str]) -> Rank:
    """A pair with more than one rank counts most, then any pair, then a rank alone."""
    best, best_worth = Rank(), 0
    for rank_name, size_name in LAUNCHER_VARIABLES:
        rank, size = _number(environment.get(rank_name)), _number(environment.get(size_name))
        worth = 0 if rank < 0 else 3 if size > 1 else 2 if size == 1 else 1
        if worth > best_worth:
            best, best_worth = Rank(rank, size), worth
    return best


def _number(text: str | None) -> int:
    is_number = text is not None and text.isascii() and text.isdecimal() and len(text) < 10
    return int(text) if text is not None and is_number else UNKNOWN


@dataclass(frozen=True)
class NameValues:
    """What placeholders stand for."""

    pid: int
    host: str
    rank: Rank
    environment: Mapping[str, str]

    @classmethod
    def of_this_process(cls, environment: Mapping[str, str]) -> NameValues:
        """The values for files that this process writes."""
        return cls(os.getpid(), socket.gethostname(), launcher_rank(environment), environment)


def expanded(name: str, values: NameValues) -> Path:
    """`name` with its placeholders filled in; a job of several ranks gets one name for each.

    Without a rank %rank% is 0; %% is a percent sign.
    """
    return Path(_filled(with_rank(name, values.rank), values))


def _filled(name: str, values: NameValues) -> str:
    def filled(found: re.Match[str]) -> str:
        if found.group(1) is not None:
            return _variable(found.group(1), values.environment)
        fixed = {
            "%p": str(values.pid),
            "%h": values.host,
            "%rank%": str(max(0, values.rank.rank)),
            "%%": "%",
        }
        return fixed[found.group(0)]

    return _PLACEHOLDER.sub(filled, name)


def with_rank(name: str, rank: Rank) -> str:
    """`name` with a placeholder for the rank, where several ranks would write the same file."""
    tells_ranks_apart = _PLACEHOLDER.search(name.replace("%%", "").replace("%h", ""))
    if rank.world_size <= 1 or tells_ranks_apart:
        return name
    path = PurePath(name)
    return str(path.with_name(f"{path.stem}_rank%rank%{path.suffix}"))


def pattern_of_all_ranks(name: str, values: NameValues) -> str:
    """What a shell expands to the files of all ranks."""
    marked = with_rank(name, values.rank).replace("%rank%", "\0").replace("%p", "\0")
    return _filled(marked, values).replace("\0", "*")


def _variable(name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name)
    if value is None:
        raise UsageError(f"%env{{{name}}}%: the variable {name} is not set")
    return value
