"""Groups whose transfers take longer than those of equal groups, and the link they share.

A transfer is counted from the arrival of the last member, so that late ranks do not count. Equal
groups have as many ranks on as many hosts, and exchange as much. Without an equal group a link can
only be slow in some steps, compared with the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import NO_TIME, Job
from wavescope.analyze.ranks.stragglers.arrivals import UNKNOWN_KIND, Arrivals
from wavescope.analyze.ranks.stragglers.limits import LIMITS
from wavescope.analyze.ranks.stragglers.medians import Reals, medians, spread
from wavescope.analyze.ranks.stragglers.path_excess import PathExcess
from wavescope.analyze.ranks.stragglers.rank_times import RankTimes
from wavescope.analyze.ranks.stragglers.recurrence import is_temporary
from wavescope.analyze.ranks.stragglers.report import CulpritKind


@dataclass(frozen=True)
class SlowLink:
    """A link, or a group whose link is not known more closely."""

    kind: CulpritKind
    name: str
    places: tuple[int, ...]
    groups: tuple[int, ...]
    steps: tuple[int, ...]
    delay_ns: int
    factor: float
    """How much longer its transfers take in these steps."""


def slow_links(
    job: Job,
    ranks: tuple[RankTimes, ...],
    arrivals: tuple[Arrivals, ...],
    excess: PathExcess,
) -> list[SlowLink]:
    """At most one: the link that explains all slow groups best."""
    factors = _factors(job, ranks, arrivals, len(excess.actual_ns))
    late = _late_steps(factors)
    slow = {group for group, steps in late.items() if steps}
    if not slow:
        return []
    known = slow | (
        _groups_with_equals(arrivals) & set(np.flatnonzero(~np.isnan(factors).all(axis=1)).tolist())
    )
    kind, name, places = _explained(job, slow, known)
    steps = sorted({step for group in slow for step in late[group]})
    chosen = np.ix_(sorted(slow), steps)
    delay_ns = int(excess.transfer_ns[chosen].sum())
    if delay_ns < LIMITS.least_share * int(excess.actual_ns[steps].sum()):
        return []
    factor = float(np.nanmedian(factors[chosen]))
    return [SlowLink(kind, name, places, tuple(sorted(slow)), tuple(steps), delay_ns, factor)]


def _groups_with_equals(arrivals: tuple[Arrivals, ...]) -> set[int]:
    """Groups of which others have exchanges of the same kind: only they could be told slow."""
    users: dict[int, set[int]] = {}
    for group, found in enumerate(arrivals):
        for kind in np.unique(found.kind[found.kind != UNKNOWN_KIND]).tolist():
            users.setdefault(kind, set()).add(group)
    return {group for groups in users.values() if len(groups) > 1 for group in groups}


def _factors(
    job: Job,
    ranks: tuple[RankTimes, ...],
    arrivals: tuple[Arrivals, ...],
    step_count: int,
) -> Reals:
    """[group, step]: transfer time / typical transfer time; NaN where nothing is known."""
    factors = np.full((len(job.groups), step_count), np.nan)
    for number, (group, found) in enumerate(zip(job.groups, arrivals, strict=True)):
        is_sure = group.confidence >= LIMITS.least_confidence
        if not (found.is_complete and is_sure) or len(group.members) < 2:
            continue
        is_known = (found.last_ns != NO_TIME) & (found.typical_ns > 0)
        is_known &= found.member_count == len(group.members)
        exchange = np.flatnonzero(is_known)
        member = found.last_member[exchange]
        step = np.empty(len(exchange), np.int64)
        for last in np.unique(member).tolist():
            mine = member == last
            rows = group.rows[last, exchange[mine]]
            step[mine] = ranks[int(group.members[last])].step[rows]
        in_step = step >= 0
        exchange, step = exchange[in_step], step[in_step]
        taken = np.bincount(step, found.transfer_ns[exchange], step_count)
        typical = np.bincount(step, found.typical_ns[exchange], step_count)
        np.divide(taken, typical, out=factors[number], where=typical > 0)
    return factors


def _late_steps(factors: Reals) -> dict[int, list[int]]:
    """The steps in which each group was slow, if in enough of them."""
    usual = medians(factors.T)
    noise = spread(factors - usual[:, None])
    limit = 1 + max(LIMITS.transfer_share, LIMITS.noise_factor * noise)
    found: dict[int, list[int]] = {}
    for group in range(len(factors)):
        steps = np.flatnonzero(factors[group] > limit).tolist()
        step_count = int(np.count_nonzero(~np.isnan(factors[group])))
        often = len(steps) >= LIMITS.always_share * step_count
        lasts = often or is_temporary(steps, step_count)
        if step_count >= LIMITS.least_steps and len(steps) >= LIMITS.least_late_steps and lasts:
            found[group] = steps
    return found


def _explained(
    job: Job, slow: set[int], known: set[int]
) -> tuple[CulpritKind, str, tuple[int, ...]]:
    """The rank, pair of hosts, host or group whose groups are the slow ones, and no others."""
    best: tuple[float, tuple[CulpritKind, str, tuple[int, ...]]] | None = None
    for explanation, groups in _explanations(job, slow, known):
        hits = len(groups & slow)
        fit = 2 * hits / (len(groups) + len(slow))
        if best is None or fit > best[0]:
            best = (fit, explanation)
    assert best is not None
    return best[1]


def _explanations(
    job: Job, slow: set[int], known: set[int]
) -> list[tuple[tuple[CulpritKind, str, tuple[int, ...]], set[int]]]:
    """What could be slow, with the groups that would be: the closest first."""
    members = {group: set(job.groups[group].members.tolist()) for group in known}
    hosts = [rank.identity.host for rank in job.ranks]
    hosts_of = {group: {hosts[place] for place in members[group]} for group in known}
    found: list[tuple[tuple[CulpritKind, str, tuple[int, ...]], set[int]]] = []
    for group in sorted(slow):
        name = f"group {job.groups[group].name}"
        places = tuple(sorted(members[group]))
        found.append(((CulpritKind.GROUP, name, places), {group}))
    touched = sorted({place for group in slow for place in members[group]})
    for place in touched:
        name = f"links of rank {job.numbers[place]}"
        groups = {group for group in known if place in members[group]}
        found.append(((CulpritKind.LINK, name, (place,)), groups))
    names = sorted({host for group in slow for host in hosts_of[group] if host})
    for number, one in enumerate(names):
        crossing = {group for group in known if one in hosts_of[group] and len(hosts_of[group]) > 1}
        here = tuple(place for place, host in enumerate(hosts) if host == one)
        found.append(((CulpritKind.LINK, f"links of host {one}", here), crossing))
        for other in names[number + 1 :]:
            both = {group for group in known if {one, other} <= hosts_of[group]}
            places = tuple(place for place, host in enumerate(hosts) if host in (one, other))
            name = f"link between hosts {one} and {other}"
            found.append(((CulpritKind.LINK, name, places), both))
    return found


def typical_speed(arrivals: Sequence[Arrivals], groups: Sequence[int]) -> tuple[float, float]:
    """The median transfer of these groups, and the typical one, in ns."""
    taken = np.concatenate([arrivals[group].transfer_ns for group in groups])
    typical: npt.NDArray[np.int64] = np.concatenate([arrivals[g].typical_ns for g in groups])
    there = taken >= 0
    return float(np.median(taken[there])), float(np.median(typical[there]))
