"""Reads PC samples as rocprofv3 writes them: one row for each sample of a wave."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from wavescope.errors import UnreadableInputError
from wavescope.load.counters.counter_csv import opened_csv
from wavescope.model.counters import PcSample

_INSTRUCTION = "Instruction"
_SOURCE = "Instruction_Comment"
_ISSUED = "Wave_Issued_Instruction"
_STALL = "Stall_Reason"
_NO_STALL = {"", "0", "NONE", "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_NONE"}
_MOST_PLACES = 1_000_000


class _Place:
    """What was seen at one instruction."""

    __slots__ = ("count", "issued", "reasons")

    def __init__(self) -> None:
        self.count = 0
        self.issued = 0
        self.reasons: Counter[str] = Counter()


def read_pc_samples(path: Path) -> tuple[list[PcSample], list[str]]:
    """How often each instruction was seen, in the order of first appearance, and notes."""
    places: dict[tuple[str, str], _Place] = {}
    with opened_csv(path) as (header, rows):
        if _INSTRUCTION not in header:
            raise UnreadableInputError(path, f"it has no column {_INSTRUCTION}")
        at = {name: index for index, name in enumerate(header)}
        knows_stalls = _ISSUED in at
        for row in rows:
            if len(row) != len(header):
                continue
            source = row[at[_SOURCE]] if _SOURCE in at else ""
            key = (row[at[_INSTRUCTION]], source)
            place = places.get(key)
            if place is None:
                if len(places) >= _MOST_PLACES:
                    return [], [f"{path.name}: more than {_MOST_PLACES} instructions, left out"]
                place = places[key] = _Place()
            place.count += 1
            if knows_stalls:
                place.issued += row[at[_ISSUED]].strip() in {"1", "True", "true"}
                reason = row[at[_STALL]].strip() if _STALL in at else ""
                if reason not in _NO_STALL:
                    place.reasons[_short(reason)] += 1
    samples = [
        PcSample(
            "",
            offset,
            instruction,
            source,
            place.count,
            place.issued if knows_stalls else None,
            place.count - place.issued if knows_stalls else None,
            tuple(place.reasons.most_common()),
        )
        for offset, ((instruction, source), place) in enumerate(places.items())
    ]
    return samples, []


def _short(reason: str) -> str:
    return reason.rpartition("REASON_")[2].lower() or reason
