"""Suspects and slow links as culprits, with cause, phase and words for people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.stragglers.causes import explained
from wavescope.analyze.ranks.stragglers.late_ranks import late_ranks
from wavescope.analyze.ranks.stragglers.late_stretch import late_phase
from wavescope.analyze.ranks.stragglers.observed import Observed
from wavescope.analyze.ranks.stragglers.recurrence import recurrence_text, rotation_text
from wavescope.analyze.ranks.stragglers.report import Cause, Culprit, CulpritKind
from wavescope.analyze.ranks.stragglers.slow_links import SlowLink, slow_links, typical_speed
from wavescope.analyze.ranks.stragglers.suspects import Suspect, suspects_of
from wavescope.units import counted, duration_text

_SHOWN_GROUPS = 3


def culprits_of(seen: Observed) -> tuple[Culprit, ...]:
    """Those that cost the job most time first."""
    late = late_ranks(seen.work, seen.roles, seen.speeds)
    suspects = suspects_of(seen.job, seen.roles, late, seen.delay)
    links = slow_links(seen.job, seen.ranks, seen.arrivals, seen.excess)
    found = [_of_suspect(seen, suspect) for suspect in suspects]
    found += [_of_link(seen, link) for link in links if not _follows(seen, link, suspects)]
    return tuple(sorted(found, key=lambda culprit: (-culprit.delay_ns, culprit.places)))


def _follows(seen: Observed, link: SlowLink, suspects: Sequence[Suspect]) -> bool:
    """Whether a link is slow only where a rank at its end is late, which explains more.

    A rank with more tokens has more to send, too; and where exchanges were matched without
    arguments a late rank may look like a slow transfer.
    """
    members = [set(seen.job.groups[group].members.tolist()) for group in link.groups]
    return any(
        suspect.delay_ns > link.delay_ns
        and set(link.steps) <= set(suspect.steps)
        and all(own & set(suspect.places) for own in members)
        for suspect in suspects
    )


def _of_suspect(seen: Observed, suspect: Suspect) -> Culprit:
    cause, evidence, numbers = explained(seen.job, seen.roles, seen.work, suspect)
    if not seen.delay.is_on_path[list(suspect.places)].all():
        evidence += (
            "; the delay is what others wait longer in exchanges than it does, "
            "since no critical path could be told"
        )
    recurrence = _recurrence(seen, suspect.steps)
    if suspect.kind is CulpritKind.ROTATING:
        turns = [(rank.place, rank.steps) for rank in suspect.late]
        recurrence = rotation_text(turns, seen.job.numbers)
    return Culprit(
        kind=suspect.kind,
        places=suspect.places,
        name=_name(seen.job, suspect),
        cause=cause,
        phase=late_phase(seen.job, seen.ranks, seen.roles, suspect),
        delay_ns=suspect.delay_ns,
        share_percent=100 * seen.delay.share(suspect.delay_ns),
        step_count=len(suspect.steps),
        recurrence=recurrence,
        evidence=evidence,
        numbers=numbers,
    )


def _of_link(seen: Observed, link: SlowLink) -> Culprit:
    taken_ns, typical_ns = typical_speed(seen.arrivals, link.groups)
    groups = [seen.job.groups[group] for group in link.groups]
    names = sorted({group.description or group.name for group in groups})
    more = ", ..." if len(names) > _SHOWN_GROUPS else ""
    evidence = (
        f"from the arrival of the last rank on, transfers of {counted(len(groups), 'group')} "
        f"take {link.factor:.2f} times as long as in equal groups or other steps "
        f"(median {duration_text(taken_ns)} against {duration_text(typical_ns)})"
    )
    return Culprit(
        kind=link.kind,
        places=link.places,
        name=link.name,
        cause=Cause.SLOW_LINK,
        phase=f"exchanges of {', '.join(names[:_SHOWN_GROUPS])}{more}",
        delay_ns=link.delay_ns,
        share_percent=100 * seen.delay.share(link.delay_ns),
        step_count=len(link.steps),
        recurrence=_recurrence(seen, link.steps),
        evidence=evidence,
        numbers={"factor": link.factor, "transfer_ns": taken_ns, "typical_ns": typical_ns},
    )


def _recurrence(seen: Observed, steps: tuple[int, ...]) -> str:
    step_count = int(np.count_nonzero(seen.delay.step_ns))
    return recurrence_text(steps, step_count, "steps" if seen.are_steps else "parts")


def _name(job: Job, suspect: Suspect) -> str:
    if suspect.kind is CulpritKind.HOST:
        return f"host {suspect.name}"
    if suspect.kind is CulpritKind.GPU_MODEL:
        return f"GPU model {suspect.name}"
    numbers = ", ".join(str(job.numbers[place]) for place in suspect.places)
    return f"rank {numbers}" if len(suspect.places) == 1 else f"ranks {numbers}"
