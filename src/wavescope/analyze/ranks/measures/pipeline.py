"""Pipelines that are visible: which ranks pass work on to each other, and which stage each is.

A pipeline is a group of ranks that says that it is one (its description names a pipeline), or a
chain of ranks that send to one another: each to at most two others, and no ring, for ranks in a
ring may as well share the context of attention. Groups that say that they are something else tell
nothing. Stages are numbered from the end with the lower rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from wavescope.analyze.ranks.digest import UNKNOWN
from wavescope.analyze.ranks.job import Job, MatchedGroup
from wavescope.analyze.ranks.measures.job_measures import JobMeasures

SEND_RECV = "send/recv"

_PIPELINE = re.compile(r"(?<![a-z])(pp|pipe(line)?)(?![a-z])", re.IGNORECASE)
_OTHER = re.compile(
    r"(?<![a-z])(cp|sp|ep|tp|dp|context|sequence|expert|tensor|data)(?![a-z])", re.IGNORECASE
)


class Pipeline(NamedTuple):
    """One chain of ranks, from the first stage to the last."""

    places: tuple[int, ...]
    told_by: str


def pipelines(measures: JobMeasures) -> list[Pipeline]:
    """All pipelines of the longest length that occurs most often; none where none is visible."""
    job = measures.job
    named = [
        Pipeline(tuple(group.members.tolist()), "group's description")
        for group in job.groups
        if _says(group, _PIPELINE) and 2 <= len(group.members) == group.size
    ]
    # A group for all pipelines of a job, or one for each pair of stages, is no pipeline itself.
    found = named if _is_partition(named) else _chains(_edges(job))
    lengths = [len(pipeline.places) for pipeline in found]
    if not lengths:
        return []
    usual = max(set(lengths), key=lambda length: (lengths.count(length), length))
    return sorted(pipeline for pipeline in found if len(pipeline.places) == usual)


def _says(group: MatchedGroup, pattern: re.Pattern[str]) -> bool:
    words = f"{group.name} {group.description}".replace("_", " ")
    return bool(pattern.search(words))


def _is_partition(found: list[Pipeline]) -> bool:
    """Whether there are any, and no rank is in two of them."""
    places = [place for pipeline in found for place in pipeline.places]
    return bool(places) and len(places) == len(set(places))


def _edges(job: Job) -> set[tuple[int, int]]:
    """Pairs of places that send to each other, the lower first."""
    place_of = {number: place for place, number in enumerate(job.numbers)}
    edges: set[tuple[int, int]] = set()
    for group in job.groups:
        if all(use.operation != SEND_RECV for use in group.uses):
            continue
        if _says(group, _OTHER) and not _says(group, _PIPELINE):
            continue
        pairs = list(_peers(job, group, place_of))
        if not pairs and len(group.members) == 2:
            pairs = [(int(group.members[0]), int(group.members[1]))]
        edges.update((min(pair), max(pair)) for pair in pairs if pair[0] != pair[1])
    return edges


def _peers(job: Job, group: MatchedGroup, place_of: dict[int, int]) -> Iterable[tuple[int, int]]:
    """Who sends to whom, as the rows of a group's members say."""
    for member, place in enumerate(group.members.tolist()):
        rows = group.rows[member]
        peers = job.ranks[place].collectives.peer[rows[rows >= 0]]
        for number in np.unique(peers[peers != UNKNOWN]).tolist():
            if number in place_of:
                yield place, place_of[number]


def _chains(edges: set[tuple[int, int]]) -> list[Pipeline]:
    """The connected parts that are chains."""
    neighbours: dict[int, set[int]] = {}
    for one, other in edges:
        neighbours.setdefault(one, set()).add(other)
        neighbours.setdefault(other, set()).add(one)
    found = []
    seen: set[int] = set()
    for start in sorted(neighbours):
        if start in seen:
            continue
        part = _connected(neighbours, start)
        seen |= part
        ends = [place for place in part if len(neighbours[place]) == 1]
        if len(ends) == 2 and all(len(neighbours[place]) <= 2 for place in part):
            found.append(Pipeline(_walked(neighbours, min(ends)), "who sends to whom"))
    return found


def _connected(neighbours: dict[int, set[int]], start: int) -> set[int]:
    part, waiting = {start}, [start]
    while waiting:
        for place in neighbours[waiting.pop()] - part:
            part.add(place)
            waiting.append(place)
    return part


def _walked(neighbours: dict[int, set[int]], start: int) -> tuple[int, ...]:
    walked, before = [start], -1
    while onwards := neighbours[walked[-1]] - {before}:
        before = walked[-1]
        walked.append(min(onwards))
    return tuple(walked)
