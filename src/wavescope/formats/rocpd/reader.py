"""Reads rocpd files of rocprofiler-sdk, schema 3: one set of tables for each recorded process.

Ids are unique within a process only. In the trace the rows of all processes follow one another:
ids of each are shifted behind those of the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wavescope.errors import UnreadableInputError
from wavescope.formats.rocpd.ops import read_copies, read_counters, read_dispatches, read_links
from wavescope.formats.rocpd.part import (
    ALLOCATIONS,
    CODE_OBJECTS,
    COUNTER_VALUES,
    DISPATCHES,
    KERNEL_SYMBOLS,
    MEMORY_COPIES,
    METADATA_VALUES,
    QUEUE_NAMES,
    REGIONS,
    SAMPLES,
    THREAD_NAMES,
    Part,
    number_gpus,
    text,
    whole,
)
from wavescope.formats.rocpd.regions import (
    Arguments,
    read_allocations,
    read_calls,
    read_marks,
    read_ranges,
)
from wavescope.formats.rocprofv3 import plain_kernel_name, shown_kernel_name
from wavescope.formats.sqlite.rows import ForeignSqliteSource, Given, Reading, TableReader
from wavescope.formats.sqlite.sqlite_open import sqlite_errors
from wavescope.model.columns import (
    AGENTS,
    CALLS,
    COUNTERS,
    KERNELS,
    LINKS,
    MARKERS,
    METADATA,
    OPS,
    PROCESSES,
    QUEUES,
    THREADS,
    Table,
)

PartReader = Callable[[Part, Reading], Iterator[Given]]

_MADE_OF = {
    OPS.name: (DISPATCHES, MEMORY_COPIES),
    CALLS.name: (REGIONS, ALLOCATIONS),
    MARKERS.name: (REGIONS, SAMPLES),
    KERNELS.name: (KERNEL_SYMBOLS,),
}
"""Tables whose ids are shifted, with the file's tables that each is made of, in order."""
_KERNEL_NUMBERS = {
    "vgprs": "arch_vgpr_count",
    "agprs": "accum_vgpr_count",
    "sgprs": "sgpr_count",
    "lds_bytes": "group_segment_size",
    "scratch_bytes": "private_segment_size",
    "kernarg_bytes": "kernarg_segment_size",
}
_LARGEST_ID = 2**62
_KNOWN_SCHEMA = "3"


class RocpdSource(ForeignSqliteSource):
    """A rocpd file of rocprofiler-sdk."""

    format = "rocpd"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            with sqlite_errors(path):
                self._parts = self._found_parts()
                self._agents = number_gpus(self._parts)
                self._note_newer_schema()
        except UnreadableInputError:
            super().close()
            raise

    def close(self) -> None:
        for part in self._parts:
            part.close()
        super().close()

    def readers(self) -> Mapping[str, TableReader]:
        """Where each table's rows come from."""
        return {
            OPS.name: partial(self._read_each, _read_ops),
            CALLS.name: partial(self._read_each, _read_calls),
            MARKERS.name: partial(self._read_each, _read_markers),
            KERNELS.name: lambda _: map(self._kernel_rows, self._parts),
            LINKS.name: partial(self._read_each, read_links),
            COUNTERS.name: partial(self._read_each, read_counters),
            PROCESSES.name: lambda _: [self.rows_of(PROCESSES, self._process_rows())],
            THREADS.name: lambda _: map(self._thread_rows, self._parts),
            AGENTS.name: lambda _: [self.rows_of(AGENTS, self._agents)],
            QUEUES.name: lambda _: map(self._queue_rows, self._parts),
            METADATA.name: lambda _: map(self._metadata_rows, self._parts),
        }

    def row_count(self, table: Table) -> int:
        """At least as many as there are rows, and as the largest id says."""
        if table.name in _MADE_OF:
            return self._largest_ids[table.name]
        if table is LINKS:
            return self._largest_ids[OPS.name]
        if table is PROCESSES:
            return sum(len(part.processes) for part in self._parts)
        if table is AGENTS:
            return len(self._agents)
        per_part = {
            COUNTERS.name: COUNTER_VALUES,
            THREADS.name: THREAD_NAMES,
            QUEUES.name: QUEUE_NAMES,
            METADATA.name: METADATA_VALUES,
        }.get(table.name)
        if per_part is None:
            return 0
        with sqlite_errors(self.path):
            rows = sum(self.count_rows(part.table(per_part)) for part in self._parts)
        return rows * max(1, len(self._agents)) if table is QUEUES else rows

    def texts(self, handles: npt.NDArray[np.int64]) -> list[str]:
        """The arguments of calls; a handle is the id of its call."""
        found: dict[int, str] = {}
        asked = np.unique(handles[handles >= 0])
        with sqlite_errors(self.path):
            for part, arguments in zip(self._parts, self._arguments, strict=True):
                for table, texts_by_id in (
                    (REGIONS, arguments.of_calls),
                    (ALLOCATIONS, arguments.of_allocations),
                ):
                    first = part.first_id[CALLS.name, table]
                    inside = (asked > first) & (asked <= first + self.largest_id(part.table(table)))
                    if inside.any():
                        own = texts_by_id(asked[inside] - first)
                        found.update({own_id + first: words for own_id, words in own.items()})
        return [found.get(handle, "") for handle in handles.tolist()]

    @cached_property
    def _arguments(self) -> list[Arguments]:
        return [Arguments(part) for part in self._parts]

    def _found_parts(self) -> list[Part]:
        """The parts by suffix, which begins with the time when the process started."""
        suffixes = sorted(
            name.removeprefix(DISPATCHES)
            for name in self.file_tables
            if name.startswith(DISPATCHES)
        )
        if not suffixes:
            raise UnreadableInputError(self.path, f"it has no table {DISPATCHES}")
        parts: list[Part] = []
        self._largest_ids = dict.fromkeys(_MADE_OF, 0)
        next_process = next_queue = 0
        for suffix in suffixes:
            self.database.require_tables("rocpd_", suffix)
            part = Part(self, suffix, next_process)
            part.first_queue = next_queue
            for name, file_tables in _MADE_OF.items():
                for file_table in file_tables:
                    part.first_id[name, file_table] = self._largest_ids[name]
                    self._largest_ids[name] += self.largest_id(part.table(file_table))
            next_process += len(part.processes)
            next_queue += self.largest_id(part.table(QUEUE_NAMES)) + 1
            parts.append(part)
        if max(next_queue, *self._largest_ids.values()) > _LARGEST_ID:
            raise UnreadableInputError(self.path, "its row ids are too large to be real")
        return parts

    def _note_newer_schema(self) -> None:
        for part in self._parts:
            for tag, version in part.rows(METADATA_VALUES, "tag", "value"):
                if tag == "schema_version" and text(version).partition(".")[0] != _KNOWN_SCHEMA:
                    self.notes.set(
                        f"schema {text(version)} is not known: columns may be missing", 1
                    )

    def _read_each(self, reader: PartReader, reading: Reading) -> Iterator[Given]:
        for part in self._parts:
            yield from reader(part, reading)

    def _process_rows(self) -> list[dict[str, int | str]]:
        return [row for part in self._parts for _, row in part.processes]

    def _thread_rows(self, part: Part) -> Given:
        """Threads that have a name."""
        rows: list[dict[str, int | str]] = [
            {"process": part.process_number(pid), "thread": whole(tid), "name": text(name)}
            for pid, tid, name in part.rows(THREAD_NAMES, "pid", "tid", "name")
            if name
        ]
        return self.rows_of(THREADS, rows)

    def _queue_rows(self, part: Part) -> Given:
        """The name of each queue on each GPU where it was used."""
        names = {
            whole(own_id) + part.first_queue: text(name)
            for own_id, name in part.rows(QUEUE_NAMES, "id", "name")
            if name
        }
        used: set[tuple[int, int]] = set()
        for given in _read_ops(part, Reading().of("gpu", "queue")):
            for queue in np.unique(given["queue"]).tolist():
                gpus = np.unique(given["gpu"][given["queue"] == queue]).tolist()
                used.update((gpu, queue) for gpu in gpus)
        rows: list[dict[str, int | str]] = [
            {"gpu": gpu, "queue": queue, "name": names[queue]}
            for gpu, queue in sorted(used)
            if queue in names
        ]
        return self.rows_of(QUEUES, rows)

    def _kernel_rows(self, part: Part) -> Given:
        code_objects = {
            whole(own_id): text(uri) for own_id, uri in part.rows(CODE_OBJECTS, "id", "uri")
        }
        first_id = part.first_id[KERNELS.name, KERNEL_SYMBOLS]
        rows: list[dict[str, int | str]] = []
        for own_id, pid, shown, symbol, code_object, *numbers in part.rows(
            KERNEL_SYMBOLS,
            "id",
            "pid",
            "display_name",
            "kernel_name",
            "code_object_id",
            *_KERNEL_NUMBERS.values(),
        ):
            mangled = plain_kernel_name(text(symbol))
            rows.append(
                {
                    "id": whole(own_id) + first_id,
                    "process": part.process_number(pid),
                    "name": shown_kernel_name(text(shown) or mangled),
                    "mangled": mangled,
                    "code_object": code_objects.get(whole(code_object), ""),
                    **dict(zip(_KERNEL_NUMBERS, map(whole, numbers), strict=True)),
                }
            )
        return self.rows_of(KERNELS, rows)

    def _metadata_rows(self, part: Part) -> Given:
        rows = part.rows(METADATA_VALUES, "tag", "value")
        return self.rows_of(METADATA, [{"tag": text(tag), "value": text(v)} for tag, v in rows])


def _read_ops(part: Part, reading: Reading) -> Iterator[Given]:
    yield from read_dispatches(part, reading)
    yield from read_copies(part, reading)


def _read_calls(part: Part, reading: Reading) -> Iterator[Given]:
    yield from read_calls(part, reading)
    yield from read_allocations(part, reading)


def _read_markers(part: Part, reading: Reading) -> Iterator[Given]:
    yield from read_ranges(part, reading)
    yield from read_marks(part, reading)
