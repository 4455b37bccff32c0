"""Digests of ranks made a job: collectives matched, clocks aligned, steps matched."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.ranks.clocks import aligned_clocks
from wavescope.analyze.ranks.digest import RankDigest
from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.matching import matched_collectives, matched_steps


def job_of(digests: Sequence[RankDigest], numbers: Sequence[int]) -> Job:
    """The job of these ranks, in order of their numbers, which are all different."""
    if len(digests) != len(numbers) or len(set(numbers)) != len(numbers):
        raise ValueError("each rank needs a number of its own")
    order = sorted(range(len(numbers)), key=lambda place: numbers[place])
    ranks = tuple(digests[place] for place in order)
    ordered = tuple(int(numbers[place]) for place in order)
    matching = matched_collectives(ranks, ordered)
    return Job(
        ranks,
        ordered,
        matching.groups,
        matching.mismatches,
        aligned_clocks(ranks, ordered, matching.groups),
        matched_steps(ranks, matching.groups),
    )
