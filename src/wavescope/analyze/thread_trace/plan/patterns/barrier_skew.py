"""Waves that reach a barrier at different times: the early ones wait for the last."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavescope.analyze.thread_trace.instruction_kinds import Kind
from wavescope.analyze.thread_trace.plan.context import Group, PlanContext
from wavescope.analyze.thread_trace.plan.opportunity import LEAST_PERCENT, Opportunity, Sketch
from wavescope.analyze.thread_trace.plan.words import stall_evidence
from wavescope.model.thread_trace import Flags, Integers, Rows

_TOGETHER_CYCLES = 64


class _Meeting(NamedTuple):
    """Skew of the meetings of one barrier, and which wave came last most often."""

    median: int
    largest: int
    late_wave: int
    late_share: float
    meetings: int


def find(context: PlanContext, free: Flags) -> list[Opportunity]:
    """Barriers whose waiting is exposed, with who is late."""
    chosen = free & context.cause_is(Kind.BARRIER)
    return [_opportunity(context, group) for group in context.groups(chosen, LEAST_PERCENT)]


def _opportunity(context: PlanContext, group: Group) -> Opportunity:
    meeting = _meetings(context, group.cause_rows[0]) if context.has_waves else None
    skew = ""
    if meeting is not None:
        late = context.decoded.waves.label(meeting.late_wave)
        skew = (
            f"; in {meeting.meetings:,} meetings the last wave comes {meeting.median:,} cycles "
            f"after the first (at most {meeting.largest:,}); {late} is last in "
            f"{meeting.late_share:.0f} %"
        )
    line = context.line_text(group.cause_rows[0])
    return Opportunity(
        pattern="barrier-skew",
        title="waves wait at a barrier for the slowest of them",
        evidence=stall_evidence(context, group) + skew,
        cause="waves of a workgroup do different amounts of work, or wait for memory at different "
        "times, between two barriers",
        fix="give each wave the same loads and work between barriers; where only neighbours share "
        "data wait for the counter instead, split LDS into two buffers to need half the barriers, "
        "or drop barriers of workgroups of one wave",
        where=group.where,
        pieces=group.pieces,
        sketch=Sketch(
            ("<write tile to LDS>", f"{line}  # waits for the last wave", "<read tile>", line),
            ("<write tile to LDS buffer i % 2>", f"{line}  # one per tile", "<read buffer i % 2>"),
        ),
        numbers={
            "median_skew_cycles": meeting.median if meeting else None,
            "largest_skew_cycles": meeting.largest if meeting else None,
        },
    )


def _meetings(context: PlanContext, row: int) -> _Meeting | None:
    """Waves of one CU that leave a barrier together met there."""
    waves = context.decoded.waves
    events = np.flatnonzero(waves.row == row)
    wave = waves.wave_of_event[events]
    arrival = waves.time[events]
    leaves = arrival + waves.duration[events]
    unit = waves.shader_engine[wave].astype(np.int64) * 4096 + waves.cu[wave]
    order = np.lexsort((leaves, unit))
    unit, leaves, arrival, wave = unit[order], leaves[order], arrival[order], wave[order]
    is_new = (np.diff(unit) != 0) | (np.diff(leaves) > _TOGETHER_CYCLES)
    first = np.concatenate([[0], np.flatnonzero(is_new) + 1])
    sizes = np.diff(np.append(first, len(order)))
    skew = np.maximum.reduceat(arrival, first) - np.minimum.reduceat(arrival, first)
    shared = sizes > 1
    if not shared.any():
        return None
    last = _last_waves(first, sizes, arrival, wave)[shared]
    waves_late, counts = np.unique(last, return_counts=True)
    most = int(np.argmax(counts))
    return _Meeting(
        int(np.median(skew[shared])),
        int(skew[shared].max()),
        int(waves_late[most]),
        100 * int(counts[most]) / int(shared.sum()),
        int(shared.sum()),
    )


def _last_waves(first: Integers, sizes: Integers, arrival: Integers, wave: Rows) -> Rows:
    """For each meeting the wave that arrived last."""
    meeting = np.repeat(np.arange(len(first)), sizes)
    order = np.lexsort((arrival, meeting))
    last: Rows = wave[order][first + sizes - 1]
    return last
