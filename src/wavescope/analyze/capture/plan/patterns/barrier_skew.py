"""Waves that reach a barrier at different times: the early ones wait for the last."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import NamedTuple

from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.plan.context import Group, Opportunity, PlanContext, Sketch
from wavescope.model.capture import Flags


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
    return [_opportunity(context, group) for group in context.groups(chosen)]


def _opportunity(context: PlanContext, group: Group) -> Opportunity:
    meeting = _meetings(context, group.cause_rows) if context.has_waves else None
    skew = ""
    if meeting is not None:
        late = context.analysis.waves.label(meeting.late_wave)
        skew = (
            f"; in {meeting.meetings:,} meetings the last wave comes {meeting.median:,} cycles "
            f"after the first (at most {meeting.largest:,}); {late} is last in "
            f"{meeting.late_share:.0f} %"
        )
    line = context.line_text(group.cause_rows[0])
    return Opportunity(
        pattern="barrier-skew",
        title="waves wait at a barrier for the slowest of them",
        evidence=context.stall_evidence(group) + skew,
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


def _meetings(context: PlanContext, rows: tuple[int, ...]) -> _Meeting | None:
    """What the meetings at some barriers had in common."""
    groups = [group for group in context.meetings if group.row in rows]
    if not groups:
        return None
    late, times = Counter(group.late_wave for group in groups).most_common(1)[0]
    return _Meeting(
        int(median(group.skew for group in groups)),
        max(group.skew for group in groups),
        late,
        100 * times / len(groups),
        len(groups),
    )
