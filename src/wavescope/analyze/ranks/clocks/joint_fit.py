"""Lines for all clocks at once, through the ends of all exchanges.

Members end an exchange together, within microseconds. The moment of each exchange is unknown and
falls out of the equations; what remains are two unknowns for each rank but the reference. Ends that
lie far from the rest count less each time, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.clocks.causal_bounds import Values
from wavescope.analyze.ranks.clocks.first_lines import Line
from wavescope.analyze.ranks.clocks.ties import Tie, tied_times
from wavescope.analyze.ranks.digest import RankDigest

MOST_RANKS = 1024
"""More are not solved together: the equations would take longer than reading the digests."""
_ROUNDS = 2
_FITTED_CELLS = 1 << 19
_LEAST_EXCHANGES, _MOST_EXCHANGES = 256, 2048
_END_NOISE_NS = 3_000.0
_END_NOISE_SHARE = 0.02
"""Ends of an exchange differ by about this, and by this share of the time that it takes at least:
short exchanges tell more."""
_SEND_NOISE_NS = 30_000.0
"""A send may end before its receive does."""
_USUAL_DRIFT = 50e-6 * 1e9
"""In nanoseconds for each second; what few exchanges cannot tell is kept within about this."""
_SHARED_NOISE_NS = 10.0
_CUT = 4.685
"""Ends further away than this many deviations count nothing (Tukey's biweight)."""


class Fitted(NamedTuple):
    """By place: what is to be added to the first lines, and how well they fit."""

    offset_ns: Values
    drift: Values
    residual_ns: Values
    """The median distance of ends from the line; NaN where nothing was fitted."""
    exchange_count: npt.NDArray[np.int64]


@dataclass(eq=False)
class _Ends:
    """The ends of one tie: common times by the first lines, since the moment of the origins."""

    places: npt.NDArray[np.intp]
    at_s: Values
    """[member, exchange]: own time since the origin."""
    common_ns: Values
    is_there: npt.NDArray[np.bool_]
    noise_ns: Values
    """By exchange."""

    def residuals(self, offset_ns: Values, drift_ns: Values, weights: Values) -> Values:
        moved = (
            self.common_ns
            + offset_ns[self.places][:, None]
            + drift_ns[self.places][:, None] * self.at_s
        )
        total = weights.sum(axis=0)
        moment = (weights * moved).sum(axis=0) / np.where(total > 0, total, 1.0)
        left: Values = np.where(self.is_there, moved - moment, 0.0)
        return left


def joint_fit(
    digests: Sequence[RankDigest],
    ties: Sequence[Tie],
    lines: Mapping[int, Line],
    references: Sequence[int],
    shared: Sequence[tuple[int, int]] = (),
) -> Fitted:
    """Corrections to the lines of all ranks; `shared`: pairs of ranks that have one clock."""
    every = [ends for tie in ties if (ends := _ends_of(digests, tie, lines)) is not None]
    unknown = [place for place in sorted(lines) if place not in set(references)]
    column = np.full(len(digests), len(unknown), np.intp)
    column[unknown] = np.arange(len(unknown))
    offset, drift = np.zeros(len(digests)), np.zeros(len(digests))
    total_drift = np.array(
        [lines[place].drift if place in lines else 0.0 for place in range(len(digests))]
    )
    weights = [_first_weights(ends) for ends in every]
    pairs = [(int(column[left]), int(column[right])) for left, right in shared]
    for _ in range(_ROUNDS if unknown and every else 0):
        system = _System(len(unknown))
        for ends, weight in zip(every, weights, strict=True):
            system.add(column[ends.places], ends, weight, ends.residuals(offset, drift, weight))
        step_offset, step_drift = system.solved((total_drift * 1e9 + drift)[unknown], pairs)
        offset[unknown] += step_offset
        drift[unknown] += step_drift
        weights = [
            _weights(ends, ends.residuals(offset, drift, weight))
            for ends, weight in zip(every, weights, strict=True)
        ]
    residual, count = _quality(len(digests), every, weights, offset, drift)
    return Fitted(offset, drift * 1e-9, residual, count)


def _ends_of(digests: Sequence[RankDigest], tie: Tie, lines: Mapping[int, Line]) -> _Ends | None:
    members = [member for member, place in enumerate(tie.members) if place in lines]
    if len(members) < 2:
        return None
    count = tie.rows.shape[1]
    most = min(max(_FITTED_CELLS // len(members), _LEAST_EXCHANGES), _MOST_EXCHANGES)
    chosen = np.linspace(0, count - 1, min(count, most)).astype(np.intp)
    shape = (len(members), len(chosen))
    at_s, common, is_there = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.bool_)
    least = np.full(len(chosen), np.inf)
    zero = None
    for row, member in enumerate(members):
        place = tie.members[member]
        line = lines[place]
        start, end, there = tied_times(digests[place], tie.rows[member, chosen])
        since = end - line.origin_ns
        at_s[row], is_there[row] = since * 1e-9, there
        # All lines lead to the same moment, so what is common is small from there on.
        zero = line.origin_ns + line.offset_ns if zero is None else zero
        base = line.origin_ns + line.offset_ns - zero
        common[row] = (since + base) + line.drift * since
        least = np.where(there, np.minimum(least, end - start), least)
    noise = _END_NOISE_NS + _END_NOISE_SHARE * np.where(np.isfinite(least), np.maximum(least, 0), 0)
    noise += _SEND_NOISE_NS if tie.is_pair else 0.0
    places = np.array([tie.members[member] for member in members], np.intp)
    return _Ends(places, at_s, np.where(is_there, common, 0.0), is_there, noise)


def _first_weights(ends: _Ends) -> Values:
    """Weights before anything is known: by the median of each exchange, not its mean."""
    hidden = np.where(ends.is_there, ends.common_ns, np.nan)
    with np.errstate(invalid="ignore"):
        moment = np.median(hidden, axis=0) if ends.is_there.all() else _median_there(ends)
    return _weights(ends, np.where(ends.is_there, ends.common_ns - moment, 0.0))


def _median_there(ends: _Ends) -> Values:
    """The median of each exchange over the members that have it."""
    ordered = np.sort(np.where(ends.is_there, ends.common_ns, np.inf), axis=0)
    count = np.count_nonzero(ends.is_there, axis=0)
    middle = np.maximum(count - 1, 0) // 2
    median: Values = ordered[middle, np.arange(ordered.shape[1])]
    return np.where(count > 0, median, 0.0)


def _weights(ends: _Ends, residuals: Values) -> Values:
    scaled = residuals / ends.noise_ns
    inside = np.abs(scaled[ends.is_there])
    deviation = 1.4826 * float(np.median(inside)) if len(inside) else 1.0
    # Below a third of the usual noise nothing is an outlier.
    apart = scaled / (_CUT * max(deviation, 1 / 3))
    robust = np.where(np.abs(apart) < 1, (1 - apart**2) ** 2, 0.0)
    weights: Values = np.where(ends.is_there, robust, 0.0) / ends.noise_ns**2
    # An exchange of which one end is left says nothing.
    weights[:, np.count_nonzero(weights, axis=0) < 2] = 0.0
    return weights


class _System:
    """The normal equations of all lines, the last unknown being the references' (and dropped)."""

    def __init__(self, unknown_count: int) -> None:
        size = unknown_count + 1
        self._size = size
        self._matrix = np.zeros((2 * size, 2 * size))
        self._right = np.zeros(2 * size)

    def add(
        self, columns: npt.NDArray[np.intp], ends: _Ends, weights: Values, residuals: Values
    ) -> None:
        """The ends of one tie: each end less the weighted mean of its exchange."""
        total = weights.sum(axis=0)
        root = weights / np.sqrt(np.where(total > 0, total, 1.0))
        both = np.concatenate([root, root * ends.at_s])
        local = -(both @ both.T)
        count = len(columns)
        on, across = np.arange(count), np.arange(count) + count
        moment = weights * ends.at_s
        local[on, on] += weights.sum(axis=1)
        local[on, across] += moment.sum(axis=1)
        local[across, on] += moment.sum(axis=1)
        local[across, across] += (moment * ends.at_s).sum(axis=1)
        places = np.concatenate([columns, columns + self._size])
        # A tie has one reference at most, so no place comes twice.
        self._matrix[np.ix_(places, places)] += local
        right = np.concatenate(
            [(weights * residuals).sum(axis=1), (moment * residuals).sum(axis=1)]
        )
        self._right[places] -= right

    def solved(self, drift_ns: Values, shared: Sequence[tuple[int, int]]) -> tuple[Values, Values]:
        """Steps of offsets and drifts (nanoseconds for each second)."""
        size = self._size
        for left, right in shared:
            for first, second in ((left, right), (left + size, right + size)):
                self._matrix[[first, second], [first, second]] += _SHARED_NOISE_NS**-2
                self._matrix[[first, second], [second, first]] -= _SHARED_NOISE_NS**-2
        kept = np.concatenate([np.arange(size - 1), np.arange(size - 1) + size])
        matrix, right_side = self._matrix[np.ix_(kept, kept)], self._right[kept]
        half = size - 1
        slopes = np.arange(half) + half
        matrix[slopes, slopes] += _USUAL_DRIFT**-2
        right_side[slopes] -= drift_ns * _USUAL_DRIFT**-2
        # A rank whose every end was left out keeps its first line.
        matrix[np.arange(half), np.arange(half)] += 1e-18
        step = np.linalg.solve(matrix, right_side)
        return step[:half], step[half:]


def _quality(
    rank_count: int,
    every: Sequence[_Ends],
    weights: Sequence[Values],
    offset: Values,
    drift: Values,
) -> tuple[Values, npt.NDArray[np.int64]]:
    """By place: the median distance of its ends from their exchanges, and how many there are."""
    found: list[list[Values]] = [[] for _ in range(rank_count)]
    for ends, weight in zip(every, weights, strict=True):
        residuals = np.abs(ends.residuals(offset, drift, weight))
        for row, place in enumerate(ends.places.tolist()):
            found[place].append(residuals[row, ends.is_there[row]])
    medians, counts = np.full(rank_count, np.nan), np.zeros(rank_count, np.int64)
    for place, parts in enumerate(found):
        values = np.concatenate(parts) if parts else np.empty(0)
        counts[place] = len(values)
        if len(values):
            medians[place] = np.median(values)
    return medians, counts
