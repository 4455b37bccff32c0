"""Which ranks may be compared: those that do the same exchanges at the same stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import MISSING, Job
from wavescope.analyze.ranks.stragglers.rank_times import RankTimes
from wavescope.analyze.ranks.stragglers.row_kinds import SEND

Signatures = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Roles:
    """Ranks by what they do in a step."""

    signature: Signatures
    """[place, step]: equal where two ranks did the same exchanges, as often each."""
    members: tuple[tuple[int, ...], ...]
    """Places of each role."""
    is_usual: npt.NDArray[np.bool_]
    """[place, step]: where a rank did in a step what most ranks of its role did, and most have it:
    recordings begin and end within steps, each at another place."""

    def of_places(self) -> dict[int, int]:
        """The role of each place."""
        return {place: role for role, places in enumerate(self.members) for place in places}


def roles_of(job: Job, ranks: tuple[RankTimes, ...], step_count: int) -> Roles:
    """Ranks of the same stage of a pipeline whose steps mostly look the same."""
    signature = _signatures(ranks, step_count)
    stages = _stages(job)
    found: dict[tuple[int, int], list[int]] = {}
    for place, rank in enumerate(ranks):
        own = signature[place, rank.has_step]
        values, counts = np.unique(own, return_counts=True)
        usual = int(values[np.argmax(counts)]) if len(values) else MISSING
        found.setdefault((stages[place], usual), []).append(place)
    members = tuple(tuple(places) for places in found.values())
    is_there = np.stack([rank.has_step for rank in ranks])
    return Roles(signature, members, _is_usual(signature, members, is_there))


def _is_usual(
    signature: Signatures,
    members: Sequence[tuple[int, ...]],
    is_there: npt.NDArray[np.bool_],
) -> npt.NDArray[np.bool_]:
    is_usual = np.zeros_like(is_there)
    for places in members:
        chosen = list(places)
        own, there = signature[chosen], is_there[chosen]
        for step in range(is_there.shape[1]):
            values, counts = np.unique(own[there[:, step], step], return_counts=True)
            if len(values) and 2 * counts.max() >= len(chosen):
                usual = own[:, step] == values[np.argmax(counts)]
                is_usual[chosen, step] = usual & there[:, step]
    return is_usual


def _signatures(ranks: tuple[RankTimes, ...], step_count: int) -> Signatures:
    longest = max((int(np.diff(rank.bounds).max(initial=0)) for rank in ranks), default=0)
    weights = _scattered(np.arange(longest + 1, dtype=np.uint64))
    most_code = max((int(rank.kinds.code.max(initial=0)) for rank in ranks), default=0)
    hashes = _scattered(np.arange(most_code + 1, dtype=np.uint64))
    signature = np.zeros((len(ranks), step_count), np.uint64)
    for place, rank in enumerate(ranks):
        inside = rank.step_rows[rank.bounds[0] : rank.bounds[-1]]
        terms = hashes[rank.kinds.code[inside]] * weights[rank.offset[inside]]
        sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)))
        edges = rank.bounds - rank.bounds[0]
        signature[place] = sums[edges[1:]] - sums[edges[:-1]]
    return signature


def _scattered(numbers: Signatures) -> Signatures:
    """Numbers that look random, equal for equal ones (the finalizer of splitmix64)."""
    mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scattered: Signatures = mixed ^ (mixed >> np.uint64(31))
    return scattered


def _stages(job: Job) -> list[int]:
    """How many-th each rank is among those that it sends to and receives from, in their order.

    A closed ring in which each has two neighbours passes everything around: all do the same.
    """
    neighbours = _neighbours(job)
    stages: dict[int, int] = {}
    for first in sorted(neighbours):
        if first in stages:
            continue
        reached, open_numbers = {first}, [first]
        while open_numbers:
            fresh = neighbours[open_numbers.pop()] - reached
            reached |= fresh
            open_numbers.extend(fresh)
        is_ring = len(reached) > 2 and all(len(neighbours[number]) == 2 for number in reached)
        for stage, number in enumerate(sorted(reached)):
            stages[number] = 0 if is_ring else stage
    return [stages.get(number, 0) for number in job.numbers]


def _neighbours(job: Job) -> dict[int, set[int]]:
    """Who sends to or receives from whom, by rank number: also ranks that were not given."""
    neighbours: dict[int, set[int]] = {}

    def join(one: int, other: int) -> None:
        if one != other:
            neighbours.setdefault(one, set()).add(other)
            neighbours.setdefault(other, set()).add(one)

    for group in job.groups:
        sends = np.array([use.operation == SEND for use in group.uses] or [False])
        exchanges = np.flatnonzero(sends[group.use])
        if not len(exchanges):
            continue
        members = [job.numbers[place] for place in group.members.tolist()]
        if len(members) == 2:
            join(*members)
        for member, place in enumerate(group.members.tolist()):
            rows = group.rows[member, exchanges]
            peers = job.ranks[place].collectives.peer[rows[rows != MISSING]]
            for peer in np.unique(peers[peers >= 0]).tolist():
                join(job.numbers[place], peer)
    return neighbours
