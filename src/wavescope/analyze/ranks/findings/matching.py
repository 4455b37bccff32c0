"""What does not fit between ranks: collectives, clocks, ranks and files that are missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.findings.context import RankContext
from wavescope.analyze.ranks.job import MISSING, ClockState, Job, Mismatch
from wavescope.analyze.ranks.measures import numbers_text
from wavescope.model.result import Finding, Severity
from wavescope.units import counted

MISMATCH_ID = "collective-mismatch"
CLOCKS_ID = "clocks-not-comparable"
MISSING_ID = "ranks-missing"
FILES_ID = "files-unreadable"
REPAIRED_ID = "files-repaired"

_SHOWN = 3
_MOST_LISTED = 100_000
_ABSENT = "absent"
_MISSING = "missing"
_ORDER = "order"


def collective_mismatches(context: RankContext) -> list[Finding]:
    """One finding for all collectives that differ between ranks, one for those that could not be
    matched; those of most exchanges first.

    What a rank lacks before its first exchange or after its last was not recorded, and is none.
    """
    job = context.measures.job
    within = [_without_ends(job, each) for each in job.mismatches if each.kind != _ABSENT]
    found = [each for each in within if each is not None]
    unsure = [mismatch for mismatch in found if mismatch.kind == _ORDER]
    differing = [mismatch for mismatch in found if mismatch.kind != _ORDER]
    is_wrong = any(mismatch.kind != _MISSING for mismatch in differing)
    findings = []
    if differing:
        findings.append(
            _mismatch_finding(
                context,
                differing,
                Severity.PROBLEM if is_wrong else Severity.WARNING,
                "{collectives} of {ranks} differ from the other ranks'",
                "ranks that call other collectives than the rest hang or mix data sooner or "
                "later; if ops were lost while recording, record less at once",
            )
        )
    if unsure:
        findings.append(
            _mismatch_finding(
                context,
                unsure,
                Severity.INFO,
                "{collectives} of {ranks} could not be matched for certain",
                "they are left out of arrivals; recordings that name process groups, such as "
                "those of torch.profiler with NCCL or RCCL, tell which belong together",
            )
        )
    return findings


def _mismatch_finding(
    context: RankContext, found: list[Mismatch], severity: Severity, title: str, suggestion: str
) -> Finding:
    found = sorted(found, key=lambda mismatch: -mismatch.exchange_count)
    exchange_count = sum(mismatch.exchange_count for mismatch in found)
    places = sorted({place for mismatch in found for place in mismatch.places})
    left = len(found) - _SHOWN
    more = f"; and {left} more, see table `mismatches`" if left > 0 else ""
    return Finding(
        MISMATCH_ID,
        severity,
        title.format(
            collectives=counted(exchange_count, "collective"), ranks=counted(len(places), "rank")
        ),
        _joined(mismatch.sentence for mismatch in found[:_SHOWN]) + more,
        suggestion,
        where=context.ranks_name(places) if places else "",
        numbers={"mismatch_count": len(found), "exchange_count": exchange_count},
    )


def clocks_not_comparable(context: RankContext) -> list[Finding]:
    """A finding when times of some ranks mean nothing beside those of others."""
    job = context.measures.job
    apart = [place for place, clock in enumerate(job.clocks) if not clock.is_comparable]
    if len(job) < 2 or not apart:
        return []
    reasons = list(dict.fromkeys(job.clocks[place].reason for place in apart))
    states = [job.clocks[place].state for place in apart]
    is_contradicted = any(state is ClockState.CONTRADICTED for state in states)
    return [
        Finding(
            CLOCKS_ID,
            Severity.WARNING,
            f"the clocks of {len(apart)} of {len(job)} ranks cannot be compared",
            f"{context.ranks_name(apart)}: "
            + (_joined(filter(None, reasons[:_SHOWN])) or "nothing ties them to the others"),
            "of exchanges with them only the durations are known; "
            + (
                "look for restarts and steps of the clock in the time recorded, and at `mismatches`"
                if is_contradicted
                else "record more steps with collectives that all ranks take part in"
            ),
            where=context.ranks_name(apart),
            numbers={"rank_count": len(apart)},
        )
    ]


def ranks_missing(context: RankContext) -> list[Finding]:
    """A finding when the job has ranks that no usable trace was given of."""
    job = context.measures.job
    world = max((rank.identity.world_size or 0 for rank in job.ranks), default=0)
    given = set(job.numbers)
    missing_count = world - sum(0 <= number < world for number in given)
    sentences = [each.sentence for each in job.mismatches if each.kind == _ABSENT]
    if missing_count <= 0 and not sentences:
        return []
    told = []
    if missing_count > 0:
        which = ""
        if world <= _MOST_LISTED:
            which = f": {numbers_text(set(range(world)) - given)}"
        told.append(f"traces of {len(given)} of {world} ranks were given; missing{which}")
    return [
        Finding(
            MISSING_ID,
            Severity.WARNING,
            f"{missing_count} of {counted(world, 'rank')} "
            f"{'is' if missing_count == 1 else 'are'} missing"
            if missing_count > 0
            else "members of groups are missing",
            _joined([*told, *sentences[:_SHOWN]]),
            "who comes last is known of the given ranks only: skew and waiting are lower bounds, "
            "transfer times upper bounds; give the traces of the other ranks, too",
            numbers={"missing_count": max(missing_count, 0), "world_size": world or None},
        )
    ]


def files_unreadable(context: RankContext) -> list[Finding]:
    """A finding when files were left out."""
    bad = [(file.path, file.problem) for file in context.files if file.problem]
    if not bad:
        return []
    return [
        Finding(
            FILES_ID,
            Severity.WARNING,
            f"{len(bad)} of {counted(len(context.files), 'file')} could not be used",
            _listed(bad),
            "was the run killed while it wrote them? `wavescope info` and `wavescope recover` say "
            "what is in a file",
            numbers={"file_count": len(bad)},
        )
    ]


def files_repaired(context: RankContext) -> list[Finding]:
    """A finding when readers had to skip or repair something, such as an end that is cut off."""
    told = [(file.path, ", ".join(file.notes)) for file in context.files if file.is_repaired]
    if not told:
        return []
    return [
        Finding(
            REPAIRED_ID,
            Severity.INFO,
            f"{len(told)} of {counted(len(context.files), 'file')} "
            f"{'was' if len(told) == 1 else 'were'} read in part, or repaired",
            _listed(told),
            "these ranks may lack ops: if files were cut short, was the run killed while it wrote "
            "them? `wavescope info` says what is in a file",
            numbers={"file_count": len(told)},
        )
    ]


def _listed(files: Sequence[tuple[str, str]]) -> str:
    """The first of these files, with what is said of each."""
    left = len(files) - _SHOWN
    more = f"; and {left} more, see table `files`" if left > 0 else ""
    return "; ".join(f"{path}: {words}" for path, words in files[:_SHOWN]) + more


def _without_ends(job: Job, mismatch: Mismatch) -> Mismatch | None:
    """Of what ranks lack only what lies between their own exchanges; None without any."""
    if mismatch.kind != _MISSING or not 0 <= mismatch.group < len(job.groups):
        return mismatch
    group = job.groups[mismatch.group]
    holes = [_hole_count(row) for row in group.rows[np.isin(group.members, mismatch.places)]]
    between = max(holes, default=mismatch.exchange_count)
    return mismatch._replace(exchange_count=between) if between else None


def _hole_count(rows: npt.NDArray[np.int32]) -> int:
    there = np.flatnonzero(rows != MISSING)
    return int(there[-1]) - int(there[0]) + 1 - len(there) if len(there) else 0


def _joined(sentences: Iterable[str]) -> str:
    return "; ".join(sentence.rstrip(".") for sentence in sentences)
