"""Host calls and markers among Chrome trace events."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.formats.chrome.categories import Role
from wavescope.formats.chrome.json_objects import json_object
from wavescope.formats.chrome.lanes import Writer
from wavescope.formats.chrome.links import KeyedLinks, OpCauses
from wavescope.formats.chrome.reading import Reading
from wavescope.formats.chrome.rows import EventRows
from wavescope.model.columns import CALLS, MARKERS, UNKNOWN
from wavescope.model.op_kinds import MARKER_TYPE

_UNSTATED_CATEGORY = "call"
"""What our own exporter writes for calls without a category."""


class HostRows:
    """Adds calls and markers to the trace that is being built."""

    def __init__(self, reading: Reading, links: KeyedLinks) -> None:
        self._reading = reading
        self._links = links

    def add_calls(self, rows: EventRows) -> range:
        """Events as calls with their args; the ids they got."""
        if not len(rows):
            return range(0)
        reading, texts = self._reading, self._reading.texts
        category, numbers = rows["category"], reading.numbers
        launching = texts.roles[category] == Role.LAUNCH_CALL
        start_ns, end_ns = reading.times(rows)
        columns: dict[str, Array] = {
            "pid": numbers[rows["process"]],
            "thread": numbers[rows["thread"]],
            "start_ns": start_ns,
            "end_ns": end_ns,
            "name": texts.strings[rows["name"]],
            "category": texts.strings[category],
            "domain": np.where(launching, texts.domains[rows["name"]], UNKNOWN),
            "args": rows.args,
            "process": reading.processes.ids(reading.tables.keys, rows["process"]),
            "correlation": rows["correlation"],
            "stream": rows["stream"],
        }
        if reading.writer is Writer.WAVESCOPE:
            columns |= self._as_before_export(columns["category"], rows.args)
        ids = reading.builder.add(CALLS, columns)
        numbered = np.arange(ids.start, ids.stop, dtype=np.int32)
        causes = OpCauses(numbered, *(rows[name] for name in ("name", "process", "thread")))
        self._links.add_calls(rows["correlation"], texts.preferences[category], causes)
        return ids

    def _as_before_export(
        self, category: npt.NDArray[np.int32], args: npt.NDArray[np.int64]
    ) -> dict[str, Array]:
        """Category, domain and args as they were in the trace that our exporter wrote."""
        builder = self._reading.builder
        strings = builder.strings
        domains: list[int] = []
        texts: list[bytes] = []
        for each in map(json_object, builder.texts(args)):
            domain = str(each.get("domain", ""))
            domains.append(strings.code(domain) if domain else UNKNOWN)
            texts.append(str(each.get("args", "")).encode("utf-8", "replace"))
        unstated = category == strings.find(_UNSTATED_CATEGORY)
        return {
            "category": np.where(unstated, UNKNOWN, category),
            "domain": np.array(domains, np.int32),
            "args": builder.add_texts(texts),
        }

    def add_markers(self, rows: EventRows, flags: int) -> None:
        """Events as markers, all with the given flags."""
        if not len(rows):
            return
        reading, texts = self._reading, self._reading.texts
        # A marker drawn over GPU work is on a stream, not on a thread.
        on_gpu = texts.roles[rows["category"]] == Role.GPU_MARKER
        host_process = np.where(on_gpu, UNKNOWN, rows["process"]).astype(np.int32)
        process = reading.processes.ids(reading.tables.keys, host_process)
        start_ns, end_ns = reading.times(rows)
        columns: dict[str, Array] = {
            "start_ns": start_ns,
            "end_ns": end_ns,
            "name": texts.strings[rows["name"]],
            "type": np.full(len(rows), reading.builder.strings.code(MARKER_TYPE), np.int32),
            "category": texts.strings[rows["category"]],
            "process": np.where(on_gpu, 0, process),
            "thread": np.where(on_gpu, UNKNOWN, reading.numbers[rows["thread"]]),
            "flags": np.full(len(rows), flags, np.int32),
        }
        reading.builder.add(MARKERS, columns)
