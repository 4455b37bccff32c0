"""What exchanges say of the clocks of two ranks: a first line, and the points that bound it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.clocks.causal_bounds import MOST_DRIFT, NO_BOUND_NS, Values
from wavescope.analyze.ranks.clocks.ties import Tie, tied_times
from wavescope.analyze.ranks.digest import RankDigest
from wavescope.arrays.intervals import Times

POINT_COUNT = 128
"""Of so many parts of the recording the exchange is kept that bounds the clock most."""
_LINE_POINTS = 256
_USUAL_DRIFT = 50e-6
"""Clocks differ by less than this; a slope is taken from times only where it shows."""


@dataclass(frozen=True, eq=False)
class PairLine:
    """hub's time = own time + offset_ns + drift * (own time - origin_ns), roughly."""

    hub: int
    member: int
    origin_ns: int
    offset_ns: int
    drift: float
    below_at_ns: Values
    """Times since `origin_ns` of points that the line is not below."""
    below_ns: Values
    """Their distance to this line; -`NO_BOUND_NS` without."""
    above_at_ns: Values
    above_ns: Values
    exchange_count: int


@dataclass(frozen=True, eq=False)
class _Shared:
    """The exchanges that both ranks have, of one group."""

    hub_start_ns: Times
    hub_end_ns: Times
    own_start_ns: Times
    own_end_ns: Times
    bounds_below: npt.NDArray[np.bool_] | bool
    bounds_above: npt.NDArray[np.bool_] | bool


def pair_lines(
    digests: Sequence[RankDigest],
    ties: Sequence[Tie],
    hubs: Sequence[int | None],
    without: frozenset[int],
) -> list[PairLine]:
    """Every member of every tie against the tie's hub (a place); ties of the same two together."""
    pairs: dict[tuple[int, int], list[Tie]] = {}
    for tie, hub in zip(ties, hubs, strict=True):
        if hub is not None:
            for place in tie.members:
                if place != hub and place not in without:
                    pairs.setdefault((hub, place), []).append(tie)
    lines = [_pair_line(digests, hub, place, shared) for (hub, place), shared in pairs.items()]
    return [line for line in lines if line is not None]


def _pair_line(
    digests: Sequence[RankDigest], hub: int, member: int, ties: Iterable[Tie]
) -> PairLine | None:
    parts = [_shared(digests, hub, member, tie) for tie in ties]
    parts = [part for part in parts if len(part.own_end_ns)]
    if not parts:
        return None
    own_end = np.concatenate([part.own_end_ns for part in parts])
    apart = [part.hub_end_ns - part.own_end_ns for part in parts]
    origin, offset, drift = _rough_line(own_end, np.concatenate(apart))
    below = [_below(part, origin, offset, drift) for part in parts]
    above = [_above(part, origin, offset, drift) for part in parts]
    return PairLine(
        hub,
        member,
        origin,
        offset,
        drift,
        np.concatenate([at for at, _ in below]),
        np.concatenate([value for _, value in below]),
        np.concatenate([at for at, _ in above]),
        np.concatenate([value for _, value in above]),
        len(own_end),
    )


def _shared(digests: Sequence[RankDigest], hub: int, member: int, tie: Tie) -> _Shared:
    hub_place, own_place = tie.members.index(hub), tie.members.index(member)
    hub_start, hub_end, hub_there = tied_times(digests[hub], tie.rows[hub_place])
    own_start, own_end, own_there = tied_times(digests[member], tie.rows[own_place])
    both = hub_there & own_there
    certain = tie.is_certain
    if not both.all():
        hub_start, hub_end = hub_start[both], hub_end[both]
        own_start, own_end = own_start[both], own_end[both]
        certain = certain[both]
    if tie.is_pair:
        # Only the receiver waits for the other.
        return _Shared(
            hub_start,
            hub_end,
            own_start,
            own_end,
            tie.sender == hub_place,
            tie.sender == own_place,
        )
    flags = True if certain.all() else certain
    return _Shared(hub_start, hub_end, own_start, own_end, flags, flags)


def _rough_line(own_end: Times, apart: Times) -> tuple[int, int, float]:
    """Through the middles of both halves of some exchanges: origin, offset there, drift."""
    chosen = np.linspace(0, len(own_end) - 1, min(len(own_end), _LINE_POINTS)).astype(np.intp)
    times, values = own_end[chosen], apart[chosen]
    order = np.argsort(times, kind="stable")
    times, values = times[order], values[order]
    origin, middle = int(times[len(times) // 2]), int(np.sort(values)[len(values) // 2])
    since, above = (times - origin).astype(np.float64), (values - middle).astype(np.float64)
    half = len(times) // 2
    drift = 0.0
    if half >= 2:
        run = float(np.median(since[half:]) - np.median(since[:half]))
        rise = float(np.median(above[half:]) - np.median(above[:half]))
        noise = float(np.median(np.abs(np.diff(above))))
        if run * _USUAL_DRIFT > noise or (run > 0 and abs(rise) > 10 * noise):
            drift = float(np.clip(rise / run, -MOST_DRIFT, MOST_DRIFT))
    return origin, middle + round(float(np.median(above - drift * since))), drift


def _below(part: _Shared, origin: int, offset: int, drift: float) -> tuple[Values, Values]:
    """The highest points that a clock may not be below: the rank ends after the hub began."""
    at = (part.own_end_ns - origin).astype(np.float64)
    value = (part.hub_start_ns - part.own_end_ns - offset) - drift * at
    if part.bounds_below is not True:
        value = np.where(part.bounds_below, value, -NO_BOUND_NS)
    return _highest_in_parts(at, value)


def _above(part: _Shared, origin: int, offset: int, drift: float) -> tuple[Values, Values]:
    """The lowest points that a clock may not be above: the rank began before the hub ended."""
    at = (part.own_start_ns - origin).astype(np.float64)
    value = (part.hub_end_ns - part.own_start_ns - offset) - drift * at
    if part.bounds_above is not True:
        value = np.where(part.bounds_above, value, NO_BOUND_NS)
    at, value = _highest_in_parts(at, -value)
    return at, -value


def _highest_in_parts(at: Values, value: Values) -> tuple[Values, Values]:
    """The highest value of each of some parts of the rows, and where it is."""
    if len(value) <= POINT_COUNT:
        return at, value
    width = len(value) // POINT_COUNT
    whole = width * POINT_COUNT
    highest = np.argmax(value[:whole].reshape(POINT_COUNT, width), axis=1)
    chosen = highest + np.arange(0, whole, width)
    if whole < len(value):
        chosen = np.append(chosen, whole + np.argmax(value[whole:]))
    return at[chosen], value[chosen]


def stacked(rows: Sequence[Values], missing: float) -> Values:
    """[pair, point]: rows of several lengths, filled up."""
    width = max((len(row) for row in rows), default=0)
    matrix = np.full((len(rows), max(width, 1)), missing)
    for place, row in enumerate(rows):
        matrix[place, : len(row)] = row
    return matrix
