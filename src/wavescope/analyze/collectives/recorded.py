"""Collectives one by one: in which group of ranks each ran, as the how-manieth, and with whom."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import orjson

from wavescope.analyze.collectives.records import (
    CollectiveUse,
    collective_records,
    uses_of_records,
)
from wavescope.analyze.operators import with_all_calls
from wavescope.analyze.ops.op_links import RowArray
from wavescope.model.columns import UNKNOWN
from wavescope.model.trace import Trace

_MOST_RANKS = 1 << 17
"""A text that lists more is not believed."""
_LARGEST_NUMBER = 1 << 53
_NUMBERS = re.compile(r"-?\d+")
_GROUP_KEYS = (
    "Process Group Name",
    "Process Group Description",
    "Process Group Ranks",
    "Group size",
    "Global rank start",
    "Global rank stride",
)
_PEER_KEYS = ("Dst Rank", "Src Rank")


class RecordedGroup(NamedTuple):
    """A group of ranks as it was recorded; what was not is "", -1 or empty."""

    name: str = ""
    description: str = ""
    size: int = UNKNOWN
    ranks: tuple[int, ...] = ()
    """The global ranks of all members, where they are known."""


class RecordedCollective(NamedTuple):
    """What is known of one collective."""

    use: CollectiveUse
    group: RecordedGroup | None
    sequence: int
    """Its number within the group, -1 when not recorded."""
    peer: int
    """The global rank at the other end of a send or a receive, else -1."""
    is_named: bool
    """Whether the framework recorded what it is; else its kernel's name tells."""


def recorded_collectives(trace: Trace, op_rows: RowArray) -> list[RecordedCollective]:
    """For each of these ops, which are collectives, what is recorded of it."""
    trace = with_all_calls(trace)
    records = collective_records(trace, op_rows)
    uses = uses_of_records(trace, op_rows, records)
    groups: dict[bytes, RecordedGroup | None] = {}
    found = []
    for record, use in zip(records, uses, strict=True):
        if not record:
            found.append(RecordedCollective(use, None, UNKNOWN, UNKNOWN, False))
            continue
        told = [record.get(key) for key in _GROUP_KEYS]
        key = orjson.dumps(told)
        if key not in groups:
            groups[key] = _group(told)
        peers = (_number(record.get(key)) for key in _PEER_KEYS)
        peer = next((number for number in peers if number != UNKNOWN), UNKNOWN)
        sequence, is_named = _number(record.get("Seq")), bool(_text(record.get("Collective name")))
        found.append(RecordedCollective(use, groups[key], sequence, peer, is_named))
    return found


def listed_ranks(value: object, size: int = UNKNOWN) -> tuple[int, ...]:
    """The ranks of a list or of its text; of one that leaves out its middle only when all ranks
    that it shows, and the size of the group, are those of a row with equal steps."""
    if isinstance(value, list):
        whole = value[:_MOST_RANKS]
        is_whole = len(whole) == len(value) and all(_number(each) != UNKNOWN for each in whole)
        return tuple(_number(each) for each in whole) if is_whole else ()
    if not isinstance(value, str) or len(value) > 8 * _MOST_RANKS:
        return ()
    if "..." not in value:
        try:
            found = orjson.loads(value)
        except orjson.JSONDecodeError:
            return ()
        return listed_ranks(found) if isinstance(found, list) else ()
    shown = [int(text) for text in _NUMBERS.findall(value) if len(text) < 10]
    step = shown[1] - shown[0] if len(shown) > 1 else 0
    if step <= 0 or not len(shown) <= size <= _MOST_RANKS:
        return ()
    return _row_of_ranks(shown, shown[0], step, size)


def _row_of_ranks(shown: list[int], first: int, step: int, size: int) -> tuple[int, ...]:
    """`size` ranks from `first` on, if what is shown of them are the first ones, then the last."""
    row = range(first, first + step * size, step)
    fits = any(
        shown == [*row[:before], *row[size - (len(shown) - before) :]]
        for before in range(1, len(shown) + 1)
    )
    return tuple(row) if fits and first >= 0 else ()


def _group(told: list[Any]) -> RecordedGroup | None:
    name, description, listed = told[:3]
    size, first, step = map(_number, told[3:])
    size = UNKNOWN if size == 0 else size
    ranks = listed_ranks(listed, size)
    if not listed and 0 < size <= _MOST_RANKS and first != UNKNOWN and step > 0:
        # Where the ranks are not listed: where they begin and how far apart they are.
        ranks = tuple(range(first, first + step * size, step))
    if size == UNKNOWN and ranks:
        size = len(ranks)
    if ranks and size != len(ranks):
        ranks = ()
    group = RecordedGroup(_text(name), _text(description), size, ranks)
    return None if group == RecordedGroup() else group


def _text(value: object) -> str:
    return value if isinstance(value, str) and value != "undefined" else ""


def _number(value: object) -> int:
    """A number that is not negative, or its text; -1 for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 17:
        value = int(value)
    return value if type(value) is int and 0 <= value < _LARGEST_NUMBER else UNKNOWN
