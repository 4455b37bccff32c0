"""The rank comes from the innermost launcher that says how many ranks there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wavescope.collect.ranks import LAUNCHER_VARIABLES, Rank, launcher_rank


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Rank()),
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8"}, Rank(3, 8)),
        ({"SLURM_PROCID": "2", "SLURM_NTASKS": "4"}, Rank(2, 4)),
        ({"RANK": "1", "WORLD_SIZE": "2"}, Rank(1, 2)),
        ({"PMIX_RANK": "5"}, Rank(5, -1)),
        (
            {
                "SLURM_PROCID": "0",
                "SLURM_NTASKS": "1",
                "OMPI_COMM_WORLD_RANK": "3",
                "OMPI_COMM_WORLD_SIZE": "4",
            },
            Rank(3, 4),
        ),
        (
            {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "PMI_RANK": "0", "PMI_SIZE": "1"},
            Rank(1, 2),
        ),
        ({"PMIX_RANK": "5", "RANK": "0", "WORLD_SIZE": "1"}, Rank(0, 1)),
        ({"RANK": "first", "WORLD_SIZE": "2"}, Rank()),
        ({"RANK": "1", "WORLD_SIZE": "many"}, Rank(1, -1)),
        ({"RANK": "-1", "WORLD_SIZE": "2"}, Rank()),
        ({"RANK": "1" * 40, "WORLD_SIZE": "2"}, Rank()),
    ],
)
def test_rank_and_size(environment: dict[str, str], expected: Rank) -> None:
    assert launcher_rank(environment) == expected


def test_the_collector_has_the_same_table() -> None:
    source = Path(__file__).parents[3] / "native" / "core" / "process_facts.cpp"
    found = re.findall(r'\{"(\w+)", "(\w*)"\}', source.read_text())

    assert tuple(found) == LAUNCHER_VARIABLES
