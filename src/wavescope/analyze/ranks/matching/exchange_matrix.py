"""The exchanges of one group matched, with everything that does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.digest import CollectiveUse
from wavescope.analyze.ranks.job import MISSING, MatchedBy, MatchedGroup, Mismatch
from wavescope.analyze.ranks.matching.alignment import aligned
from wavescope.analyze.ranks.matching.columns import columns_of, matrix_of
from wavescope.analyze.ranks.matching.gathered import Gathered
from wavescope.analyze.ranks.matching.local_groups import LocalGroup, Numbers
from wavescope.analyze.ranks.matching.mismatches import Names, absent_members, lacking_members
from wavescope.analyze.ranks.matching.sequence_columns import has_sequence, sequence_keys
from wavescope.arrays.intervals import Times

_ORDER_ONLY = 0.8
"""What remains of certainty where sizes are not known."""
DOUBTFUL = 0.5
"""A matching less sure than this is a row of its own."""
_COUNTED_DIFFERENTLY = 0.5
"""Sequence numbers at which fewer exchanges agree are each rank's own count."""


@dataclass(frozen=True)
class UseTable:
    """Uses by the numbers that local groups have for them."""

    exact: tuple[CollectiveUse, ...]
    tokens: tuple[tuple[str, str, int, str], ...]

    @property
    def operation_of_token(self) -> Numbers:
        """For each token the number of its operation."""
        operations = [token[0] for token in self.tokens]
        known = {operation: number for number, operation in enumerate(dict.fromkeys(operations))}
        return np.array([known[operation] for operation in operations], np.int32)


@dataclass(frozen=True, eq=False)
class _Placing:
    """Which row of which member is which exchange."""

    columns: list[Times]
    count: int
    matched_by: MatchedBy
    certainty: float
    doubts: list[int]
    """Members whose order is not certain."""
    tokens: Numbers
    """[member, exchange]: what each does."""
    leader: npt.NDArray[np.intp]
    """For each exchange a member that does what most do."""
    differs: npt.NDArray[np.bool_]
    """[member, exchange]: whether it does something else than the leader."""

    @property
    def leaves_out_doubts(self) -> bool:
        """Few ranks at a place that is a guess would spoil what is known of the others."""
        return 2 * len(self.doubts) < len(self.tokens)


def matched_group(
    gathered: Gathered, place: int, uses: UseTable, names: Names
) -> tuple[MatchedGroup, list[Mismatch]]:
    """The matrix of a group that will have this place, and its mismatches."""
    members = gathered.members
    placing = _placing(gathered, uses)
    rows = matrix_of(members, placing.columns, placing.count, "rows")
    if placing.leaves_out_doubts:
        rows[placing.doubts] = MISSING
    differing, share = _differing(rows, placing, uses)
    mismatches = [
        *absent_members(gathered, place, names),
        *lacking_members(gathered, place, placing.tokens, names),
        *(names.differing(kind, gathered, place, count) for kind, count in differing),
        *_doubts(gathered, place, placing, names),
    ]
    use, used = _uses_of(_exact_of(gathered, placing), uses, place)
    confidence = gathered.certainty * placing.certainty * share
    group = MatchedGroup(
        gathered.name,
        gathered.description,
        np.array([member.place for member in members], np.int32),
        gathered.size,
        used,
        use,
        rows,
        placing.matched_by,
        round(confidence, 4),
        gathered.sender,
    )
    return group, mismatches


def _placing(gathered: Gathered, uses: UseTable) -> _Placing:
    members = gathered.members
    # Numbers of sends and receives are each rank's own count of both.
    if not gathered.is_pair and has_sequence(members):
        columns, count = columns_of(sequence_keys(members))
        tokens, leader, differs = _compared(members, columns, count)
        if _agreement(tokens, differs) >= _COUNTED_DIFFERENTLY:
            return _Placing(columns, count, MatchedBy.SEQUENCE, 1.0, [], tokens, leader, differs)
    alignment = aligned(members)
    columns, count = columns_of(alignment.keys)
    is_sized = _is_sized(members, uses)
    doubts = [member for member, sure in enumerate(alignment.certainty) if sure < DOUBTFUL]
    # Few ranks whose place is a guess are left out; the others are as sure as their mean.
    are_few = 2 * len(doubts) < len(members)
    kept = [sure for sure in alignment.certainty if sure >= DOUBTFUL or not are_few]
    # Less the one that the others are compared with, which is always sure.
    certainty = (sum(kept) - 1.0) / (len(kept) - 1) if len(kept) > 1 else 1.0
    return _Placing(
        columns,
        count,
        MatchedBy.ARGUMENTS if is_sized else MatchedBy.ORDER,
        certainty * (1.0 if is_sized else _ORDER_ONLY),
        doubts,
        *_compared(members, columns, count),
    )


def _compared(
    members: Sequence[LocalGroup], columns: Sequence[Times], count: int
) -> tuple[Numbers, npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """What each member does in each exchange, who does what most do, and who does not."""
    tokens = matrix_of(members, columns, count, "tokens")
    return (tokens, *_leaders(tokens))


def _agreement(tokens: Numbers, differs: npt.NDArray[np.bool_]) -> float:
    """The share of exchanges in which members do the same; 1 where none is shared."""
    if not differs.any():
        return 1.0
    shared = np.count_nonzero(tokens >= 0, axis=0) > 1
    return 1.0 - float(np.count_nonzero(differs.any(axis=0))) / int(shared.sum())


def _is_sized(members: Sequence[LocalGroup], uses: UseTable) -> bool:
    known = np.array([token[2] >= 0 for token in uses.tokens], np.bool_)
    sized = sum(int(np.count_nonzero(known[member.tokens])) for member in members)
    return 2 * sized >= sum(len(member) for member in members)


def _leaders(tokens: Numbers) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """For each exchange a member that does what most do; for each cell whether it differs."""
    is_there = tokens >= 0
    leader = np.argmax(is_there, axis=0)
    lead = tokens[leader, np.arange(tokens.shape[1])]
    differs = (tokens != lead) & is_there
    for column in np.flatnonzero(differs.any(axis=0)).tolist():
        values, first, counts = np.unique(tokens[:, column], return_index=True, return_counts=True)
        counts[values < 0] = 0
        leader[column] = first[np.argmax(counts)]
        differs[:, column] = is_there[:, column] & (
            tokens[:, column] != tokens[leader[column], column]
        )
    return leader, differs


def _differing(
    rows: Numbers, placing: _Placing, uses: UseTable
) -> tuple[list[tuple[str, npt.NDArray[np.int64]]], float]:
    """How many exchanges of each member differ in operation or size, and the share that agrees.

    Cells with another operation are taken out of `rows`: they are not the same exchange.
    """
    tokens, differs = placing.tokens, placing.differs
    if not differs.any():
        return [], 1.0
    operation = uses.operation_of_token
    lead = tokens[placing.leader, np.arange(tokens.shape[1])]
    other = differs & (operation[np.maximum(tokens, 0)] != operation[lead])
    rows[other] = MISSING
    counts = {
        "operation": np.count_nonzero(other, axis=1),
        "size": np.count_nonzero(differs & ~other, axis=1),
    }
    share = 1.0 - float(np.count_nonzero(differs.any(axis=0))) / tokens.shape[1]
    return [(kind, count) for kind, count in counts.items() if count.any()], share


def _exact_of(gathered: Gathered, placing: _Placing) -> Numbers:
    """For each exchange the exact use of its leader."""
    leader = placing.leader
    exact = np.zeros(placing.count, np.int32)
    for number in np.unique(leader).tolist():
        member, column = gathered.members[number], placing.columns[number]
        led = (column >= 0) & (leader[np.maximum(column, 0)] == number)
        exact[column[led]] = member.exact[led]
    return exact


def _uses_of(
    exact: Numbers, uses: UseTable, place: int
) -> tuple[Numbers, tuple[CollectiveUse, ...]]:
    """For each exchange a row of the group's uses, and these."""
    numbers, use = np.unique(exact, return_inverse=True)
    return use.reshape(-1).astype(np.int32), tuple(
        uses.exact[number]._replace(group=place) for number in numbers.tolist()
    )


def _doubts(gathered: Gathered, place: int, placing: _Placing, names: Names) -> list[Mismatch]:
    rows = []
    if gathered.doubt:
        places = tuple(member.place for member in gathered.members)
        sentence = f"{names.group(gathered)}: {gathered.doubt}."
        rows.append(Mismatch("order", place, places, placing.count, sentence))
    if placing.doubts:
        places = tuple(gathered.members[member].place for member in placing.doubts)
        sentence = (
            f"{names.group(gathered)}: the exchanges of {names.ranks(places)} fit those of the "
            "others at several places, and neither steps nor times tell which"
            f"{': they are not matched' if placing.leaves_out_doubts else ''}."
        )
        rows.append(Mismatch("order", place, places, placing.count, sentence))
    return rows
