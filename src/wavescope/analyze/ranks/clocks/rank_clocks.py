"""A clock for each rank: estimated from ends, certified by causality, refused where it must be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wavescope.analyze.ranks.clocks.contradictions import blamed, contradiction
from wavescope.analyze.ranks.clocks.first_lines import Line, first_lines
from wavescope.analyze.ranks.clocks.joint_fit import MOST_RANKS, Fitted, joint_fit
from wavescope.analyze.ranks.clocks.pairs import PairLine, pair_lines
from wavescope.analyze.ranks.clocks.routes import RankBounds, pair_bounds, rank_bounds
from wavescope.analyze.ranks.clocks.shared_clocks import shared_pairs, with_shared
from wavescope.analyze.ranks.clocks.ties import LEAST_CONFIDENCE, Tie, components, ties_of
from wavescope.analyze.ranks.clocks.usefulness import useful_width_ns
from wavescope.analyze.ranks.digest import RankDigest
from wavescope.analyze.ranks.job import ClockState, MatchedGroup, RankClock
from wavescope.units import duration_text

_MOST_ROUNDS = 8


@dataclass(frozen=True, eq=False)
class _Tied:
    """What ties ranks, after ranks whose clock nothing fits were taken out."""

    pairs: list[PairLine]
    shared: list[PairLine]
    components: list[list[int]]
    lines: dict[int, Line]
    bounds: RankBounds
    reasons: dict[int, str]
    """Why ranks were taken out."""

    @property
    def references(self) -> list[int]:
        return [component[0] for component in self.components]


def aligned_clocks(
    digests: Sequence[RankDigest], numbers: Sequence[int], groups: Sequence[MatchedGroup]
) -> tuple[RankClock, ...]:
    """A clock for each place; common time is that of the lowest rank of each component."""
    ties = ties_of(groups)
    tied = _tied(digests, numbers, ties)
    shared = [(pair.hub, pair.member) for pair in tied.shared]
    fitted_ties = ties if len(digests) <= MOST_RANKS else []
    lines = {place: line for place, line in tied.lines.items() if place not in tied.reasons}
    fitted = joint_fit(digests, fitted_ties, lines, tied.references, shared)
    clocks = [RankClock(ClockState.UNKNOWN)] * len(digests)
    for number, component in enumerate(tied.components):
        for place in component:
            clocks[place] = _clock(digests, place, number, tied, fitted)
    told = with_shared(digests, [*_with_reasons(clocks, groups)])
    return _with_guesses(digests, told)


def _with_reasons(
    clocks: Sequence[RankClock], groups: Sequence[MatchedGroup]
) -> Iterator[RankClock]:
    """Clocks that are unknown because exchanges are not matched surely say so."""
    doubtful = {
        place
        for group in groups
        if len(group.members) > 1 and group.confidence < LEAST_CONFIDENCE
        for place in group.members.tolist()
    }
    for place, clock in enumerate(clocks):
        if clock.state is ClockState.UNKNOWN and place in doubtful:
            reason = (
                "its exchanges with others are matched with a confidence below "
                f"{LEAST_CONFIDENCE:.0%}"
            )
            yield replace(clock, reason=reason)
        else:
            yield clock


def _tied(digests: Sequence[RankDigest], numbers: Sequence[int], ties: Sequence[Tie]) -> _Tied:
    """Pairs, lines and bounds, again without those that contradict the rest until nobody does."""
    reasons: dict[int, str] = {}
    for _ in range(_MOST_ROUNDS):
        tied, culprits = _tied_without(digests, ties, reasons)
        if not culprits:
            return tied
        for place, other in culprits.items():
            reasons[place] = contradiction(digests, ties, place, other, numbers[other])
    # Too many contradictions to sort out: nobody is compared.
    everybody = {place for tie in ties for place in tie.members}
    reasons = {
        place: reasons.get(place, "too many clocks contradict each other") for place in everybody
    }
    return _tied_without(digests, ties, reasons)[0]


def _tied_without(
    digests: Sequence[RankDigest], ties: Sequence[Tie], reasons: dict[int, str]
) -> tuple[_Tied, dict[int, int]]:
    """What ties the ranks but some, and the ranks to blame for contradictions that are left."""
    without = frozenset(reasons)
    hubs = [_hub(tie, without) for tie in ties]
    exchanged = pair_lines(digests, ties, hubs, without)
    parts = _components(len(digests), exchanged)
    shared = shared_pairs(digests, parts, without)
    pairs = [*exchanged, *shared]
    parts = _components(len(digests), pairs)
    lines: dict[int, Line] = {}
    for part in parts:
        lines.update(first_lines(part, pairs))
    bounds = pair_bounds(pairs, lines)
    culprits = blamed(pairs, bounds.is_empty)
    ranks = rank_bounds(len(digests), [part[0] for part in parts], pairs, bounds)
    if not culprits:
        # Pairs may fit one by one and not together.
        crossed = np.flatnonzero(ranks.low_ns > ranks.high_ns).tolist()
        homes = {place: part[0] for part in parts for place in part}
        culprits = {place: homes[place] for place in crossed[:1]}
    return _Tied(pairs, shared, parts, lines, ranks, reasons), culprits


def _hub(tie: Tie, without: frozenset[int]) -> int | None:
    left = [place for place in tie.members if place not in without]
    return left[0] if len(left) > 1 else None


def _clock(
    digests: Sequence[RankDigest], place: int, number: int, tied: _Tied, fitted: Fitted
) -> RankClock:
    """The clock of a rank of a component."""
    component = tied.components[number]
    line = tied.lines[place]
    count = int(fitted.exchange_count[place])
    if place in tied.reasons:
        return RankClock(ClockState.CONTRADICTED, component=number, reason=tied.reasons[place])
    if len(component) == 1:
        is_only = len(tied.components) == 1
        state = ClockState.REFERENCE if is_only else ClockState.UNKNOWN
        reason = "" if is_only else "no exchange that all its members wait for ties it to others"
        return RankClock(state, line.origin_ns, component=number, reason=reason)
    residual = fitted.residual_ns[place]
    clock = RankClock(
        ClockState.REFERENCE,
        line.origin_ns,
        low_ns=0,
        high_ns=0,
        residual_ns=None if math.isnan(residual) else round(residual),
        exchange_count=count,
        component=number,
    )
    if place == component[0]:
        return clock
    moment = tied.lines[component[0]].origin_ns - line.origin_ns
    low, high = tied.bounds.low_ns[place], tied.bounds.high_ns[place]
    low_ns = moment + math.floor(low) if math.isfinite(low) else None
    high_ns = moment + math.ceil(high) if math.isfinite(high) else None
    offset = line.offset_ns + round(float(fitted.offset_ns[place]))
    offset = max(offset, low_ns) if low_ns is not None else offset
    offset = min(offset, high_ns) if high_ns is not None else offset
    drift = (line.drift + float(fitted.drift[place])) * 1e6
    clock = replace(clock, offset_ns=offset, drift_ppm=drift, low_ns=low_ns, high_ns=high_ns)
    state, reason = _state(digests[place], clock, is_shared=count == 0)
    return replace(clock, state=state, reason=reason)


def _state(rank: RankDigest, clock: RankClock, *, is_shared: bool) -> tuple[ClockState, str]:
    if clock.low_ns is None or clock.high_ns is None:
        return ClockState.TOO_WIDE, "causality bounds its clock on one side only, or not at all"
    width, useful = clock.high_ns - clock.low_ns, useful_width_ns(rank)
    if width > useful:
        return ClockState.TOO_WIDE, (
            f"its clock is certain within {duration_text(width)} only; to compare, "
            f"{duration_text(useful)} would be needed"
        )
    return (ClockState.SHARED, "") if is_shared else (ClockState.ALIGNED, "")


def _components(rank_count: int, pairs: Sequence[PairLine]) -> list[list[int]]:
    return components(rank_count, [(pair.hub, pair.member) for pair in pairs])


def _with_guesses(
    digests: Sequence[RankDigest], clocks: Sequence[RankClock]
) -> tuple[RankClock, ...]:
    """Ranks that cannot be compared are at least drawn beside the others: their own clock where
    it shows about the same time, else as if all had begun together."""
    known = [place for place, clock in enumerate(clocks) if clock.is_comparable]
    if not known:
        known = [0] if clocks else []
    first = min((int(_first(digests, clocks, place)) for place in known), default=0)
    last = max((_last(digests, clocks, place) for place in known), default=0)
    guessed = list(clocks)
    for place, clock in enumerate(clocks):
        rank = digests[place]
        if clock.state in (ClockState.UNKNOWN, ClockState.CONTRADICTED) and place not in known:
            apart = rank.last_ns < first or rank.first_ns > last
            offset = first - rank.first_ns if apart else 0
            guessed[place] = replace(clock, origin_ns=rank.first_ns, offset_ns=offset)
    return tuple(guessed)


def _first(digests: Sequence[RankDigest], clocks: Sequence[RankClock], place: int) -> int:
    return int(clocks[place].to_common(np.array([digests[place].first_ns]))[0])


def _last(digests: Sequence[RankDigest], clocks: Sequence[RankClock], place: int) -> int:
    return int(clocks[place].to_common(np.array([digests[place].last_ns]))[0])
