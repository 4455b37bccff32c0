"""How long the exchanges of a group took: who came when, how long others waited, the transfer.

An exchange is timed where its matching is sure enough, more than half of the given members took
part, at least two, and all of those have clocks that can be compared. Only durations, which no
clock's offset changes, are told of the others.

Estimates take the fitted clocks as they are. Bounds hold for any offsets within the intervals that
causality allows (with the fitted drift), and are never wider than what durations alone say: the
time from the last arrival to the last end lies between the shortest and the longest duration, and
where nobody can end before everybody has begun, nobody waited longer than its own duration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import MISSING, ClockState, Job, MatchedGroup, RankClock
from wavescope.arrays.intervals import Times

Flags = npt.NDArray[np.bool_]

LEAST_CONFIDENCE = 0.5
"""Arrivals of groups whose matching is less sure are not compared."""

_BLOCK_CELLS = 1 << 17
"""A megabyte for each matrix of a block: what is made of them stays in the cache."""
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class ExchangeTimes:
    """Of each exchange of a group; figures that need clocks mean something where `is_timed`."""

    member_count: Times
    """How many members were seen."""
    is_timed: Flags
    is_certified: Flags
    """Whether it is timed and each member's clock has an interval that causality allows."""
    first_ns: Times
    """The first arrival, in common time."""
    last_ns: Times
    """The last arrival."""
    last_member: Times
    """Who came last, a place in `MatchedGroup.members`; `MISSING` where nobody can be told."""
    skew_ns: Times
    """Last arrival - first arrival."""
    skew_low_ns: Times
    skew_high_ns: Times
    wait_ns: Times
    """Over members, the sum of last arrival - own arrival."""
    wait_low_ns: Times
    wait_high_ns: Times
    transfer_ns: Times
    """Last end - last arrival."""
    transfer_low_ns: Times
    """Without certified clocks the shortest duration."""
    transfer_high_ns: Times
    """Without certified clocks the longest duration."""
    shortest_ns: Times
    """The least duration over members."""
    longest_ns: Times
    duration_ns: Times
    """The sum of durations over members."""
    member_wait_ns: Times
    """For each member how long it waited for others in timed exchanges."""
    member_last_count: Times
    """For each member in how many timed exchanges it alone came last."""
    member_timed_count: Times
    """For each member in how many timed exchanges it took part."""

    def __len__(self) -> int:
        return len(self.member_count)


def exchange_times(job: Job, group: MatchedGroup) -> ExchangeTimes:
    """The times of all exchanges of `group`, in their order."""
    clocks = [job.clocks[place] for place in group.members.tolist()]
    margins = _Margins.of(clocks)
    is_sure = group.confidence >= LEAST_CONFIDENCE
    starts, ends = job.starts(group), job.ends(group)
    is_synchronizing = group.is_synchronizing
    parts = []
    for columns in _blocks(*group.rows.shape):
        there = group.rows[:, columns] != MISSING
        block = _Block(
            starts[:, columns],
            ends[:, columns],
            there,
            is_synchronizing[columns],
            bool(there.all()),
        )
        parts.append(_times_of(block, margins, is_sure))
    return _joined(parts, len(clocks))


@dataclass(frozen=True)
class _Margins:
    """For each member how far its true offset may be from the fitted one, as columns."""

    is_comparable: Flags
    is_certified: Flags
    low_ns: Times
    high_ns: Times

    @classmethod
    def of(cls, clocks: Sequence[RankClock]) -> _Margins:
        certified, low, high = [], [], []
        for clock in clocks:
            margin = _margin(clock)
            certified.append(margin is not None)
            low.append(margin[0] if margin else 0)
            high.append(margin[1] if margin else 0)
        return cls(
            np.array([[clock.is_comparable] for clock in clocks], np.bool_).reshape(-1, 1),
            np.array(certified, np.bool_).reshape(-1, 1),
            np.array(low, np.int64).reshape(-1, 1),
            np.array(high, np.int64).reshape(-1, 1),
        )


def _margin(clock: RankClock) -> tuple[int, int] | None:
    """Least and greatest (true - fitted) offset; None where nothing certifies it."""
    if clock.state is ClockState.REFERENCE:
        return 0, 0
    if not clock.is_comparable or clock.low_ns is None or clock.high_ns is None:
        return None
    # A fit may lie outside of its interval by a rounding; the bounds then hold it, too.
    return min(0, clock.low_ns - clock.offset_ns), max(0, clock.high_ns - clock.offset_ns)


@dataclass(frozen=True)
class _Block:
    """Some exchanges of a group: [member, exchange]."""

    starts: Times
    ends: Times
    there: Flags
    is_synchronizing: Flags
    is_whole: bool
    """Whether every member has every exchange, as is usual: then nothing need be masked."""

    def seen(self, values: Times, otherwise: int) -> Times:
        """`values`, with `otherwise` for members that have no such exchange."""
        return values if self.is_whole else np.where(self.there, values, otherwise)


def _blocks(member_count: int, exchange_count: int) -> Iterator[slice]:
    """Parts of all exchanges that fit into a cache with the columns made of them."""
    width = max(1, _BLOCK_CELLS // max(1, member_count))
    for first in range(0, exchange_count, width):
        yield slice(first, min(first + width, exchange_count))


def _times_of(block: _Block, margins: _Margins, is_sure: bool) -> ExchangeTimes:
    there = block.there
    count = there.sum(axis=0)
    seen = count > 0
    starts, ends = block.starts, np.maximum(block.ends, block.starts)
    last = np.where(seen, starts.max(axis=0), 0)
    first = np.where(seen, block.seen(starts, _NEVER).min(axis=0), 0)
    durations = block.seen(ends - starts, 0)
    longest = durations.max(axis=0)
    shortest = np.where(seen, block.seen(durations, _NEVER).min(axis=0), 0)
    is_timed = (count >= 2) & (2 * count > len(there)) & is_sure
    is_timed &= ~(there & ~margins.is_comparable).any(axis=0)
    is_certified = is_timed & ~(there & ~margins.is_certified).any(axis=0)
    waits = np.where(there & is_timed, last - starts, 0)
    is_last = there & (starts == last) & is_timed
    # Of several that came at the same time nobody was waited for.
    alone = is_last.sum(axis=0) == 1
    last_member = np.where(alone & is_timed, is_last.argmax(axis=0), MISSING)
    bounds = _bounds(block, margins, durations)
    wait_ns, skew_ns = waits.sum(axis=0), last - first
    transfer_ns = np.where(is_timed, ends.max(axis=0) - last, 0)

    def told(bound: Times, otherwise: Times | int) -> Times:
        return np.where(is_certified, bound, otherwise)

    widest = np.where(block.is_synchronizing, longest, _NEVER)
    return ExchangeTimes(
        member_count=count,
        is_timed=is_timed,
        is_certified=is_certified,
        first_ns=first,
        last_ns=last,
        last_member=last_member,
        skew_ns=np.where(is_timed, skew_ns, 0),
        skew_low_ns=told(bounds.skew_low, 0),
        skew_high_ns=np.minimum(told(bounds.skew_high, _NEVER), widest),
        wait_ns=wait_ns,
        wait_low_ns=told(bounds.wait_low, 0),
        wait_high_ns=told(
            bounds.wait_high, np.where(block.is_synchronizing, durations.sum(axis=0), _NEVER)
        ),
        transfer_ns=transfer_ns,
        transfer_low_ns=told(bounds.transfer_low, shortest),
        transfer_high_ns=told(bounds.transfer_high, longest),
        shortest_ns=shortest,
        longest_ns=longest,
        duration_ns=durations.sum(axis=0),
        member_wait_ns=waits.sum(axis=1),
        member_last_count=(is_last & alone).sum(axis=1),
        member_timed_count=(there & is_timed).sum(axis=1),
    )


@dataclass(frozen=True)
class _Bounds:
    """What holds for all offsets that causality allows, where all members have such."""

    skew_low: Times
    skew_high: Times
    wait_low: Times
    wait_high: Times
    transfer_low: Times
    transfer_high: Times


def _bounds(block: _Block, margins: _Margins, durations: Times) -> _Bounds:
    low, high = block.starts + margins.low_ns, block.starts + margins.high_ns
    last_low = block.seen(low, -_NEVER).max(axis=0)
    last_high = block.seen(high, -_NEVER).max(axis=0)
    first_low = block.seen(low, _NEVER).min(axis=0)
    first_high = block.seen(high, _NEVER).min(axis=0)
    end_low = block.seen(block.ends + margins.low_ns, -_NEVER).max(axis=0)
    most = np.where(block.is_synchronizing, durations, _NEVER)
    # An offset moves a rank's start and end alike: whoever ends last took no longer than its own
    # duration, and whoever arrives last no less.
    if_it_ends_last = np.minimum(durations, block.ends + margins.high_ns - last_low)
    if_it_comes_last = np.maximum(durations, end_low - high)
    can_come_last = block.there & (high >= last_low)
    return _Bounds(
        skew_low=np.maximum(last_low - first_high, 0),
        skew_high=last_high - first_low,
        wait_low=block.seen(np.maximum(last_low - high, 0), 0).sum(axis=0),
        wait_high=block.seen(np.minimum(last_high - low, most), 0).sum(axis=0),
        transfer_low=np.where(can_come_last, if_it_comes_last, _NEVER).min(axis=0),
        transfer_high=block.seen(if_it_ends_last, 0).max(axis=0),
    )


_OF_MEMBERS = ("member_wait_ns", "member_last_count", "member_timed_count")


def _joined(parts: Sequence[ExchangeTimes], member_count: int) -> ExchangeTimes:
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, Any] = {}
    for name, kind in ExchangeTimes.__annotations__.items():
        values = [getattr(part, name) for part in parts]
        if name in _OF_MEMBERS:
            columns[name] = sum(values, np.zeros(member_count, np.int64))
        else:
            kept = np.bool_ if kind == "Flags" else np.int64
            columns[name] = np.concatenate([np.empty(0, kept), *values])
    return ExchangeTimes(**columns)
