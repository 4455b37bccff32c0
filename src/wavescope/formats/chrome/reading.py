"""What all parts of a Chrome JSON import share: the tables being read and the trace being built."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wavescope.arrays.array_types import Array
from wavescope.formats.chrome.categories import ROLES, Role, api_of_call, launch_preference
from wavescope.formats.chrome.event_batch import EventRows, EventTables
from wavescope.formats.chrome.processes import KeyNumbers, MetadataNames, Processes, Writer
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import UNKNOWN
from wavescope.model.notes import Notes

_KINETO_MEMBERS = frozenset({"schemaVersion", "deviceProperties"})
_INT64_LIMIT = 1 << 63


class TextCodes:
    """What the codes of texts mean, as arrays by code; index -1 stands for no text."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._strings = builder.strings
        self.strings: npt.NDArray[np.int32] = np.array([UNKNOWN], np.int32)
        """Codes of the trace's own string table."""
        self.roles: npt.NDArray[np.int8] = np.array([Role.BY_PROCESS], np.int8)
        self.preferences: npt.NDArray[np.int8] = np.array([launch_preference("")], np.int8)
        self.domains: npt.NDArray[np.int32] = np.array([UNKNOWN], np.int32)

    def extend(self, texts: Sequence[str]) -> None:
        """Bring the arrays up to `texts`."""
        new = texts[len(self.strings) - 1 :]
        if new:
            self.strings = _inserted(self.strings, self._strings.codes(new))
            self.roles = _inserted(self.roles, [ROLES.get(text, Role.BY_PROCESS) for text in new])
            self.preferences = _inserted(self.preferences, list(map(launch_preference, new)))
            self.domains = _inserted(self.domains, list(map(self._domain_code, new)))

    def _domain_code(self, call: str) -> int:
        domain = api_of_call(call)
        return self._strings.code(domain) if domain else UNKNOWN


class Reading:
    """One import: input tables, output builder, and what codes of the input mean so far."""

    def __init__(self, path: Path, tables: EventTables, builder: TraceBuilder) -> None:
        self.path = path
        self.tables = tables
        self.builder = builder
        self.texts = TextCodes(builder)
        self.names = MetadataNames()
        self.processes = Processes(self.names)
        self.base_ns = 0
        """To be added to the times of our own exports, which are relative to their first event."""
        self._numbers = KeyNumbers()
        self._gpus: npt.NDArray[np.int64] = np.array([UNKNOWN], np.int64)

    @property
    def writer(self) -> Writer:
        """Which tool wrote the file, as far as its head tells."""
        return self.processes.writer

    @property
    def notes(self) -> Notes:
        return self.builder.notes

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """Process and thread numbers by key code."""
        return self._numbers.extend(self.tables.keys)

    @property
    def gpus(self) -> npt.NDArray[np.int64]:
        """The GPU each process key is named after, by key code; UNKNOWN for host processes."""
        if not self.names.is_complete and self.writer is not Writer.WAVESCOPE:
            # In other files than our own, names may come after the events they explain.
            self.names.read_all(self.path)
        new = self.tables.keys[len(self._gpus) - 1 :]
        if new:
            self._gpus = _inserted(self._gpus, list(map(self.names.gpu, new)))
        return self._gpus

    def update(self) -> None:
        """Follow the tables, which have grown by a batch."""
        self.texts.extend(self.tables.texts)
        metadata = self.tables.metadata
        if not _KINETO_MEMBERS.isdisjoint(metadata):
            self.processes.writer = Writer.KINETO
        elif metadata.get("generator", "").startswith('"wavescope '):
            self.processes.writer = Writer.WAVESCOPE
            self.base_ns = _integer(metadata.get("baseTimeNanoseconds", "0"))

    def times(self, rows: EventRows) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Starts and ends of `rows`; ends that lie before the start are moved to it, and noted."""
        start_ns = rows["start_ns"] + self.base_ns
        end_ns = start_ns + rows["duration_ns"]
        is_reversed = end_ns < start_ns
        if is_reversed.any():
            self.notes.add(
                "events ended before they began: their end is set to the start", is_reversed.sum()
            )
            end_ns = np.maximum(start_ns, end_ns)
        return start_ns, end_ns


def _inserted(table: npt.NDArray[np.integer], added: Sequence[int] | Array) -> Array:
    """`table` with `added` before its last element."""
    return np.concatenate((table[:-1], np.asarray(added, table.dtype), table[-1:]))


def _integer(text: str) -> int:
    try:
        value = json.loads(text)
    except ValueError:
        return 0
    return value if isinstance(value, int) and abs(value) < _INT64_LIMIT else 0
