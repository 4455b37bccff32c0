"""Which rank of a parallel job this is, from the variables that launchers set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wavescope.model.columns import UNKNOWN


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
