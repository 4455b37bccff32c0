"""Reads traces of rocmProfileData, schema versions 2 and 3.

Markers are rows of `rocpd_api` named UserMarker with their text as arguments. Every recording
process numbers its rows from a multiple of 2^32 on, so ids are sparse but tell whose an op is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wavescope.formats.rpd.carried_columns import CarriedColumns, carried_columns
from wavescope.formats.rpd.dialect import CALL_TABLE, RocpdDialectSource
from wavescope.formats.rpd.schema import LAUNCHES_TAG
from wavescope.formats.sqlite.lookup import Texts, ValueByKey
from wavescope.formats.sqlite.metadata_notes import take_kept_notes
from wavescope.formats.sqlite.rows import Field, FieldKind, Given, Reading, TableReader, kept
from wavescope.formats.sqlite.sqlite_open import sqlite_errors
from wavescope.model.columns import (
    CALLS,
    COPIES,
    COUNTERS,
    LAUNCHES,
    LINKS,
    MARKER_INSTANT,
    MARKERS,
    OPS,
    PROCESSES,
    UNKNOWN,
    Table,
)
from wavescope.model.op_kinds import MARKER_TYPE

_LINK_TABLE, _COPY_TABLE, _COUNTER_TABLE = "rocpd_api_ops", "rocpd_copyapi", "rocpd_counter"
_COPY_COLUMNS = ("size_bytes", "source_device", "target_device")
_MAY_BE_EXCHANGED = "may have source and target exchanged by rocmProfileData: shown as stored"
_SESSION_BITS = 32
_MOST_ROWS_HELD = 4_000_000


class RpdSource(RocpdDialectSource):
    """A trace of rocmProfileData."""

    format = "rocmProfileData"
    seekable = (OPS, CALLS, MARKERS, LINKS)

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with sqlite_errors(path):
            take_kept_notes(self.database, self.notes)

    @cached_property
    def carried(self) -> CarriedColumns | None:
        """What our own exports have besides; None for files of rocmProfileData itself."""
        with sqlite_errors(self.path):
            if not self.has_table(PROCESSES.keys[0][0]):
                return None
            return carried_columns(self, self.codes)

    @cached_property
    def pids(self) -> Sequence[int]:
        """The processes of the trace."""
        if self.carried is None:
            return super().pids
        return list(map(int, self.carried.processes["pid"]))

    @cached_property
    def argument_texts(self) -> Texts | None:
        """Version 3 keeps texts that seldom repeat apart from names."""
        return self.texts_in("rocpd_ustring") or super().argument_texts

    def readers(self) -> Mapping[str, TableReader]:
        """Where each table's rows come from."""
        readers: dict[str, TableReader] = {
            **super().readers(),
            OPS.name: self._read_ops,
            MARKERS.name: self._read_markers,
            COPIES.name: self._read_copies,
            COUNTERS.name: self._read_counters,
        }
        if self.carried is None:
            return readers
        readers |= self.carried.readers()
        if self.metadata_values(LAUNCHES_TAG):
            del readers[LAUNCHES.name], readers[COPIES.name]
        return readers

    def row_count(self, table: Table) -> int:
        """At least as many as there are rows, and as the largest id says."""
        if table is MARKERS:
            return self.largest_id(CALL_TABLE)
        if table is COUNTERS:
            return self.largest_id(_COUNTER_TABLE)
        return super().row_count(table)

    def read_calls(self, reading: Reading) -> Iterator[Given]:
        """The rows of `rocpd_api` that are not markers."""
        yield from self._carried_beside(CALLS, self._foreign_calls(reading), reading)

    def _foreign_calls(self, reading: Reading) -> Iterator[Given]:
        for given in super().read_calls(reading.of(*reading.wanted, "name")):
            yield dict(kept(given, ~self._is_marker(given)))

    def _carried_beside(
        self, table: Table, rows: Iterator[Given], reading: Reading
    ) -> Iterator[Given]:
        return rows if self.carried is None else self.carried.beside(table, rows, reading)

    def _read_markers(self, reading: Reading) -> Iterator[Given]:
        for given in self._carried_beside(MARKERS, self._foreign_markers(reading), reading):
            # A marker that the exporter made up, for tools that ask for one, is none of the trace.
            yield kept(given, given["carried"]) if "carried" in given else given

    def _foreign_markers(self, reading: Reading) -> Iterator[Given]:
        asked = reading.wanted & {"process", "thread"} | {"name"}
        if reading.wants("name"):
            asked |= {"args"}
        for calls in super().read_calls(reading.of(*asked)):
            given = dict(kept(calls, self._is_marker(calls)))
            count = len(given["id"])
            given["type"] = given["name"]
            given["category"] = np.full(count, self.strings.code("roctx"))
            given["flags"] = np.where(given["start_ns"] == given["end_ns"], MARKER_INSTANT, 0)
            if "args" in given:
                given["name"] = self.strings.codes(self.texts(given["args"]))
            yield given

    def _read_ops(self, reading: Reading) -> Iterator[Given]:
        if self.carried is not None:
            yield from self.carried.beside(OPS, self.op_rows(OPS, reading), reading)
            return
        for given in self.op_rows(OPS, reading):
            if reading.wants("process"):
                given["process"] = self._processes_of_ops(given["id"])
            if reading.wants(*_COPY_COLUMNS):
                given.update(self._copied_by(given["id"], reading))
            yield given

    def _read_copies(self, reading: Reading) -> Iterator[Given]:
        for given in self.read_declared(COPIES, reading):
            if self.carried is not None:
                yield given
                continue
            reading.tally[_MAY_BE_EXCHANGED] += len(given["rowid"])
            yield given

    def _read_counters(self, reading: Reading) -> Iterator[Given]:
        fields = {
            "op": Field("op_id"),
            "name": Field("name_id", FieldKind.STRING_ID),
            "value": Field("value", FieldKind.REAL, float("nan")),
        }
        asked = {name: field for name, field in fields.items() if reading.wants(name)}
        yield from self.read_rows(_COUNTER_TABLE, asked, reading, self.codes)

    def _processes_of_ops(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The process of each op: the only one, its recording session's, or that of its call."""
        if len(self.pids) <= 1:
            return np.full(len(ids), self.only_process)
        if not len(self._process_of_session.repeated):
            return self._process_of_session.find(ids >> _SESSION_BITS)
        return self._process_of_op.find(ids)

    def _copied_by(self, ids: npt.NDArray[np.int64], reading: Reading) -> Given:
        """What the copy calls behind the ops moved, unknown for all other ops."""
        copies, row_of_op = self._copies
        rows = row_of_op.find(ids)
        if reading.wants("source_device", "target_device"):
            reading.tally[_MAY_BE_EXCHANGED] += int((rows != UNKNOWN).sum())
        return {
            name: np.append(copies[name], UNKNOWN)[rows]
            for name in _COPY_COLUMNS
            if reading.wants(name)
        }

    @cached_property
    def _copies(self) -> tuple[Given, ValueByKey]:
        """The arguments of all copy calls, and the place of an op's own among them."""
        columns = ("call", *_COPY_COLUMNS)
        parts = list(self.read_declared(COPIES, Reading().of(*columns)))
        copies = {name: _concatenated(part[name] for part in parts) for name in columns}
        place_of_call = ValueByKey(copies["call"], np.arange(len(copies["call"])))
        ops, calls = self._links_from(place_of_call.keys)
        return copies, ValueByKey(ops, place_of_call.find(calls))

    @cached_property
    def _process_of_session(self) -> ValueByKey:
        """The process by recording session; a session of several processes is a repeated key."""
        found = np.empty(0, np.int64)
        for given in super().read_calls(Reading().of("process")):
            known = given["process"] >= 0
            sessions = given["id"][known] >> _SESSION_BITS
            found = np.union1d(found, sessions * len(self.pids) + given["process"][known])
        return ValueByKey(found // len(self.pids), found % len(self.pids))

    @cached_property
    def _process_of_op(self) -> ValueByKey:
        """The process by op, where a call is linked to it; empty when there are too many rows."""
        if max(self.count_rows(table) for table in (_LINK_TABLE, CALL_TABLE)) > _MOST_ROWS_HELD:
            self.notes.add("processes of ops could only be told by too many links: left unknown")
            return ValueByKey.of({})
        parts = list(super().read_calls(Reading().of("process")))
        process_of_call = ValueByKey(
            _concatenated(part["id"] for part in parts),
            _concatenated(part["process"] for part in parts),
        )
        ops, calls = self._links_from(process_of_call.keys)
        return ValueByKey(ops, process_of_call.find(calls))

    def _links_from(
        self, calls: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Ops and calls of those links whose call is among `calls`, which increase."""
        asked = ValueByKey(calls, calls)
        found_ops: list[npt.NDArray[np.int64]] = []
        found_calls: list[npt.NDArray[np.int64]] = []
        if len(calls):
            fields = {"call": Field("api_id"), "op": Field("op_id")}
            for given in self.read_rows(_LINK_TABLE, fields, Reading()):
                is_asked = asked.find(given["call"]) >= 0
                found_ops.append(given["op"][is_asked])
                found_calls.append(given["call"][is_asked])
        return _concatenated(found_ops), _concatenated(found_calls)

    def _is_marker(self, given: Given) -> npt.NDArray[np.bool_]:
        code = self.strings.find(MARKER_TYPE)
        mask: npt.NDArray[np.bool_] = (given["name"] == code) & (code >= 0)
        return mask


def _concatenated(parts: Iterable[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    return np.concatenate((np.empty(0, np.int64), *parts))
