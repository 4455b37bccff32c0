"""The steps of a rank as rows."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from wavescope.analyze.phases import phase_in_name
from wavescope.analyze.ranks.digest.digest_options import DigestOptions
from wavescope.analyze.ranks.digest.host_late import HostLate
from wavescope.analyze.ranks.digest.launch_sizes import LaunchSizes
from wavescope.analyze.ranks.digest.rank_digest import UNKNOWN, Numbers, StepRows
from wavescope.analyze.ranks.digest.rank_ops import RankOps
from wavescope.analyze.ranks.digest.step_times import OpRuns, StepSpans, op_runs, step_times
from wavescope.analyze.steps import StepOptions, Steps, steps_of
from wavescope.arrays.coded_columns import looked_up
from wavescope.arrays.intervals import Times
from wavescope.names.kernel_names import MOE, meaning_of

_NUMBERED = re.compile(r"(?:step|iteration|iter|batch)\w*?[ ._:/#=-]*(\d{1,18})", re.IGNORECASE)
_LAST_NUMBER = re.compile(r"(\d{1,18})\D*$")
_LONGEST_NAME = 512
_LONGEST_NS = 1 << 42
"""More than an hour: only a hostile file has such kernels, and sums of them must not wrap."""


class RankSteps(NamedTuple):
    """The steps of a rank, and the step of each of its collectives."""

    rows: StepRows
    of_collective: Numbers
    told_by: str
    phases: tuple[str, ...]


def rank_steps(
    ops: RankOps, sizes: LaunchSizes, late: HostLate | None, options: DigestOptions
) -> RankSteps:
    """The steps of a rank in order of time; steps in which no op works are none."""
    steps = steps_of(ops.trace, StepOptions(marker=options.step_marker))
    told = ops.of_working(steps.of_op)
    runs = op_runs(told)
    begun = runs.minima(ops.starts, len(steps))
    ended = runs.maxima(ops.ends, len(steps))
    used = np.flatnonzero(runs.counts(len(steps)))
    used = used[np.lexsort((used, ended[used], begun[used]))]
    number = np.full(len(steps) + 1, UNKNOWN, np.int32)
    number[used] = np.arange(len(used))
    spans = StepSpans(
        begun[used], ended[used], runs._replace(steps=number[runs.steps].astype(np.int64))
    )
    of_collective = number[told[ops.collective_rows]]
    times = step_times(ops, spans, of_collective, late)
    names = _names(ops, steps, used)
    phase_of_step = [phase_in_name(name) for name in names]
    phases = tuple(phase for phase in dict.fromkeys(phase_of_step) if phase)
    place = {phase: row for row, phase in enumerate(phases)}
    kernels = ops.is_compute_kernel
    kernel_count = runs.sums(kernels, len(steps))[used]
    sized_count = kernel_count
    if not sizes.is_known.all():
        sized_count = runs.sums(kernels & sizes.is_known, len(steps))[used]
    work_items = runs.sums(sizes.work_items * kernels, len(steps))[used]
    rows = StepRows(
        start_ns=spans.starts,
        end_ns=spans.ends,
        label=np.array([_label(name, options) for name in names], np.int64),
        phase=np.array([place.get(phase, UNKNOWN) for phase in phase_of_step], np.int32),
        busy_ns=times.busy_ns,
        compute_ns=times.compute_ns,
        collective_ns=times.collective_ns,
        exposed_ns=times.exposed_ns,
        host_late_ns=times.host_late_ns,
        moe_ns=_moe_ns(ops, runs, len(steps))[used],
        kernel_count=kernel_count,
        work_items=np.where((kernel_count > 0) & (sized_count == 0), UNKNOWN, work_items),
    )
    return RankSteps(rows, of_collective, steps.told_by if len(used) else "", phases)


def _names(ops: RankOps, steps: Steps, used: Times) -> list[str]:
    """What the markers of steps are called, "" where no marker tells them."""
    if steps.names is None:
        return [""] * len(used)
    return [ops.trace.strings[code][:_LONGEST_NAME] for code in steps.names[used].tolist()]


def _label(name: str, options: DigestOptions) -> int:
    """The number of a step in its marker's name; of names that a user chose any last number."""
    found = _NUMBERED.search(name)
    if found is None and options.step_marker and not phase_in_name(name):
        found = _LAST_NUMBER.search(name)
    return int(found[1]) if found else UNKNOWN


def _moe_ns(ops: RankOps, runs: OpRuns, step_count: int) -> Times:
    """The durations of kernels of experts in each step added up."""
    trace = ops.trace
    used = trace.ops.code_counts("name").codes.tolist()
    experts = [
        code for code in used if code >= 0 and meaning_of(trace.strings[code]).category == MOE
    ]
    if not experts:
        return np.zeros(step_count, np.int64)
    is_expert = np.zeros(max(used) + 2, np.bool_)  # with a last entry for code -1
    is_expert[experts] = True
    chosen = looked_up(is_expert, ops.column("name")) & ops.is_compute
    lengths = np.minimum(ops.ends - ops.starts, _LONGEST_NS)
    return runs.sums(lengths * chosen, step_count)
