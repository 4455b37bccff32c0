"""Which wave comes late to a barrier, and by how much the others wait for it.

Waves of one workgroup leave a barrier together: barrier executions on one compute unit that end
within a few cycles of each other belong together, as far as each wave is in a group once. Files
before 2026 do not say which waves form a workgroup; where files do, no other wave is in the group.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.source_lines import chain_label
from wavescope.analyze.capture.workgroups import workgroup_of_wave
from wavescope.model.capture import Integers, Rows
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value

RELEASE_CYCLES = 64
"""Waves that leave a barrier further apart than this do not belong to one group."""
_COLUMNS = (
    ResultColumn("barrier", "Barrier"),
    ResultColumn("source", "Source"),
    ResultColumn("groups", "Times", Unit.COUNT, "groups of waves that met there"),
    ResultColumn("waves", "Waves", Unit.NONE, "mean of a group"),
    ResultColumn("mean_skew", "Mean skew", Unit.NONE, "cycles from first to last arrival"),
    ResultColumn("largest_skew", "Largest", Unit.COUNT),
    ResultColumn("stall", "Stall", Unit.COUNT, "of all waves at this barrier"),
    ResultColumn("late_wave", "Most often last"),
    ResultColumn("late_percent", "Last in", Unit.PERCENT, "of the groups"),
    ResultColumn("row", "Row", Unit.NONE),
)


class BarrierGroup(NamedTuple):
    """Waves that met at a barrier once."""

    row: int
    waves: tuple[int, ...]
    skew: int
    """Cycles from the first to the last arrival."""
    late_wave: int


def barrier_groups(decoded: DecodedTrace) -> list[BarrierGroup]:
    """Every meeting of at least two traced waves, by compute unit and time."""
    waves = decoded.waves
    barrier_rows = _waiting_barriers(decoded)
    events = np.flatnonzero(np.append(barrier_rows, False)[waves.row])
    if not len(events):
        return []
    wave = waves.wave_of_event[events]
    release = waves.time[events] + waves.stall[events]
    unit = (waves.shader_engine[wave].astype(np.int64) << 32) + waves.cu[wave]
    workgroup = workgroup_of_wave(decoded.trace)[wave]
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
    bounds = [*np.flatnonzero(is_new).tolist(), len(events)]
    groups: list[BarrierGroup] = []
    for first, last in pairwise(bounds):
        groups += _groups_of(decoded, events[first:last], wave[first:last])
    return groups


def _waiting_barriers(decoded: DecodedTrace) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Rows at which waves wait for each other: on gfx12 only the wait half of a split barrier."""
    instructions = decoded.instructions
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


def _groups_of(decoded: DecodedTrace, events: Integers, wave: Rows) -> list[BarrierGroup]:
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
        arrival = decoded.waves.time[events[part]]
        late = int(arrival.argmax())
        found.append(
            BarrierGroup(
                int(decoded.waves.row[events[part[0]]]),
                tuple(int(wave[place]) for place in part),
                int(arrival.max() - arrival.min()),
                int(wave[part[late]]),
            )
        )
    return found


def barrier_table(decoded: DecodedTrace) -> ResultTable | None:
    """Barriers by the stall of their waves; None where no two traced waves met."""
    by_row: dict[int, list[BarrierGroup]] = {}
    for group in barrier_groups(decoded):
        by_row.setdefault(group.row, []).append(group)
    if not by_row:
        return None
    rows = [_row(decoded, row, groups) for row, groups in by_row.items()]
    rows.sort(key=lambda row: -int(row[6] or 0))
    return ResultTable("barrier_skew", "Barriers: who comes late", _COLUMNS, rows)


def _row(decoded: DecodedTrace, row: int, groups: list[BarrierGroup]) -> tuple[Value, ...]:
    late, times = Counter(group.late_wave for group in groups).most_common(1)[0]
    instructions = decoded.instructions
    return (
        instructions.text[row],
        chain_label(instructions.frames_of(row)),
        len(groups),
        sum(len(group.waves) for group in groups) / len(groups),
        sum(group.skew for group in groups) / len(groups),
        max(group.skew for group in groups),
        int(instructions.stall[row]),
        decoded.waves.label(late),
        100 * times / len(groups),
        row,
    )
