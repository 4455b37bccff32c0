"""Collectives one by one: in which group of ranks each ran, as the how-manieth, and with whom."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from wavescope.analyze.calls.outermost import with_all_calls
from wavescope.analyze.collectives.records import (
    CollectiveUse,
    collective_records,
    use_of_kernel,
    use_of_record,
)
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
_USE_KEYS = (
    "Collective name",
    "In msg nelems",
    "Out msg nelems",
    "dtype",
    "In split size",
    "Out split size",
)
_KEYS = (*_USE_KEYS, *_GROUP_KEYS)
"""Equal for collectives of one kind."""
_SEQUENCE = "Seq"
_PEER_KEYS = ("Dst Rank", "Src Rank")


class RecordedGroup(NamedTuple):
    """A group of ranks as it was recorded; what was not is "", -1 or empty."""

    name: str = ""
    description: str = ""
    size: int = UNKNOWN
    ranks: tuple[int, ...] = ()
    """The global ranks of all members, where they are known."""


class RecordedKind(NamedTuple):
    """What some collectives have in common."""

    use: CollectiveUse
    group: RecordedGroup | None
    kernel: str
    """The whole name of the kernel."""
    is_named: bool
    """Whether the framework recorded what it is; else the kernel's name tells."""


class RecordedCollectives(NamedTuple):
    """What is recorded of some collectives, as columns."""

    kinds: list[RecordedKind]
    """In the order of first sight."""
    kind: npt.NDArray[np.int32]
    """For each collective a place in `kinds`."""
    sequence: npt.NDArray[np.int64]
    """Its number within the group, -1 when not recorded."""
    peer: npt.NDArray[np.int64]
    """The global rank at the other end of a send or a receive, else -1."""


def recorded_collectives(trace: Trace, op_rows: RowArray) -> RecordedCollectives:
    """What is recorded of these ops, which are collectives."""
    names = trace.ops["name"][op_rows]
    records = collective_records(with_all_calls(trace), op_rows)
    if not any(records):
        return _by_kernels(trace, names)
    known: dict[tuple[object, ...], int] = {}
    kinds: list[RecordedKind] = []
    numbers = []
    for code, record in zip(names.tolist(), records, strict=True):
        key = (code, *map(record.get, _KEYS))
        try:
            number = known.get(key)
        except TypeError:  # lists, of which the text is as good
            key = (code, *map(repr, key))
            number = known.get(key)
        if number is None:
            number = known[key] = len(kinds)
            kinds.append(_kind(trace.strings[code], record))
        numbers.append(number)
    return RecordedCollectives(
        kinds,
        np.array(numbers, np.int32),
        _numbers([record.get(_SEQUENCE) for record in records]),
        np.maximum(*(_numbers([record.get(name) for record in records]) for name in _PEER_KEYS)),
    )


def _by_kernels(trace: Trace, names: npt.NDArray[np.int32]) -> RecordedCollectives:
    """The same where nothing but the names of kernels is recorded."""
    codes, firsts, inverse = np.unique(names, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    place = np.empty(len(codes), np.int32)
    place[order] = np.arange(len(codes))
    kinds = [_kind(trace.strings[code], {}) for code in codes[order].tolist()]
    unknown = np.full(len(names), UNKNOWN, np.int64)
    return RecordedCollectives(kinds, place[inverse], unknown, unknown)


def _kind(kernel: str, record: dict[str, Any]) -> RecordedKind:
    is_named = bool(_text(record.get("Collective name")))
    by_kernel = use_of_kernel(kernel)
    use = use_of_record(record, by_kernel) if is_named else by_kernel
    group = _group([record.get(key) for key in _GROUP_KEYS]) if record else None
    return RecordedKind(use, group, kernel, is_named)


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


def _row_of_ranks(shown: Sequence[int], first: int, step: int, size: int) -> tuple[int, ...]:
    """`size` ranks from `first` on, if what is shown of them are the first ones, then the last."""
    row = range(first, first + step * size, step)
    fits = any(
        list(shown) == [*row[:before], *row[size - (len(shown) - before) :]]
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


def _numbers(values: list[Any]) -> npt.NDArray[np.int64]:
    """The number of each value."""
    if all(value is None for value in values):
        return np.full(len(values), UNKNOWN, np.int64)
    return np.array([_number(value) for value in values], np.int64)
