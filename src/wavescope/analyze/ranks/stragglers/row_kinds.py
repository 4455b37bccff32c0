"""What kind of exchange each row of a rank is, in numbers that all ranks share."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import MISSING, Job

Codes = npt.NDArray[np.int32]

SEND = "send/recv"
_RECEIVE = re.compile(r"^(?!.*send).*(recv|receive)", re.IGNORECASE)


@dataclass(frozen=True)
class RowKinds:
    """The rows of one rank."""

    group: Codes
    """The group that each was matched in, or `MISSING`."""
    exchange: Codes
    code: Codes
    """Equal for rows of the same operation in groups of the same size; of sends and receives, in
    the same direction. Sizes of messages are left out: ranks with uneven numbers of tokens do the
    same. 0 for what was not matched."""
    is_receive: npt.NDArray[np.bool_]
    """A receive may begin long before its data is there, and before its rank needs it."""


def row_kinds(job: Job) -> tuple[RowKinds, ...]:
    """One for each place."""
    numbers: dict[tuple[str, int], int] = {}
    kinds = [_unmatched(len(rank.collectives)) for rank in job.ranks]
    for number, group in enumerate(job.groups):
        codes = np.array(
            [numbers.setdefault((use.operation, group.size), len(numbers)) for use in group.uses],
            np.int32,
        )
        has_sends = any(use.operation == SEND for use in group.uses)
        for member, place in enumerate(group.members.tolist()):
            rows = group.rows[member]
            there = np.flatnonzero(rows != MISSING)
            rows = rows[there]
            own = kinds[place]
            own.group[rows] = number
            own.exchange[rows] = there
            own.code[rows] = 1 + 6 * codes[group.use[there]]
            if has_sends:
                is_receive = None if group.sender == MISSING else group.sender != member
                _tell_direction(job, place, rows, own, is_receive)
    return tuple(kinds)


def _unmatched(count: int) -> RowKinds:
    return RowKinds(
        np.full(count, MISSING, np.int32),
        np.full(count, MISSING, np.int32),
        np.zeros(count, np.int32),
        np.zeros(count, np.bool_),
    )


def _tell_direction(
    job: Job,
    place: int,
    rows: npt.NDArray[np.int32],
    own: RowKinds,
    is_receive: bool | None,
) -> None:
    """Tells sends and receives apart, by name where the group does not say."""
    rank = job.ranks[place]
    receives = np.array([bool(_RECEIVE.search(use.name)) for use in rank.uses], np.bool_)
    told = receives[rank.collectives.use[rows]]
    if is_receive is not None:
        told[:] = is_receive
    peer = rank.collectives.peer[rows]
    side = np.where(peer < 0, 0, np.where(peer > job.numbers[place], 1, 2))
    own.is_receive[rows] = told
    own.code[rows] += (2 * side + told).astype(np.int32)
