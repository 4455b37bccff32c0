"""Groups of collectives of which only kernels are known.

Kernels of one name may be exchanges of several groups of ranks: those of tensor parallel neighbours
and, once a step, those of the same part on all hosts. Times tell them apart: who is together ends
together. First the groups that most kernels belong to are found; the kernels at which their ranks
do not end together are looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.matching.alignment import aligned
from wavescope.analyze.ranks.matching.columns import columns_of, matrix_of
from wavescope.analyze.ranks.matching.gathered import Gathered, gathered_of, regular_parts
from wavescope.analyze.ranks.matching.local_groups import LocalGroup
from wavescope.analyze.ranks.matching.time_partition import (
    CLEARLY,
    ENOUGH,
    Levels,
    ends_near,
    ends_together,
    levelled,
    partition_by_times,
    usual_spread_ns,
)
from wavescope.arrays.intervals import Times

_TOLD_BY_TIMES = 0.75
_ONE_OF_ALL = 0.8
_SUPPOSED = 0.35
_LEAST_CERTAIN = 0.5
_LEAST_COLUMNS = 12
_NEARLY_ALL = 0.98
_DEPTH = 3
_MOST_CHANGE_NS = 100_000
"""Differences of clocks that two kinds of kernels tell agree within this."""
_BY_TIMES = "no group is recorded: which ranks are together is told by times only"

Parts = list[list[int]]


@dataclass(frozen=True, eq=False)
class _Kernels:
    """The kernels of one name of all ranks that have it, by column."""

    members: list[LocalGroup]
    columns: list[Times]
    """By member: the column of each of its rows."""
    end_ns: Times
    """[member, column]: when it ended, by its own clock."""
    is_there: npt.NDArray[np.bool_]

    def part(self, chosen: npt.NDArray[np.bool_]) -> _Kernels:
        """Only some columns."""
        number = np.cumsum(chosen) - 1
        members, columns = [], []
        for member, column in zip(self.members, self.columns, strict=True):
            kept = (column >= 0) & chosen[np.maximum(column, 0)]
            members.append(member.part(kept))
            columns.append(number[column[kept]])
        return _Kernels(
            members,
            columns,
            self.end_ns[:, chosen],
            self.is_there[:, chosen],
        )

    @property
    def shared_ends_ns(self) -> Times:
        """[member, column] of columns that all have."""
        shared: Times = self.end_ns[:, self.is_there.all(axis=0)]
        return shared

    def offsets_ns(self, part: Sequence[int]) -> dict[int, int]:
        """By place: how much more the clocks of these members show than that of the first."""
        found = {}
        for member in part:
            shared = self.is_there[member] & self.is_there[part[0]]
            if shared.any():
                apart = (self.end_ns[member] - self.end_ns[part[0]])[shared]
                found[self.members[member].place] = int(np.sort(apart)[len(apart) // 2])
        return found

    def levels(self, parts: Parts) -> list[Levels]:
        """The ends of each part against those of one of its ranks."""
        return [levelled(self.end_ns[part], self.is_there[part]) for part in parts]

    def usual_spread_ns(self, parts: Parts) -> float:
        """Within what ranks that are together mostly end."""
        return usual_spread_ns(self.end_ns, self.is_there, parts)


class _Class(NamedTuple):
    """Parts of ranks with the kernels that each part ended together, and how sure that is."""

    parts: Parts
    certainty: float
    kernels: _Kernels


def groups_of_kernels(parts: Sequence[LocalGroup], numbers: Sequence[int]) -> list[Gathered]:
    """Groups of ranks that end kernels together."""
    if len(parts) < 2:
        return [gathered_of(parts)] if parts else []
    alignment = aligned(parts)
    sure = [place for place, sure in enumerate(alignment.certainty) if sure >= _LEAST_CERTAIN]
    if 2 * len(sure) <= len(parts):
        doubt = "no group is recorded, and the ranks' exchanges differ: they may be several groups"
        return [gathered_of(parts).doubted(_SUPPOSED, doubt)]
    if len(sure) < len(parts):
        # The others are put where they must belong, if that is one group, and said there.
        unsure = [part for place, part in enumerate(parts) if place not in set(sure)]
        found = groups_of_kernels([parts[place] for place in sure], numbers)
        if len(found) == 1:
            one = found[0]
            whole = gathered_of([*one.members, *unsure])
            return [whole.doubted(one.certainty, one.doubt)]
        doubt = "no group is recorded, and its exchanges fit those of the others nowhere for sure"
        return [*found, *(gathered_of([part]).doubted(_SUPPOSED, doubt) for part in unsure)]
    tokens = sorted({token for part in parts for token in np.unique(part.tokens).tolist()})
    classes = [
        found
        for token in tokens
        for found in _classes(_kernels_of(parts, alignment.keys, token), numbers, _DEPTH)
    ]
    return _gathered(_without_contradictions(classes))


def _gathered(classes: Sequence[_Class]) -> list[Gathered]:
    """Kernels of several names that the same ranks ended together are of one group."""
    gathered: dict[tuple[tuple[int, ...], float], list[LocalGroup]] = {}
    for found in classes:
        for part in found.parts:
            members = [found.kernels.members[member] for member in part]
            key = (tuple(member.place for member in members), found.certainty)
            gathered.setdefault(key, []).extend(member for member in members if len(member))
    return [
        gathered_of(_together(members)).doubted(
            certainty, "" if certainty == _ONE_OF_ALL else _BY_TIMES
        )
        for (_, certainty), members in gathered.items()
        if members
    ]


def _without_contradictions(classes: Sequence[_Class]) -> list[_Class]:
    """Kernels that put clocks elsewhere than those that ended nearest together are doubtful.

    Ranks of other groups that always are late by the same time look like one group whose clocks
    differ; but clocks differ by one time only.
    """
    sure = [found for found in classes if found.certainty > _SUPPOSED]
    if len(sure) < 2:
        return list(classes)
    nearest = min(sure, key=lambda found: found.kernels.usual_spread_ns(found.parts))
    trusted = {
        place: (number, offset)
        for number, part in enumerate(nearest.parts)
        for place, offset in nearest.kernels.offsets_ns(part).items()
    }
    return [
        found._replace(certainty=_SUPPOSED)
        if found is not nearest and any(_contradicts(found, part, trusted) for part in found.parts)
        else found
        for found in classes
    ]


def _contradicts(found: _Class, part: list[int], trusted: Mapping[int, tuple[int, int]]) -> bool:
    changes: dict[int, list[int]] = {}
    for place, offset in found.kernels.offsets_ns(part).items():
        if place in trusted:
            number, known = trusted[place]
            changes.setdefault(number, []).append(offset - known)
    return any(max(change) - min(change) > _MOST_CHANGE_NS for change in changes.values())


def _kernels_of(parts: Sequence[LocalGroup], keys: Sequence[Times], token: int) -> _Kernels:
    having = [place for place, part in enumerate(parts) if bool(np.any(part.tokens == token))]
    members = [parts[place].part(parts[place].tokens == token) for place in having]
    columns, count = columns_of([keys[place][parts[place].tokens == token] for place in having])
    rows = matrix_of(members, columns, count, "rows")
    times = [member.rank.digest.collectives for member in members]
    ends = [each.end_ns[np.maximum(row, 0)] for each, row in zip(times, rows, strict=True)]
    return _Kernels(members, columns, np.stack(ends), rows >= 0)


def _classes(kernels: _Kernels, numbers: Sequence[int], depth: int) -> list[_Class]:
    """Parts of ranks with the kernels that each part ended together, and how sure that is."""
    everybody = [list(range(len(kernels.members)))]
    ends = kernels.shared_ends_ns
    if len(everybody[0]) < 2 or ends.shape[1] < _LEAST_COLUMNS:
        # What is left of other groups says nothing by itself.
        is_sure = depth == _DEPTH and all(
            len(level) < 2 or ends_near(level) for level in kernels.levels(everybody)
        )
        return [_Class(everybody, _ONE_OF_ALL if is_sure else _SUPPOSED, kernels)]
    parts = _parts(ends, [numbers[member.place] for member in kernels.members])
    levels = kernels.levels(parts)
    together = ends_together(levels, kernels.is_there, parts)
    certainty = _ONE_OF_ALL if len(parts) == 1 else _TOLD_BY_TIMES
    share = np.count_nonzero(together) / len(together)
    is_mixed = 1 - _NEARLY_ALL < share < _NEARLY_ALL and depth > 0
    some = kernels.part(together) if is_mixed else kernels
    near = some.levels(parts) if is_mixed else levels
    if not all(len(level) < 2 or ends_near(level) for level in near):
        certainty = _SUPPOSED
    if not is_mixed:
        return [_Class(parts, certainty if share >= _NEARLY_ALL else _SUPPOSED, kernels)]
    rest = _classes(kernels.part(~together), numbers, depth - 1)
    return [_Class(parts, certainty, some), *rest]


def _parts(end_ns: Times, numbers: Sequence[int]) -> Parts:
    """Who ends together: by a clear gap in the distances, or as launchers cut ranks."""
    count = len(numbers)
    partition = partition_by_times(end_ns, None)
    if partition is not None and len(partition.parts) > 1 and partition.separation >= CLEARLY:
        sizes = {len(part) for part in partition.parts}
        # A single rank that differs from the rest ends late; it is no group of its own.
        if len(sizes) == 1 and sizes != {1}:
            return partition.parts
    found: list[tuple[float, Parts]] = []
    for size in (size for size in range(2, count) if count % size == 0):
        partition = partition_by_times(end_ns, size, regular_parts(numbers, size))
        if partition is not None:
            found.append((partition.separation, partition.parts))
    best = max(found, default=(0.0, []), key=lambda each: each[0])
    return best[1] if best[0] >= ENOUGH else [list(range(count))]


def _together(members: Sequence[LocalGroup]) -> list[LocalGroup]:
    """One part for each rank, of the rows of all its parts."""
    by_place: dict[int, list[LocalGroup]] = {}
    for member in members:
        by_place.setdefault(member.place, []).append(member)
    return [
        LocalGroup(
            some[0].rank, some[0].group, np.sort(np.concatenate([each.rows for each in some]))
        )
        for some in by_place.values()
    ]
