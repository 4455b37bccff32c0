"""Several files of one rank as one digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from wavescope.analyze.ranks.digest.rank_digest import (
    UNKNOWN,
    CollectiveRows,
    CollectiveUse,
    KernelTotal,
    Numbers,
    RankDigest,
    RankIdentity,
    StepRows,
    TimeBins,
)
from wavescope.analyze.ranks.digest.time_bins import bin_edges
from wavescope.arrays.intervals import Times

_Rows = TypeVar("_Rows", CollectiveRows, StepRows)


def joined(digests: Sequence[RankDigest]) -> RankDigest:
    """The files of one rank as one digest, in order of time.

    A file that was recorded while another one was, such as the same file given twice, is left out,
    with a note. Medians of kernels and times in bins are estimates where files are joined; all sums
    are exact. ValueError without any digest.
    """
    if not digests:
        raise ValueError("no digest was given")
    kept, notes = _one_after_another(digests)
    if len(kept) == 1:
        return replace(kept[0], notes=(*kept[0].notes, *notes))
    groups = _distinct(group for digest in kept for group in digest.groups)
    uses = _distinct(use for digest in kept for use in _uses(digest, groups))
    phases = _distinct(phase for digest in kept for phase in digest.phases)
    paths = ", ".join(digest.path for digest in kept[1:])
    return replace(
        kept[0],
        identity=_identity(kept),
        op_count=sum(digest.op_count for digest in kept),
        first_ns=kept[0].first_ns,
        last_ns=kept[-1].last_ns,
        groups=tuple(groups),
        uses=tuple(uses),
        collectives=_collectives(kept, groups, uses),
        steps=_steps(kept, phases),
        steps_told_by=next((each.steps_told_by for each in kept if each.steps_told_by), ""),
        phases=tuple(phases),
        kernels=_kernels(kept),
        bins=_bins(kept),
        monitors=_monitors(kept),
        clock=kept[0].clock if len({digest.clock for digest in kept}) == 1 else "",
        lost_ops=sum(digest.lost_ops for digest in kept),
        older_ops=sum(digest.older_ops for digest in kept),
        is_sampled=any(digest.is_sampled for digest in kept),
        later_files=tuple((digest.first_ns, digest.path) for digest in kept[1:]),
        notes=(
            *_distinct(note for digest in kept for note in digest.notes),
            f"one rank in {len(kept)} files: it goes on in {paths}",
            *notes,
        ),
    )


def _one_after_another(digests: Sequence[RankDigest]) -> tuple[list[RankDigest], list[str]]:
    """Digests in order of time of which none overlaps the one before, and why others are not."""
    ordered = sorted(digests, key=lambda each: (each.first_ns, -each.last_ns, each.path))
    with_ops = [digest for digest in ordered if digest.last_ns > digest.first_ns]
    kept: list[RankDigest] = []
    notes = []
    for digest in with_ops or ordered[:1]:
        if kept and digest.first_ns < kept[-1].last_ns:
            notes.append(f"{digest.path} is left out: {kept[-1].path} was recorded meanwhile")
        else:
            kept.append(digest)
    chosen = {id(digest) for digest in with_ops or ordered[:1]}
    notes += [
        f"{digest.path} is left out: no GPU op in it takes any time"
        for digest in ordered
        if id(digest) not in chosen
    ]
    return kept, notes


def _distinct(rows: Any) -> dict[Any, int]:
    """Each different row with its number, in the order of first sight."""
    numbers: dict[Any, int] = {}
    for row in rows:
        numbers.setdefault(row, len(numbers))
    return numbers


def _uses(digest: RankDigest, groups: dict[Any, int]) -> list[CollectiveUse]:
    """The uses of a digest with the groups' numbers in the joined one."""
    return [
        use if use.group == UNKNOWN else use._replace(group=groups[digest.groups[use.group]])
        for use in digest.uses
    ]


def _identity(kept: Sequence[RankDigest]) -> RankIdentity:
    """What any of the files says, the first of them first."""
    nothing = RankIdentity()
    values = {
        each.name: next(
            (
                getattr(digest.identity, each.name)
                for digest in kept
                if getattr(digest.identity, each.name) != getattr(nothing, each.name)
            ),
            getattr(nothing, each.name),
        )
        for each in fields(RankIdentity)
    }
    return RankIdentity(**values)


def _collectives(
    kept: Sequence[RankDigest], groups: dict[Any, int], uses: dict[Any, int]
) -> CollectiveRows:
    first_steps = np.cumsum([0, *(len(digest.steps) for digest in kept)])
    parts = [
        replace(
            digest.collectives,
            use=_renumbered(digest.collectives.use, [uses[use] for use in _uses(digest, groups)]),
            step=_shifted(digest.collectives.step, int(first_step)),
        )
        for digest, first_step in zip(kept, first_steps, strict=False)
    ]
    return _stacked(CollectiveRows, parts)


def _steps(kept: Sequence[RankDigest], phases: dict[Any, int]) -> StepRows:
    parts = [
        replace(
            digest.steps,
            phase=_renumbered(digest.steps.phase, [phases[phase] for phase in digest.phases]),
        )
        for digest in kept
    ]
    return _stacked(StepRows, parts)


def _stacked(kind: type[_Rows], parts: Sequence[_Rows]) -> _Rows:
    columns = {
        each.name: np.concatenate([getattr(part, each.name) for part in parts])
        for each in fields(kind)
    }
    return kind(**columns)


def _renumbered(numbers: Numbers, new: Sequence[int]) -> Numbers:
    return np.array([*new, UNKNOWN], np.int32)[numbers]


def _shifted(numbers: Numbers, by: int) -> Numbers:
    return np.where(numbers == UNKNOWN, UNKNOWN, numbers + by).astype(np.int32)


def _kernels(kept: Sequence[RankDigest]) -> tuple[KernelTotal, ...]:
    """Kernels of all files; a median is that of the file in the middle of all runs."""
    by_name: dict[tuple[str, str], list[KernelTotal]] = {}
    for digest in kept:
        for kernel in digest.kernels:
            by_name.setdefault((kernel.name, kernel.category), []).append(kernel)
    merged = [_kernel(parts) for parts in by_name.values()]
    merged.sort(key=lambda kernel: (-kernel.total_ns, kernel.name))
    return tuple(merged[: max(len(digest.kernels) for digest in kept)])


def _kernel(parts: Sequence[KernelTotal]) -> KernelTotal:
    run_count = sum(part.run_count for part in parts)
    sizes = [part.work_items for part in parts if part.work_items != UNKNOWN]
    reached = 0
    median_ns = parts[0].median_ns
    for part in sorted(parts, key=lambda part: part.median_ns):
        reached += part.run_count
        median_ns = part.median_ns
        if 2 * reached >= run_count:
            break
    return parts[0]._replace(
        run_count=run_count,
        total_ns=sum(part.total_ns for part in parts),
        median_ns=median_ns,
        shortest_ns=min(part.shortest_ns for part in parts),
        work_items=sum(sizes) if sizes else UNKNOWN,
    )


def _bins(kept: Sequence[RankDigest]) -> TimeBins:
    """Bins over all files; what a bin of a file holds is spread evenly over it."""
    bin_count = max(len(digest.bins) for digest in kept)
    edges, width_ns = bin_edges(kept[0].first_ns, kept[-1].last_ns, bin_count)
    columns = {
        name: sum(
            (_spread(digest.bins, getattr(digest.bins, name), edges) for digest in kept),
            np.zeros(len(edges) - 1, np.int64),
        )
        for name in ("busy_ns", "compute_ns", "collective_ns", "exposed_ns")
    }
    return TimeBins(kept[0].first_ns, width_ns, **columns)


def _spread(bins: TimeBins, values: Times, edges: Times) -> Times:
    """The values of bins in other bins, the sum unchanged."""
    if not len(values):
        return np.zeros(len(edges) - 1, np.int64)
    old = bins.first_ns + bins.width_ns * np.arange(len(values) + 1, dtype=np.int64)
    until = np.concatenate(([0], np.cumsum(values)))
    bounded = np.clip(edges, old[0], old[-1])
    place = np.minimum(np.searchsorted(old, bounded, side="right") - 1, len(values) - 1)
    share = (bounded - old[place]) / bins.width_ns
    at_edge = until[place] + np.rint(values[place] * share).astype(np.int64)
    # All its time lies before the last edge, even if its last bin reaches beyond that.
    at_edge[-1] = until[-1]
    spread: Times = np.diff(at_edge)
    return spread


def _monitors(kept: Sequence[RankDigest]) -> tuple[tuple[str, float], ...]:
    """Means over the files, weighted by how long each was recorded."""
    sums: dict[str, list[float]] = {}
    for digest in kept:
        weight = float(digest.last_ns - digest.first_ns)
        for name, value in digest.monitors:
            total = sums.setdefault(name, [0.0, 0.0])
            total[0] += weight * value
            total[1] += weight
    return tuple((name, total / weight) for name, (total, weight) in sorted(sums.items()))
