"""Which wave comes late to a barrier, and by how much the others wait for it.

Waves of one workgroup leave a barrier together: barrier executions on one compute unit that end
within a few cycles of each other belong together, as far as each wave is in a group once. Files
before 2026 do not say which waves form a workgroup; where files do, no other wave is in the group.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.source_lines import chain_label
from wavescope.model.capture import Capture, Integers, Rows
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of

_UNKNOWN = -1
RELEASE_CYCLES = 64
"""Waves that leave a barrier further apart than this do not belong to one group."""


class BarrierGroup(NamedTuple):
    """Waves that met at a barrier once."""

    row: int
    waves: tuple[int, ...]
    skew: int
    """Cycles from the first to the last arrival."""
    late_wave: int
    events: tuple[int, ...]
    """The executions of the barrier, by wave as in `waves`."""
    late_event: int


def barrier_groups(analysis: CaptureAnalysis) -> list[BarrierGroup]:
    """Every meeting of at least two traced waves, by compute unit and time."""
    waves = analysis.waves
    barrier_rows = _waiting_barriers(analysis)
    events = np.flatnonzero(np.append(barrier_rows, False)[waves.row])
    if not len(events):
        return []
    wave = waves.wave_of_event[events]
    release = waves.time[events] + waves.stall[events]
    unit = (waves.shader_engine[wave].astype(np.int64) << 32) + waves.cu[wave]
    workgroup = workgroup_of_wave(analysis.capture)[wave]
    order = np.lexsort((release, workgroup, waves.row[events], unit))
    events, wave, release, unit = events[order], wave[order], release[order], unit[order]
    workgroup = workgroup[order]
    row = waves.row[events]
    is_new = np.concatenate(
        [
            [True],
            (unit[1:] != unit[:-1])
            | (row[1:] != row[:-1])
            | (workgroup[1:] != workgroup[:-1])
            | (release[1:] - release[:-1] > RELEASE_CYCLES),
        ]
    )
    bounds = np.append(np.flatnonzero(is_new), len(events))
    is_meeting = np.diff(bounds) > 1
    groups: list[BarrierGroup] = []
    for first, last in zip(
        bounds[:-1][is_meeting].tolist(), bounds[1:][is_meeting].tolist(), strict=True
    ):
        groups += _groups_of(analysis, events[first:last], wave[first:last])
    return groups


def _waiting_barriers(analysis: CaptureAnalysis) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Rows at which waves wait for each other: on gfx12 only the wait half of a split barrier."""
    instructions = analysis.instructions
    is_wait = np.array(
        [
            mnemonic == "s_barrier" or mnemonic.startswith("s_barrier_wait")
            for mnemonic in instructions.mnemonics
        ]
        or [False],
        np.bool_,
    )
    if not len(instructions):
        return np.empty(0, np.bool_)
    return is_wait[instructions.mnemonic_code]


def _groups_of(analysis: CaptureAnalysis, events: Integers, wave: Rows) -> list[BarrierGroup]:
    """One group, or several where a wave comes twice; groups of one wave are left out."""
    parts: list[list[int]] = [[]]
    seen: set[int] = set()
    for place, number in enumerate(wave.tolist()):
        if number in seen:
            parts.append([])
            seen.clear()
        parts[-1].append(place)
        seen.add(number)
    found = []
    for part in parts:
        if len(part) < 2:
            continue
        arrival = analysis.waves.time[events[part]]
        late = int(arrival.argmax())
        found.append(
            BarrierGroup(
                int(analysis.waves.row[events[part[0]]]),
                tuple(int(wave[place]) for place in part),
                int(arrival.max() - arrival.min()),
                int(wave[part[late]]),
                tuple(int(events[place]) for place in part),
                int(events[part[late]]),
            )
        )
    return found


def barrier_table(analysis: CaptureAnalysis) -> ResultTable | None:
    """Barriers by the stall of their waves; None where no two traced waves met."""
    by_row: dict[int, list[BarrierGroup]] = {}
    for group in barrier_groups(analysis):
        by_row.setdefault(group.row, []).append(group)
    if not by_row:
        return None
    instructions, waves = analysis.instructions, analysis.waves
    meetings = [_Meetings(row, groups) for row, groups in by_row.items()]
    meetings.sort(key=lambda each: -int(instructions.stall[each.row]))
    columns: list[ColumnOf[_Meetings]] = [
        ResultColumn("barrier", "Barrier").of(lambda each: instructions.text[each.row]),
        ResultColumn("source", "Source").of(
            lambda each: chain_label(instructions.frames_of(each.row))
        ),
        ResultColumn("groups", "Times", Unit.COUNT, "groups of waves that met there").of(
            lambda each: len(each.groups)
        ),
        ResultColumn("waves", "Waves", Unit.NONE, "mean of a group").of(
            lambda each: sum(len(group.waves) for group in each.groups) / len(each.groups)
        ),
        ResultColumn("mean_skew", "Mean skew", Unit.NONE, "cycles from first to last arrival").of(
            lambda each: sum(group.skew for group in each.groups) / len(each.groups)
        ),
        ResultColumn("largest_skew", "Largest", Unit.COUNT).of(
            lambda each: max(group.skew for group in each.groups)
        ),
        ResultColumn("stall", "Stall", Unit.COUNT, "of all waves at this barrier").of(
            lambda each: int(instructions.stall[each.row])
        ),
        ResultColumn("late_wave", "Most often last").of(
            lambda each: waves.label(each.most_often_last[0])
        ),
        ResultColumn("late_percent", "Last in", Unit.PERCENT, "of the groups").of(
            lambda each: 100 * each.most_often_last[1] / len(each.groups)
        ),
        ResultColumn("row", "Row", Unit.NONE).of(lambda each: each.row),
    ]
    return table_of("barrier_skew", "Barriers: who comes late", columns, meetings)


class _Meetings(NamedTuple):
    """All meetings at one barrier."""

    row: int
    groups: list[BarrierGroup]

    @property
    def most_often_last(self) -> tuple[int, int]:
        """The wave that is, and how often."""
        return Counter(group.late_wave for group in self.groups).most_common(1)[0]


def workgroup_of_wave(capture: Capture) -> Integers:
    """By wave the workgroup that its slot held when it began, -1 where the files do not tell."""
    waves, rows = capture.waves, capture.occupancy
    if not len(waves) or not (rows.workgroup >= 0).any():
        return np.full(len(waves), _UNKNOWN, np.int64)
    places = np.concatenate(
        [
            np.stack([each.shader_engine, each.cu, each.simd, each.slot], axis=1)
            for each in (rows, waves)
        ]
    )
    _, place = np.unique(places, axis=0, return_inverse=True)
    place = place.reshape(-1)
    time = np.concatenate([rows.time, waves.begin])
    kind = np.concatenate([rows.is_start.astype(np.int8), np.full(len(waves), 2, np.int8)])
    held = np.concatenate(
        [np.where(rows.is_start, rows.workgroup, _UNKNOWN), np.full(len(waves), _UNKNOWN)]
    )
    order = np.lexsort((kind, time, place))  # of one time: an end, the next start, the wave
    is_row = kind[order] < 2
    last = np.maximum.accumulate(np.where(is_row, np.arange(len(order)), -1))
    before = order[np.maximum(last, 0)]
    known = (last >= 0) & (place[before] == place[order])
    found = np.empty(len(order), np.int64)
    found[order] = np.where(known, held[before], _UNKNOWN)
    return found[len(rows) :]
