"""In which part of the step ranks lose their time."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.ranks.job import MISSING, Job
from wavescope.analyze.ranks.stragglers.limits import LIMITS
from wavescope.analyze.ranks.stragglers.medians import Reals, medians
from wavescope.analyze.ranks.stragglers.rank_times import Numbers, PointKind, RankTimes
from wavescope.analyze.ranks.stragglers.references import sampled
from wavescope.analyze.ranks.stragglers.roles import Roles
from wavescope.analyze.ranks.stragglers.suspects import Suspect

_STEP_COUNT = 32
_ONE_STRETCH = 0.6
WHOLE_STEP = "the whole step"


def late_phase(job: Job, ranks: tuple[RankTimes, ...], roles: Roles, suspect: Suspect) -> str:
    """The phase of the late steps if they have one, and the stretch with most of the excess."""
    rank = max(suspect.late, key=lambda late: late.excess_ns * len(late.steps))
    stretch = _stretch(job, ranks, roles, rank.place, rank.steps)
    phase = _phase(job, rank.place, rank.steps)
    return f"{phase}: {stretch}" if phase else stretch


def _phase(job: Job, place: int, steps: tuple[int, ...]) -> str:
    """The name of the phase of these steps, where the rank has several and these are of one."""
    digest = job.ranks[place]
    if len(digest.phases) < 2 or job.step_count <= max(steps):
        return ""
    rows = job.steps[place, list(steps)]
    numbers = np.unique(digest.steps.phase[rows[rows != MISSING]])
    if len(numbers) != 1 or not 0 <= numbers[0] < len(digest.phases):
        return ""
    return digest.phases[int(numbers[0])]


def _stretch(
    job: Job,
    ranks: tuple[RankTimes, ...],
    roles: Roles,
    place: int,
    steps: tuple[int, ...],
) -> str:
    role = next(places for places in roles.members if place in places)
    peers = [peer for peer in sampled(role, LIMITS.peer_count) if peer != place]
    chosen = sampled(steps, _STEP_COUNT)
    lost = []
    for step in chosen:
        offsets = _offsets_by_time(ranks[place], step)
        own = _stretches(ranks[place], step, offsets)
        others = [
            _stretches(ranks[peer], step, offsets)
            for peer in peers
            if roles.signature[peer, step] == roles.signature[place, step]
            and ranks[peer].has_step[step]
        ]
        if others:
            lost.append(own - medians(np.stack(others)))
    usual_length = max((len(excess) for excess in lost), default=0)
    lost = [excess for excess in lost if len(excess) == usual_length]
    if not lost or usual_length < 2:
        return WHOLE_STEP
    excess = medians(np.stack(lost))
    largest = int(np.argmax(excess))
    whole = float(np.maximum(excess, 0).sum())
    if whole <= 0 or excess[largest] < _ONE_STRETCH * whole:
        return WHOLE_STEP
    return _stretch_name(job, ranks[place], chosen[-1], largest, usual_length - 1)


def _stretches(rank: RankTimes, step: int, offsets: Numbers) -> Reals:
    """Own time from the begin of a step over these exchanges to its end."""
    count = len(offsets)
    kinds = np.array(
        [PointKind.STEP_START] + [PointKind.ROW_START] * count + [PointKind.STEP_END], np.int64
    )
    places = np.concatenate(([0], offsets, [0]))
    times, _ = rank.own_time(kinds, np.full(count + 2, step, np.int64), places)
    return np.diff(times).astype(np.float64)


def _offsets_by_time(rank: RankTimes, step: int) -> Numbers:
    """The places of a step's exchanges in the order in which they began on a rank."""
    rows = rank.step_rows[rank.bounds[step] : rank.bounds[step + 1]]
    return np.argsort(rank.start_ns[rows], kind="stable")


def _stretch_name(job: Job, rank: RankTimes, step: int, stretch: int, count: int) -> str:
    if stretch == count:
        return "the end of the step, after its last exchange"
    rows = rank.step_rows[rank.bounds[step] : rank.bounds[step + 1]]
    row = int(rows[_offsets_by_time(rank, step)[stretch]])
    group, exchange = int(rank.kinds.group[row]), int(rank.kinds.exchange[row])
    operation = "exchange"
    if group != MISSING:
        matched = job.groups[group]
        operation = matched.uses[int(matched.use[exchange])].operation or operation
    where = "the begin of the step, before" if stretch == 0 else "before"
    return f"{where} {operation} ({stretch + 1} of {count} exchanges)"
