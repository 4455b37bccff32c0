"""Groups of which only the name and the size are recorded.

Equal names on several ranks may be several groups (`tp` of each host). The size says how many
there must be; which ranks are together is told by the times of their exchanges, else supposed from
the order of ranks, and said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from wavescope.analyze.ranks.matching.alignment import aligned
from wavescope.analyze.ranks.matching.columns import columns_of, matrix_of
from wavescope.analyze.ranks.matching.gathered import Gathered, gathered_of, regular_parts
from wavescope.analyze.ranks.matching.kernel_groups import groups_of_kernels
from wavescope.analyze.ranks.matching.local_groups import NO_GROUP, LocalGroup
from wavescope.analyze.ranks.matching.sequence_columns import has_sequence, sequence_keys
from wavescope.analyze.ranks.matching.shifts import BY_TIMES
from wavescope.analyze.ranks.matching.time_partition import (
    CLEARLY,
    ENOUGH,
    Partition,
    partition_by_times,
)
from wavescope.arrays.intervals import Times

_TOLD_BY_TIMES = 0.9
_IRREGULAR = 0.75
_SUPPOSED = 0.35
_LEAST_CERTAIN = 0.5


def by_names(parts: Sequence[LocalGroup], numbers: Sequence[int]) -> list[Gathered]:
    """Groups of parts that list no members."""
    named: dict[tuple[str, str, int, int], list[LocalGroup]] = defaultdict(list)
    for part in parts:
        if part.group != NO_GROUP:
            name = (part.group.name, part.group.description, max(part.group.size, 0))
            # A rank with two groups of one name uses them in the same order as the others.
            nth = 0
            while any(member.place == part.place for member in named[(*name, nth)]):
                nth += 1
            named[(*name, nth)].append(part)
    gathered = [group for key, members in named.items() for group in _cut(members, key[2], numbers)]
    unnamed = [part for part in parts if part.group == NO_GROUP]
    return [*gathered, *groups_of_kernels(unnamed, numbers)]


def _cut(members: list[LocalGroup], size: int, numbers: Sequence[int]) -> list[Gathered]:
    """One or several groups of ranks that use the same name."""
    if len(members) == 1:
        return [gathered_of(members)]
    if size < 1:
        return _cut_without_size(members)
    if len(members) <= size:
        return _possibly_one(members, size)
    by_program: dict[bytes, list[LocalGroup]] = defaultdict(list)
    for member in members:
        by_program[np.unique(member.tokens).tobytes()].append(member)
    if len(by_program) > 1 and all(len(part) % size == 0 for part in by_program.values()):
        return [group for part in by_program.values() for group in _cut(part, size, numbers)]
    return _cut_to_size(members, size, numbers)


def _cut_without_size(members: list[LocalGroup]) -> list[Gathered]:
    partition = _told_by_times(members, None)
    if partition is None or len(partition.parts) < 2:
        return [gathered_of(members)]
    return [
        gathered_of(members[place] for place in part).doubted(
            _IRREGULAR, "which ranks are together is told by the times of their exchanges only"
        )
        for part in partition.parts
    ]


def _possibly_one(members: list[LocalGroup], size: int) -> list[Gathered]:
    """As many ranks as the group has, or fewer: mostly one group, if times do not say otherwise."""
    partition = None if len(members) == size else _told_by_times(members, None)
    if partition is None or len(partition.parts) < 2:
        return [gathered_of(members, size=size)]
    doubt = "its ranks bear the name of other groups; times of exchanges tell them apart"
    return [
        gathered_of((members[place] for place in part), size=size).doubted(_IRREGULAR, doubt)
        for part in partition.parts
    ]


def _cut_to_size(members: list[LocalGroup], size: int, numbers: Sequence[int]) -> list[Gathered]:
    ways = regular_parts([numbers[member.place] for member in members], size)
    partition = _told_by_times(members, size)
    is_regular = partition is not None and sorted(partition.parts) in [sorted(way) for way in ways]
    if partition is not None and partition.separation >= (ENOUGH if is_regular else CLEARLY):
        certainty = _TOLD_BY_TIMES if is_regular else _IRREGULAR
        doubt = "" if is_regular else "which ranks are together is told by times only"
        parts = partition.parts
    elif (way := _way_that_aligns(members, ways)) is not None:
        certainty, parts, doubt = _IRREGULAR, way, ""
    else:
        fitting = [way for way in ways if _counts_agree(members, way)] or ways
        certainty, parts = _SUPPOSED, fitting[0]
        doubt = (
            f"{len(members)} ranks bear the name of a group of {size} and nothing tells which are "
            "together: neighbours are supposed"
        )
    return [
        gathered_of((members[place] for place in part), size=size).doubted(certainty, doubt)
        for part in parts
    ]


def _counts_agree(members: Sequence[LocalGroup], parts: Sequence[Sequence[int]]) -> bool:
    return all(len({len(members[place]) for place in part}) == 1 for part in parts)


def _way_that_aligns(
    members: Sequence[LocalGroup], ways: Sequence[list[list[int]]]
) -> list[list[int]] | None:
    """The only way to cut ranks in which all find their place among the others by times."""
    if has_sequence(members):
        return None
    fitting = [
        way
        for way in ways
        if all(
            min(aligned([members[place] for place in part]).certainty) >= BY_TIMES for part in way
        )
    ]
    return fitting[0] if len(fitting) == 1 else None


def _told_by_times(members: Sequence[LocalGroup], size: int | None) -> Partition | None:
    """Parts that times tell clearly, of one size each."""
    ends = _common_ends(members)
    partition = None if ends is None else partition_by_times(ends, size)
    if partition is None or (len(partition.parts) > 1 and not _is_sound(partition, size)):
        return None
    return partition


def _is_sound(partition: Partition, size: int | None) -> bool:
    sizes = {len(part) for part in partition.parts}
    # A single rank that differs from the rest ends late; it is no group of its own.
    whole = len(sizes) == 1 and sizes != {1}
    return size is not None or (whole and partition.separation >= CLEARLY)


def _common_ends(members: Sequence[LocalGroup]) -> Times | None:
    """[member, exchange]: ends of exchanges that all members have, if their order is certain."""
    if has_sequence(members):
        keys = sequence_keys(members)
    else:
        alignment = aligned(members)
        if min(alignment.certainty) < _LEAST_CERTAIN:
            return None
        keys = alignment.keys
    columns, count = columns_of(keys)
    return _ends_of_all(members, columns, count)


def _ends_of_all(members: Sequence[LocalGroup], columns: Sequence[Times], count: int) -> Times:
    """[member, exchange]: ends of exchanges that all members have."""
    rows = matrix_of(members, columns, count, "rows")
    rows = rows[:, np.all(rows >= 0, axis=0)]
    return np.stack(
        [
            member.rank.digest.collectives.end_ns[row]
            for member, row in zip(members, rows, strict=True)
        ]
    )
