"""Compute units that finish long before the last: the kernel lasts as long as the slowest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.kernel_waves import EARLY_EXIT_PERCENT, KernelWaves, kernel_waves
from wavescope.analyze.capture.plan.context import Opportunity, PlanContext, Sketch
from wavescope.model.capture import Flags

_FEWEST_UNITS = 4
_UNEVEN_PERCENT = 20.0
_SAME_WORK = 1.1
_ENDS_LAST_PERCENT = 1.0


class _Finish(NamedTuple):
    """When compute units were done, in cycles since the kernel's begin."""

    units: int
    last: int
    mean: float
    longest_ends_last: bool
    left_early: int


def find(context: PlanContext, free: Flags) -> list[Opportunity]:  # noqa: ARG001  claims nothing
    """One opportunity where the last compute unit finishes far later than the others."""
    finish = _finish(kernel_waves(context.analysis.capture))
    if finish is None or 100 * (finish.last - finish.mean) <= _UNEVEN_PERCENT * finish.mean:
        return []
    more = _instruction_ratio(context)
    if more is not None and more < _SAME_WORK and not finish.longest_ends_last:
        return []
    gain = (finish.last - finish.mean) / finish.last
    early = (
        f"; {finish.left_early:,} waves that lived less than {EARLY_EXIT_PERCENT:g} % of the "
        "longest are not counted"
        if finish.left_early
        else ""
    )
    return [
        Opportunity(
            pattern="uneven-waves",
            title="some compute units finish long before the last",
            evidence=f"the last of {finish.units:,} compute units finishes after {finish.last:,} "
            f"cycles, the mean of them after {finish.mean:,.0f}{early}",
            cause=_cause(more),
            fix="split the work of long waves (smaller tiles, persistent workgroups that take the "
            "next tile when they are done), or start the longest work first",
            where="whole kernel",
            gain_cycles=round(context.lifetime * gain),
            gain_basis="upper bound: all compute units finish at the mean of their finish times, "
            "as if the same work were spread evenly",
            sketch=Sketch(
                ("tile = workgroup_id", "<all of the tile>"),
                ("while (tile = next_tile()) is left:", "    <the tile>"),
            ),
            numbers={
                "compute_units": finish.units,
                "last_finish_cycles": finish.last,
                "mean_finish_cycles": finish.mean,
                "left_early_waves": finish.left_early,
                "instruction_ratio": more,
            },
            needs_idle_simds=False,
        )
    ]


def _finish(waves: KernelWaves) -> _Finish | None:
    """Of the waves that had work; None where too few compute units are known."""
    working = waves.working()
    if not len(working):
        return None
    times = working.finish_times()
    if len(times) < _FEWEST_UNITS:
        return None
    last = int(times.max())
    longest = int(working.end_since_start[int(working.life.argmax())])
    return _Finish(
        len(times),
        max(last, 1),
        float(times.mean()),
        100 * (last - longest) <= _ENDS_LAST_PERCENT * last,
        len(waves) - len(working),
    )


def _instruction_ratio(context: PlanContext) -> float | None:
    """Executed instructions of the largest wave beside the median; None without wave files."""
    waves = context.analysis.waves
    lives = waves.end - waves.begin
    counted = ~waves.is_partial & (100 * lives >= EARLY_EXIT_PERCENT * lives.max(initial=0))
    executed = np.diff(waves.event_offsets)[counted]
    if len(executed) < 2:
        return None
    return float(executed.max()) / max(float(np.median(executed)), 1.0)


def _cause(more: float | None) -> str:
    if more is None:
        return "without wave files nobody knows whether some waves do more or wait longer"
    if more >= _SAME_WORK:
        return (
            f"a traced wave executes {more:.1f} times the instructions of the median wave: the "
            "work is uneven"
        )
    return (
        "traced waves execute the same number of instructions: some of them wait longer, for "
        "memory or their SIMD, or run later"
    )
