"""Why ranks are late: what their own time went to, compared with ranks of the same role."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.stragglers.kernel_speeds import (
    SAME_SIZE,
    size_of_run,
    time_per_work,
)
from wavescope.analyze.ranks.stragglers.late_ranks import LateIn
from wavescope.analyze.ranks.stragglers.limits import LIMITS
from wavescope.analyze.ranks.stragglers.medians import Reals, median
from wavescope.analyze.ranks.stragglers.own_work import OwnWork
from wavescope.analyze.ranks.stragglers.report import Cause
from wavescope.analyze.ranks.stragglers.roles import Roles
from wavescope.analyze.ranks.stragglers.suspects import Suspect
from wavescope.units import counted, duration_text

_SHOWN_KERNELS = 3
_SAME_WORK = 0.02
_SLOWER_KERNEL = 1.02


class Explained(NamedTuple):
    """A cause with its evidence."""

    cause: Cause
    evidence: str
    numbers: dict[str, float]


@dataclass(frozen=True)
class Comparison:
    """Late ranks and the others of their roles, in the steps in which they are late."""

    late: tuple[int, ...]
    others: tuple[int, ...]
    """Where all of a role take turns, those that are not late at the time."""
    is_late: npt.NDArray[np.bool_]
    """[place, step]."""

    def medians(self, values: Reals) -> tuple[float, float]:
        """The typical value of the late ones and of the others, from [place, step]."""
        if values.shape != self.is_late.shape:
            return float("nan"), float("nan")
        is_other = np.zeros_like(self.is_late)
        is_other[list(self.others)] = self.is_late.any(axis=0)
        return median(values[self.is_late]), median(values[is_other & ~self.is_late])


def explained(job: Job, roles: Roles, work: OwnWork, suspect: Suspect) -> Explained:
    """The cause that explains most of the delay."""
    compared = _comparison(roles, suspect, work.work_ns.shape)
    if suspect.late_in is LateIn.IDLE:
        return _host_late(job, work, compared)
    return _longer_work(job, work, compared)


def _comparison(roles: Roles, suspect: Suspect, shape: tuple[int, ...]) -> Comparison:
    late = set(suspect.places)
    others = [
        place
        for places in roles.members
        if late & set(places)
        for place in places
        if place not in late
    ]
    others = others or [place for place in range(shape[0]) if place not in late] or sorted(late)
    is_late = np.zeros(shape, np.bool_)
    for rank in suspect.late:
        is_late[rank.place, list(rank.steps)] = True
    return Comparison(tuple(sorted(late)), tuple(others), is_late)


def _host_late(job: Job, work: OwnWork, compared: Comparison) -> Explained:
    own_ns, others_ns = compared.medians(work.idle_ns)
    late_ns, others_late_ns = compared.medians(_unlaunched(job, work.idle_ns.shape))
    numbers = {"idle_ns": own_ns, "others_idle_ns": others_ns, "host_late_ns": late_ns}
    evidence = (
        f"its GPU is idle for {_time_text(own_ns)} of each such step, "
        f"those of {counted(len(compared.others), 'other rank')} of its role for "
        f"{_time_text(others_ns)}"
    )
    own_work_ns, others_work_ns = compared.medians(work.work_ns)
    evidence += (
        f"; its own work takes {_time_text(own_work_ns)}, theirs {_time_text(others_work_ns)}"
    )
    if late_ns - others_late_ns >= LIMITS.cause_share * (own_ns - others_ns):
        evidence += (
            f"; for {_time_text(late_ns)} of that the next op was not launched yet "
            f"(others: {_time_text(others_late_ns)})"
        )
    return Explained(Cause.HOST_LATE, evidence, numbers)


def _unlaunched(job: Job, shape: tuple[int, ...]) -> Reals:
    """[place, step]: how long nothing ran because nothing was launched, as far as is known.

    Pauses before an exchange are counted with it, also those before the first op of the step.
    """
    found = np.zeros(shape)
    if job.steps.shape != shape:
        return found
    for place, rank in enumerate(job.ranks):
        rows = job.steps[place]
        there = (rows >= 0) & (rows < len(rank.steps))
        step = rank.collectives.step
        known = step >= 0
        late_ns = np.maximum(rank.collectives.host_late_ns[known], 0)
        by_step = np.bincount(step[known], late_ns, len(rank.steps))
        of_steps = np.maximum(rank.steps.host_late_ns, 0)
        found[place, there] = np.maximum(by_step[: len(rank.steps)], of_steps)[rows[there]]
    return found


def _longer_work(job: Job, work: OwnWork, compared: Comparison) -> Explained:
    own_ns, others_ns = compared.medians(work.work_ns)
    factor = own_ns / others_ns if others_ns > 0 else float("nan")
    numbers = {"work_ns": own_ns, "others_work_ns": others_ns, "factor": factor}
    evidence = (
        f"its own work takes {_time_text(own_ns)} in each such step, that of "
        f"{counted(len(compared.others), 'other rank')} of its role {_time_text(others_ns)} "
        f"({_percent(factor)} more)"
    )
    more = _more_work(job, work, compared, factor)
    if more is not None:
        name, ratio = more
        numbers[f"{name}_factor"] = ratio
        evidence += f"; it launches {_percent(ratio)} more {name.replace('_', ' ')}"
        return Explained(Cause.MORE_WORK, evidence, numbers)
    return _slower_compute(job, compared, Explained(Cause.UNKNOWN, evidence, numbers))


def _more_work(
    job: Job, work: OwnWork, compared: Comparison, factor: float
) -> tuple[str, float] | None:
    """What there is more of, in proportion to the time, and by which factor."""
    if job.steps.shape != work.work_ns.shape or not factor > 1:
        return None
    ratios = []
    for name in ("work_items", "kernel_count"):
        values = job.step_column(name, 0).astype(np.float64)
        own, others = compared.medians(values)
        if others > 0:
            ratios.append((name, own / others))
    for name, ratio in sorted(ratios, key=lambda item: -item[1]):
        if ratio - 1 >= LIMITS.cause_share * (factor - 1):
            return name, ratio
    return None


def _slower_compute(job: Job, compared: Comparison, known: Explained) -> Explained:
    numbers, evidence = dict(known.numbers), known.evidence
    kernels = _slower_kernels(job, compared)
    if kernels:
        shown = ", ".join(f"{name} {ratio:.2f}x" for name, ratio in kernels[:_SHOWN_KERNELS])
        evidence += f"; the same kernels with the same work take longer: {shown}"
        numbers["kernel_factor"] = kernels[0][1]
    for name, own, others in _other_hardware(job, compared):
        evidence += f"; {name} {own} against {others}"
    counts = compared.medians(job.step_column("kernel_count", 0).astype(np.float64))
    is_same = counts[1] > 0 and abs(counts[0] / counts[1] - 1) <= _SAME_WORK
    if is_same and not kernels:
        evidence += f"; with the same number of kernels ({counts[0]:,.0f})"
    cause = Cause.SLOWER_COMPUTE if kernels or is_same else Cause.UNKNOWN
    return Explained(cause, evidence, numbers)


def _slower_kernels(job: Job, compared: Comparison) -> list[tuple[str, float]]:
    """Kernels that take longer on the late ranks than on others: most lost time first."""
    others: dict[str, list[tuple[float, float]]] = {}
    for place in compared.others:
        for kernel in job.ranks[place].kernels:
            pair = time_per_work(kernel), size_of_run(kernel)
            others.setdefault(kernel.name, []).append(pair)
    lost: dict[str, list[tuple[float, float]]] = {}
    for place in compared.late:
        for kernel in job.ranks[place].kernels:
            peers = others.get(kernel.name)
            if not peers:
                continue
            typical, size = (float(np.median(values)) for values in zip(*peers, strict=True))
            if abs(size_of_run(kernel) - size) > SAME_SIZE * max(size, 1):
                continue
            ratio = time_per_work(kernel) / typical
            lost.setdefault(kernel.name, []).append((kernel.total_ns * (1 - 1 / ratio), ratio))
    ranked = [
        (sum(time for time, _ in values), name, float(np.median([ratio for _, ratio in values])))
        for name, values in lost.items()
    ]
    ranked.sort(key=lambda item: (-item[0], item[1]))
    return [(name, ratio) for _, name, ratio in ranked if ratio >= _SLOWER_KERNEL]


def _other_hardware(job: Job, compared: Comparison) -> list[tuple[str, str, str]]:
    """What is different about the GPUs of the late ranks."""
    found = []
    for title, name, unit in (("GPU", "gpu_model", ""), ("clock", "clock_mhz", " MHz")):
        own = _common([getattr(job.ranks[place].identity, name) for place in compared.late])
        others = _common([getattr(job.ranks[place].identity, name) for place in compared.others])
        if own and others and own != others and "-1" not in (own, others):
            found.append((title, own + unit, others + unit))
    for name in dict(job.ranks[compared.late[0]].monitors):
        own_mean = _monitor(job, compared.late, name)
        others_mean = _monitor(job, compared.others, name)
        if own_mean is not None and others_mean and abs(own_mean / others_mean - 1) > _SAME_WORK:
            found.append((f"mean {name}", f"{own_mean:.4g}", f"{others_mean:.4g}"))
    return found


def _common(values: Sequence[object]) -> str:
    return str(max(set(values), key=values.count)) if values else ""


def _monitor(job: Job, places: Sequence[int], name: str) -> float | None:
    values = [dict(job.ranks[place].monitors).get(name) for place in places]
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def _time_text(time_ns: float) -> str:
    return "an unknown time" if math.isnan(time_ns) else duration_text(time_ns)


def _percent(factor: float) -> str:
    return f"{100 * (factor - 1):.1f} %"
