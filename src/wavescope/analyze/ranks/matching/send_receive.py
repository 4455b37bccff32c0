"""Sends and receives, matched by the ranks at both ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.digest import UNKNOWN, Group, RankDigest
from wavescope.analyze.ranks.job import MISSING, Mismatch
from wavescope.analyze.ranks.matching.gathered import Gathered
from wavescope.analyze.ranks.matching.local_groups import (
    NO_GROUP,
    SEND_RECEIVE,
    LocalGroup,
    Uses,
    numbered_rank,
)
from wavescope.analyze.ranks.matching.mismatches import Names

_SENDS, _RECEIVES, _EITHER = 1, 2, 0
_MOST_PAIRS_OF_A_RANK = 64
"""More peers than this are an all-to-all of single sends; no pair of it is looked at."""


@dataclass(frozen=True, order=True)
class _Ends:
    """Who exchanges with whom in which group: from one rank to the other where that is known."""

    group: str
    first: int
    second: int
    is_directed: bool


def sends_and_receives(
    digests: Sequence[RankDigest], uses: Uses, names: Names
) -> tuple[list[Gathered], list[Mismatch]]:
    """A group for each pair of ranks and direction, and rows about what has no known peer."""
    pairs: dict[_Ends, list[LocalGroup]] = defaultdict(list)
    unknown: dict[int, int] = {}
    for place, rank in enumerate(digests):
        chosen = np.array([use.operation == SEND_RECEIVE for use in rank.uses], np.bool_)
        if chosen.any():
            whole = LocalGroup(
                numbered_rank(place, rank, uses),
                NO_GROUP,
                np.arange(len(rank.collectives), dtype=np.int32),
            )
            is_chosen = chosen[rank.collectives.use]
            unknown[place] = _add_rank(whole, rank, is_chosen, names.numbers[place], pairs)
    gathered = [_gathered(ends, members, names) for ends, members in sorted(pairs.items())]
    lost = {place: count for place, count in unknown.items() if count}
    if not lost:
        return gathered, []
    sentence = (
        f"{sum(lost.values())} sends and receives of {names.ranks(lost)} do not tell the rank at "
        "the other end, or have too many of them: they are not matched."
    )
    return gathered, [Mismatch("order", MISSING, tuple(lost), sum(lost.values()), sentence)]


def _add_rank(
    whole: LocalGroup,
    rank: RankDigest,
    is_chosen: npt.NDArray[np.bool_],
    number: int,
    pairs: dict[_Ends, list[LocalGroup]],
) -> int:
    """Puts a rank's rows to their pairs, and says how many have none."""
    rows = rank.collectives
    direction = np.array([_direction(use.name) for use in rank.uses], np.int64)[rows.use]
    group = np.array([use.group for use in rank.uses], np.int64)[rows.use]
    peer = _peers(rank, number)
    known = is_chosen & (peer >= 0) & (peer != number)
    keys = np.stack([group[known], peer[known], direction[known]], axis=1)
    kinds, kind = np.unique(keys, axis=0, return_inverse=True)
    if len(kinds) > _MOST_PAIRS_OF_A_RANK:
        return int(np.count_nonzero(is_chosen))
    for place_of_kind, (group_row, other, way) in enumerate(kinds.tolist()):
        part = whole.part(np.flatnonzero(known)[kind.reshape(-1) == place_of_kind])
        name = rank.groups[group_row].name if 0 <= group_row < len(rank.groups) else ""
        first, second = (number, other) if way == _SENDS else (other, number)
        if way == _EITHER:
            first, second = sorted((number, other))
        pairs[_Ends(name, first, second, way != _EITHER)].append(
            replace(part, group=Group(name, size=2))
        )
    return int(np.count_nonzero(is_chosen & ~known))


def _peers(rank: RankDigest, number: int) -> npt.NDArray[np.int64]:
    """The rank at the other end of each row: as recorded, or the other member of a group of two."""
    others = []
    for use in rank.uses:
        group = rank.groups[use.group] if 0 <= use.group < len(rank.groups) else Group("")
        rest = [member for member in group.ranks if member != number]
        others.append(rest[0] if len(group.ranks) == 2 and len(rest) == 1 else UNKNOWN)
    recorded = rank.collectives.peer.astype(np.int64)
    peers: npt.NDArray[np.int64] = np.where(
        recorded >= 0, recorded, np.array(others, np.int64)[rank.collectives.use]
    )
    return peers


def _direction(name: str) -> int:
    plain = name.lower()
    sends, receives = "send" in plain, "recv" in plain or "receive" in plain
    if sends == receives:
        return _EITHER
    return _SENDS if sends else _RECEIVES


def _gathered(ends: _Ends, members: Sequence[LocalGroup], names: Names) -> Gathered:
    ordered = tuple(sorted(members, key=lambda member: member.place))
    arrow = "->" if ends.is_directed else "-"
    sender = MISSING
    if ends.is_directed:
        places = [names.numbers[member.place] for member in ordered]
        sender = places.index(ends.first) if ends.first in places else MISSING
    return Gathered(
        f"{ends.first} {arrow} {ends.second}",
        ends.group,
        2,
        ordered,
        tuple(sorted((ends.first, ends.second))),
        is_pair=True,
        sender=sender,
    )
