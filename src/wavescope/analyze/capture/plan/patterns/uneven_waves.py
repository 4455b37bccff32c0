"""Waves that live much longer than others: the kernel lasts as long as the slowest."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.plan.context import Opportunity, PlanContext, Sketch
from wavescope.model.capture import Flags

_FEWEST_WAVES = 4
_UNEVEN_PERCENT = 20.0
_SAME_WORK = 1.1


def find(context: PlanContext, free: Flags) -> list[Opportunity]:  # noqa: ARG001  claims nothing
    """One opportunity where the longest wave is far above the mean."""
    waves = context.analysis.waves
    whole = np.flatnonzero(~waves.is_partial)
    if len(whole) < _FEWEST_WAVES:
        return []
    lives = (waves.end - waves.begin)[whole]
    longest, mean, median = int(lives.max()), float(lives.mean()), int(np.median(lives))
    if 100 * (longest - mean) <= _UNEVEN_PERCENT * mean:
        return []
    slowest = int(whole[int(np.argmax(lives))])
    instructions = np.diff(waves.event_offsets)
    more = instructions[slowest] / max(float(np.median(instructions[whole])), 1.0)
    why = (
        f"the longest executes {more:.1f} times the instructions of the median wave: the work is "
        "uneven"
        if more >= _SAME_WORK
        else "the longest executes no more instructions than others: it waits longer, for memory "
        "or its SIMD"
    )
    return [
        Opportunity(
            pattern="uneven-waves",
            title="some waves live much longer than the others",
            evidence=f"{waves.label(slowest)} lives {longest:,} cycles, the median wave "
            f"{median:,}, the mean {mean:,.0f} over {len(whole):,} waves",
            cause=why,
            fix="split the work of long waves (smaller tiles, persistent workgroups that take the "
            "next tile when they are done), or start the longest work first",
            where="whole kernel",
            gain_cycles=round(context.lifetime * (longest - mean) / longest),
            gain_basis="upper bound: the longest wave as short as the mean of all waves, on a chip "
            "that waits for it alone",
            sketch=Sketch(
                ("tile = workgroup_id", "<all of the tile>"),
                ("while (tile = next_tile()) is left:", "    <the tile>"),
            ),
            numbers={
                "longest_cycles": longest,
                "median_cycles": median,
                "instruction_ratio": float(more),
            },
        )
    ]
