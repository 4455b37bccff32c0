"""What our own exports of rocprofv3 JSON say beyond what rocprofv3 has members for.

A member `wavescope` beside the root holds small tables, with the processes in the order of their
entries; the metadata of an entry, kinds of calls and texts of markers have one, too. Other readers
pass over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.carried_tables import (
    CarriedTables,
    carried_pieces,
    fact_columns,
    joined_pieces,
)
from wavescope.formats.numbered_markers import payload_bits
from wavescope.formats.rocprofv3.json_names import json_text
from wavescope.formats.rocprofv3.kinds import OWN_MEMBER
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import (
    COVERAGE,
    MARKER_INSTANT,
    MARKER_UNCLOSED,
    METADATA,
    MONITORS,
    QUEUES,
    SLICES,
    THREADS,
    UNKNOWN,
)
from wavescope.model.source import Batch, TraceSource
from wavescope.model.strings import StringTable

_LARGEST = 1 << 62
TABLES = (THREADS, QUEUES, MONITORS, COVERAGE, SLICES, METADATA)
"""What rocprofv3 JSON has no place for; processes, agents and kernels are entries of their own."""


def member_text(source: TraceSource, process_ids: Sequence[int]) -> str:
    """The member beside the root; `process_ids` are those of the entries, in order."""
    tables = joined_pieces(carried_pieces(source, TABLES))
    notes = {METADATA.name: fact_columns(source.notes.facts())}
    return json_text({"process_ids": list(process_ids), "tables": [*tables, notes]})


def take_member(builder: TraceBuilder, member: object) -> None:
    """Take in the tables of a member; what is wrong with it is noted."""
    stated = member if isinstance(member, dict) else {}
    carried = CarriedTables(builder, TABLES)
    ids = stated.get("process_ids")
    for entry, number in enumerate(ids if isinstance(ids, list) else []):
        if type(number) is int:
            carried.process_ids.setdefault(number, entry)
    pieces = stated.get("tables")
    for piece in pieces if isinstance(pieces, list) else [None]:
        carried.take(piece)


_MARKER_TEXTS = ("type", "category", "domain", "subcategory")


def marker_facts(source: TraceSource, batch: Batch) -> list[str]:
    """What is known of each marker besides its text and times, as a member of an object."""
    numbers = [batch[name].tolist() for name in ("flags", "process", "thread", "payload")]
    texts = [source.strings.decode(batch[name]) for name in _MARKER_TEXTS]
    rows = zip(*numbers, zip(*texts, strict=True), strict=True)
    return [f',"{OWN_MEMBER}":{json_text(_marker_fact(*row))}' for row in rows]


def _marker_fact(
    flags: int, process: int, thread: int, payload: float, texts: Sequence[str]
) -> dict[str, Any]:
    facts: dict[str, Any] = {"flags": flags}
    facts |= {name: text for name, text in zip(_MARKER_TEXTS, texts, strict=True) if text}
    if process < 0:
        facts["process"] = UNKNOWN
    if thread < UNKNOWN:  # a record has none such
        facts["thread"] = thread
    if payload == payload:  # noqa: PLR0124  a number
        facts["payload"] = repr(payload)
    return facts


class MarkerFacts:
    """What our own exports say of markers, by correlation id."""

    def __init__(self, strings: StringTable) -> None:
        self._strings = strings
        self._facts: dict[int, dict[str, Any]] = {}

    def add(self, keys: Sequence[int], facts: Sequence[object]) -> None:
        """Take in what stands beside texts; whatever is no object says nothing."""
        for key, fact in zip(keys, facts, strict=True):
            if isinstance(fact, dict):
                self._facts[key] = fact

    def columns(self, keys: Array, process: int, threads: Array) -> dict[str, Array]:
        """Columns of markers of `process`; none where nothing was stated."""
        stated = [self._facts.get(key, {}) for key in keys.tolist()]
        if not any(stated):
            return {}
        columns: dict[str, Array] = {
            name: self._strings.codes([_text(each.get(name)) for each in stated])
            for name in _MARKER_TEXTS
        }
        flags = [each.get("flags") for each in stated]
        known = MARKER_INSTANT | MARKER_UNCLOSED
        columns["flags"] = np.array([flag & known if type(flag) is int else 0 for flag in flags])
        bits = [payload_bits(_text(each.get("payload"))) for each in stated]
        columns["payload"] = np.array(bits, np.int64).view(np.float64)
        unknown = np.array([each.get("process") == UNKNOWN for each in stated], bool)
        columns["process"] = np.where(unknown, UNKNOWN, process)
        given = [each.get("thread") for each in stated]
        usable = [type(each) is int and -_LARGEST <= each < UNKNOWN for each in given]
        made_up = np.array(
            [each if ok else UNKNOWN for each, ok in zip(given, usable, strict=True)]
        )
        columns["thread"] = np.where(usable, made_up, threads)
        return columns


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
