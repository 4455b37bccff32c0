"""Reads the tables that rocm-trace-lite and rocmProfileData have in common.

Both keep ops in `rocpd_op`, host calls in `rocpd_api` and what links them in `rocpd_api_ops`, with
the column names that wavescope's own file uses; what differs is for the two readers to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wavescope.errors import UnreadableInputError
from wavescope.formats.sqlite.lookup import StringCodes, Texts, ValueByKey, texts_of
from wavescope.formats.sqlite.rows import Field, ForeignSqliteSource, Given, Reading, TableReader
from wavescope.formats.sqlite.sqlite_open import sqlite_errors
from wavescope.model.columns import (
    CALLS,
    COPIES,
    LAUNCHES,
    LINKS,
    METADATA,
    MONITORS,
    PROCESSES,
    Table,
)

OP_TABLE, CALL_TABLE, STRING_TABLE = "rocpd_op", "rocpd_api", "rocpd_string"


class RocpdDialectSource(ForeignSqliteSource):
    """A file with ops in `rocpd_op` and calls in `rocpd_api`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.database.require_tables("rocpd_")
        if not (self.has_table(OP_TABLE) or self.has_table(CALL_TABLE)):
            self.close()
            raise UnreadableInputError(path, f"it has neither {OP_TABLE} nor {CALL_TABLE}")
        self._dangling = np.empty(0, np.int64)

    @cached_property
    def codes(self) -> StringCodes:
        """Codes of the ids of `rocpd_string`."""
        return StringCodes(self.texts_in(STRING_TABLE), self.strings)

    @cached_property
    def argument_texts(self) -> Texts | None:
        """Where the arguments of calls are."""
        return self.codes.texts

    @cached_property
    def pids(self) -> Sequence[int]:
        """The processes of the trace."""
        return [int(pid) for pid in self.distinct_pids()]

    @cached_property
    def processes(self) -> ValueByKey:
        """The number of each process by its pid."""
        return ValueByKey.of({pid: number for number, pid in enumerate(self.pids)})

    @property
    def only_process(self) -> int:
        """The number of the process when there is one, else unknown."""
        return 0 if len(self.pids) == 1 else -1

    @property
    def states_schema_version(self) -> bool:
        """Whether the metadata names a schema version, which only rocmProfileData does."""
        return bool(self.metadata_values("schema_version"))

    def metadata_values(self, tag: str) -> list[str]:
        """The values that the metadata has for `tag`."""
        with sqlite_errors(self.path):
            if not all(self.has_column("rocpd_metadata", name) for name in ("tag", "value")):
                return []
            rows = self.connection.execute(
                "SELECT value FROM main.rocpd_metadata WHERE tag = ?", (tag,)
            )
            return [str(value) for (value,) in rows]

    def readers(self) -> Mapping[str, TableReader]:
        """The tables that both formats fill alike."""
        return {
            CALLS.name: self.read_calls,
            LINKS.name: partial(self.read_declared, LINKS),
            LAUNCHES.name: partial(self.read_declared, LAUNCHES),
            COPIES.name: partial(self.read_declared, COPIES),
            MONITORS.name: partial(self.read_declared, MONITORS),
            METADATA.name: partial(self.read_declared, METADATA),
            PROCESSES.name: lambda _: [self._process_rows()],
        }

    def row_count(self, table: Table) -> int:
        """At least as many as there are rows, and as the largest id says."""
        if table is PROCESSES:
            with sqlite_errors(self.path):
                return len(self.pids)
        file_table, key = table.keys[0]
        if table.name not in self.readers() or not self.has_table(file_table):
            return 0
        return self.largest_id(file_table, "rowid" if table in (LAUNCHES, COPIES) else key)

    def texts(self, handles: npt.NDArray[np.int64]) -> list[str]:
        """The texts whose ids are `handles`."""
        with sqlite_errors(self.path):
            texts, dangling = texts_of(self.argument_texts, handles)
        if len(dangling):
            self._dangling = np.union1d(self._dangling, dangling)
            self.notes.set("arguments are not in the file: shown as empty", len(self._dangling))
        self.note_damaged_texts()
        return texts

    def read_calls(self, reading: Reading) -> Iterator[Given]:
        """The rows of `rocpd_api`."""
        if not self.has_table(CALL_TABLE):
            return
        asked = reading.of(*reading.wanted, "pid") if reading.wants("process") else reading
        fields = self.declared_fields(CALLS, CALL_TABLE, asked)
        for given in self.timed_rows(CALL_TABLE, fields, reading, self.codes):
            if "pid" in given:
                given["process"] = self.processes.find(given["pid"])
            yield given

    def op_rows(self, table: Table, reading: Reading, **extra: Field) -> Iterator[Given]:
        """The rows of `rocpd_op` with the columns it holds of `table`, and `extra` ones."""
        if not self.has_table(OP_TABLE):
            return
        fields = {**self.declared_fields(table, OP_TABLE, reading), **extra}
        yield from self.timed_rows(OP_TABLE, fields, reading, self.codes)

    def distinct_pids(self) -> npt.NDArray[np.int64]:
        """The pids that calls name, in increasing order."""
        pids = np.empty(0, np.int64)
        if self.has_column(CALL_TABLE, "pid"):
            for given in self.read_rows(CALL_TABLE, {"pid": Field("pid")}, Reading()):
                pids = np.union1d(pids, given["pid"])
        return pids[pids >= 0]

    def read_declared(self, table: Table, reading: Reading) -> Iterator[Given]:
        """The rows of a table that lies in the file just as wavescope declares it."""
        file_table, key = table.keys[0]
        if not self.has_table(file_table):
            return
        fields = self.declared_fields(table, file_table, reading)
        if reading.wants("call") and not self.has_column(file_table, key):
            fields["call"] = Field("api_id")
        if "start_ns" in table.column_names:
            yield from self.timed_rows(file_table, fields, reading, self.codes)
        else:
            yield from self.read_rows(file_table, fields, reading, self.codes)

    def _process_rows(self) -> Given:
        rows = [{"id": number, "pid": pid} for number, pid in enumerate(self.pids)]
        return self.rows_of(PROCESSES, rows)
