"""Aligns two lists of instructions in order: equal ends first, then unique anchors, then the rest.

Instructions are compared without register numbers, addresses and immediates, so that another
allocation of registers does not hide that the code is the same.
"""

from __future__ import annotations

import bisect
import difflib
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

_NUMBERS = re.compile(
    r"\[\d+:\d+\]|(?<=[vsa])\d+\b|\b0x[0-9a-f]+\b|\b\d+\b", re.ASCII | re.IGNORECASE
)
_SMALL = 400_000
"""Blocks of at most so many pairs are compared pair by pair."""


class Span(NamedTuple):
    """Rows `first` to `last` of one list and `other_first` to `other_last` of the other."""

    first: int
    last: int
    other_first: int
    other_last: int


def normalized(text: str) -> str:
    """An instruction without what allocation and layout decide: numbers of registers, addresses."""
    return _NUMBERS.sub("#", text.strip())


def aligned(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of places with equal keys, in order in both lists."""
    pairs: list[tuple[int, int]] = []
    todo = [Span(0, len(left), 0, len(right))]
    while todo:
        span = _without_equal_ends(left, right, todo.pop(), pairs)
        if span.first >= span.last or span.other_first >= span.other_last:
            continue
        anchors = _anchors(left, right, span)
        if anchors:
            pairs += anchors
            todo += _between(span, anchors)
        elif (span.last - span.first) * (span.other_last - span.other_first) <= _SMALL:
            pairs += _matched(left, right, span)
    return sorted(pairs)


def _without_equal_ends(
    left: Sequence[str], right: Sequence[str], span: Span, pairs: list[tuple[int, int]]
) -> Span:
    first, last, other_first, other_last = span
    while first < last and other_first < other_last and left[first] == right[other_first]:
        pairs.append((first, other_first))
        first, other_first = first + 1, other_first + 1
    while first < last and other_first < other_last and left[last - 1] == right[other_last - 1]:
        last, other_last = last - 1, other_last - 1
        pairs.append((last, other_last))
    return Span(first, last, other_first, other_last)


def _anchors(left: Sequence[str], right: Sequence[str], span: Span) -> list[tuple[int, int]]:
    """Keys that occur once on each side, the longest list of them that is in order on both."""
    counts = Counter(left[span.first : span.last])
    other_counts = Counter(right[span.other_first : span.other_last])
    place = {
        right[at]: at
        for at in range(span.other_first, span.other_last)
        if other_counts[right[at]] == 1
    }
    common = [
        (at, place[left[at]])
        for at in range(span.first, span.last)
        if counts[left[at]] == 1 and left[at] in place
    ]
    return _longest_increasing(common)


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    ends: list[int] = []
    end_of: list[int] = []
    before: list[int] = []
    for index, (_, other) in enumerate(pairs):
        length = bisect.bisect_left(ends, other)
        before.append(end_of[length - 1] if length else -1)
        if length == len(ends):
            ends.append(other)
            end_of.append(index)
        else:
            ends[length], end_of[length] = other, index
    chain: list[tuple[int, int]] = []
    index = end_of[-1] if end_of else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _between(span: Span, anchors: list[tuple[int, int]]) -> list[Span]:
    starts = [(span.first - 1, span.other_first - 1), *anchors]
    stops = [*anchors, (span.last, span.other_last)]
    return [
        Span(at + 1, stop, other + 1, other_stop)
        for (at, other), (stop, other_stop) in zip(starts, stops, strict=True)
        if at + 1 < stop and other + 1 < other_stop
    ]


def _matched(left: Sequence[str], right: Sequence[str], span: Span) -> list[tuple[int, int]]:
    matcher = difflib.SequenceMatcher(
        None,
        left[span.first : span.last],
        right[span.other_first : span.other_last],
        autojunk=False,
    )
    return [
        (span.first + block.a + step, span.other_first + block.b + step)
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    ]
