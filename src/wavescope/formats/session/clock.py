"""GPU ticks as nanoseconds: linear between two readings of both clocks, in exact integers.

Before the first reading and after the last, the rate of the last second (or of all there is) is
continued: two readings close together may be some hundred nanoseconds off, and a rate taken from
them would carry that far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array

_RATE_NS = 1_000_000_000
_LARGEST = (1 << 63) - 1
_EXACT_BITS = 62

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ClockPair:
    """Both clocks read at the same moment."""

    ticks: int
    ns: int


class TickClock:
    """Converts the ticks of one GPU."""

    def __init__(self, pairs: Sequence[ClockPair], ticks_per_second: int = 0) -> None:
        """`ticks_per_second` serves where there is a single pair; see `works`."""
        kept = _in_order(pairs)
        self.dropped = len(pairs) - len(kept)
        """Pairs of clocks that went backwards or stood still."""
        self.pairs = kept
        if len(kept) == 1 and ticks_per_second > 0:
            kept = _in_order((kept[0], _a_second_later(kept[0], ticks_per_second)))
        self.works = len(kept) > 1
        """Whether there is enough to convert at all."""
        if self.works:
            self._set_segments(kept)

    def _set_segments(self, pairs: Sequence[ClockPair]) -> None:
        ticks = np.array([pair.ticks for pair in pairs], np.int64)
        ns = np.array([pair.ns for pair in pairs], np.int64)
        first = _far_index(ns, 0)
        last = _far_index(ns, len(ns) - 1)
        # Segment 0 lies before the first pair, the last one after the last pair.
        self._edges = ticks
        self._base_ticks = np.concatenate((ticks[:1], ticks))
        self._base_ns = np.concatenate((ns[:1], ns))
        self._rate_ticks = np.concatenate(
            ([ticks[first] - ticks[0]], np.diff(ticks), [ticks[-1] - ticks[last]])
        )
        self._rate_ns = np.concatenate(([ns[first] - ns[0]], np.diff(ns), [ns[-1] - ns[last]]))

    def ns_of(self, ticks: Array) -> Int64s:
        """Nanoseconds of `ticks`, rounded down to whole ones and kept within 0 and 2^63 - 1."""
        assert self.works
        values = ticks.astype(np.int64)
        segment = np.searchsorted(self._edges, values, side="right")
        distance = values - self._base_ticks[segment]
        passed = _scaled(distance, self._rate_ns[segment], self._rate_ticks[segment])
        base = self._base_ns[segment]
        result = base + passed
        beyond = (passed > 0) & (result < base)
        result[beyond] = _LARGEST
        within: Int64s = np.maximum(result, 0)
        return within


def _in_order(pairs: Sequence[ClockPair]) -> list[ClockPair]:
    """The pairs as they were read, without those that go backwards in either clock."""
    kept: list[ClockPair] = []
    for pair in pairs:
        is_sane = 0 <= pair.ticks <= _LARGEST and 0 <= pair.ns <= _LARGEST
        if is_sane and (not kept or (pair.ticks > kept[-1].ticks and pair.ns > kept[-1].ns)):
            kept.append(pair)
    return kept


def _a_second_later(pair: ClockPair, ticks_per_second: int) -> ClockPair:
    return ClockPair(pair.ticks + ticks_per_second, pair.ns + _RATE_NS)


def _far_index(ns: Int64s, end: int) -> int:
    """The nearest pair that is a second away from pair `end` (0 or the last), or the other end."""
    if end == 0:
        wanted = min(int(ns[0]) + _RATE_NS, _LARGEST)
        return min(int(np.searchsorted(ns, wanted)), len(ns) - 1)
    wanted = max(int(ns[-1]) - _RATE_NS, 0)
    return max(int(np.searchsorted(ns, wanted, side="right")) - 1, 0)


def _scaled(distance: Int64s, multiplier: Int64s, divisor: Int64s) -> Int64s:
    """floor(distance * multiplier / divisor) without overflow; results beyond int64 are its ends.

    Long division: the distance is taken a few bits at a time from the top, as many as fit beside
    the remainder.
    """
    if not len(distance):
        return distance
    size = np.abs(distance)
    largest = int(size.max()) * int(multiplier.max())
    if largest <= _LARGEST:
        quotient: Int64s = distance * multiplier // divisor
        return quotient
    whole, part = np.divmod(multiplier, divisor)
    if int(size.max()) * (int(whole.max()) + 1) > _LARGEST or int(divisor.max()).bit_length() > 60:
        return _scaled_by_python(distance, multiplier, divisor)
    step_bits = _EXACT_BITS - int(divisor.max()).bit_length()
    bits = int(size.max()).bit_length()
    quotient, remainder = np.zeros_like(size), np.zeros_like(size)
    for low in range(-(-bits // step_bits) * step_bits - step_bits, -1, -step_bits):
        digits = (size >> low) & ((1 << step_bits) - 1)
        more, remainder = np.divmod((remainder << step_bits) + digits * part, divisor)
        quotient = (quotient << step_bits) + more
    quotient += size * whole
    rounded_up = quotient + (remainder > 0)
    return np.where(distance >= 0, quotient, -rounded_up)


def _scaled_by_python(distance: Int64s, multiplier: Int64s, divisor: Int64s) -> Int64s:
    """The same with Python's integers: only for clocks that no machine has."""
    exact = (
        max(-_LARGEST, min(_LARGEST, x * m // d))
        for x, m, d in zip(distance.tolist(), multiplier.tolist(), divisor.tolist(), strict=True)
    )
    return np.fromiter(exact, np.int64, len(distance))
