"""Rows of rocpd_kernelapi and rocpd_copyapi: arguments of the calls that launch or copy.

Traces that were recorded with them keep them. For others they are made from the op that a call
caused, when it caused exactly one: a graph launch's row would name one kernel for all its ops.
"""

from __future__ import annotations

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.id_index import IdIndex
from wavescope.formats.rpd.schema import string_ids
from wavescope.formats.sqlite.sqlite_bulk import BulkDatabase, TextColumn
from wavescope.model.columns import CALLS, COPIES, LAUNCHES, LINKS, OPS
from wavescope.model.op_kinds import COPY_TYPES, OpKind, op_kinds
from wavescope.model.source import Batch, TraceSource

_KINDS = {"CopyHostToHost": 0, "CopyHostToDevice": 1, "CopyDeviceToHost": 2}
_DEVICE_TO_DEVICE = 3
_DEFAULT_KIND = 4
_SLICE_ROWS = 1 << 20


class LaunchRows:
    """Arguments of calls, taken from the trace or from its ops."""

    def __init__(self, source: TraceSource, database: BulkDatabase) -> None:
        self._source = source
        self._kernels = database.table("rocpd_kernelapi", rebuild_indexes=True)
        self._copies = database.table("rocpd_copyapi", rebuild_indexes=True)
        self._next_row = {"kernels": 1, "copies": 1}
        self._ops = IdIndex(source, OPS)
        self._calls = IdIndex(source, CALLS)
        self._has_arguments = any(source.row_count(table) for table in (LAUNCHES, COPIES))
        self._call_of_op: Array = np.zeros(0, np.int32)
        self._written = np.zeros(self._calls.size, np.bool_)
        if self._calls.size and not self._has_arguments:
            self._find_single_launches()

    @property
    def were_made(self) -> bool:
        """Whether the rows were made from ops, because the trace has none of its own."""
        return not self._has_arguments and sum(self._next_row.values()) > len(self._next_row)

    def is_link(self, calls: Array, ops: Array) -> Array:
        """Whether both ends of each link are there."""
        known: Array = (self._calls.positions(calls) >= 0) & (self._ops.positions(ops) >= 0)
        return known

    def is_op(self, ops: Array) -> Array:
        """Whether each id is an op's."""
        known: Array = self._ops.positions(ops) >= 0
        return known

    def add_ops(self, batch: Batch) -> None:
        """Make rows for the calls that caused just one of these ops and nothing else."""
        if not len(self._call_of_op):
            return
        calls = self._call_of_op[self._ops.positions(batch["id"])].astype(np.int64)
        kinds = op_kinds(self._source.strings, batch["type"])
        kernels = np.flatnonzero((calls > 0) & (kinds == OpKind.KERNEL))
        copies = np.flatnonzero((calls > 0) & (kinds == OpKind.COPY))
        if len(kernels):
            self._append_kernels(
                {name: column[kernels] for name, column in batch.items()}, calls[kernels]
            )
        if len(copies):
            self._append_op_copies(
                {name: column[copies] for name, column in batch.items()}, calls[copies]
            )

    def write(self) -> None:
        """Write the arguments that the trace itself has."""
        for batch in self._source.batches(LAUNCHES):
            fresh = self._fresh(batch["call"])
            rows = {name: column[fresh] for name, column in batch.items()}
            self._append_kernels(rows, rows["call"])
        self._written[:] = False
        for batch in self._source.batches(COPIES):
            fresh = self._fresh(batch["call"])
            self._append_copies({name: column[fresh] for name, column in batch.items()})

    def _find_single_launches(self) -> None:
        """Fill `_call_of_op`: by op, the call that caused just this op; 0 for all others."""
        count = np.zeros(self._calls.size, np.uint8)
        call_of_op = np.zeros(self._ops.size, np.int32)
        for batch in self._source.batches(LINKS):
            calls, ops = self._calls.positions(batch["call"]), self._ops.positions(batch["op"])
            known = (calls >= 0) & (ops >= 0)
            if not known.any():
                continue
            distinct, times = np.unique(calls[known], return_counts=True)
            count[distinct] = np.minimum(count[distinct] + np.minimum(times, 2), 2)
            if int(batch["call"][known].max()) > np.iinfo(call_of_op.dtype).max:
                call_of_op = call_of_op.astype(np.int64)
            call_of_op[ops[known]] = batch["call"][known]
        for first in range(0, len(call_of_op), _SLICE_ROWS):
            part = call_of_op[first : first + _SLICE_ROWS]
            places = self._calls.positions(part.astype(np.int64))
            part[(places < 0) | (count[places] != 1)] = 0
        if call_of_op.any():
            self._call_of_op = call_of_op

    def _fresh(self, calls: Array) -> Array:
        """Rows whose call is there and has no row yet: the key is the call."""
        places = self._calls.positions(calls)
        fresh = np.zeros(len(calls), np.bool_)
        fresh[np.unique(places, return_index=True)[1]] = True
        fresh &= places >= 0
        fresh[fresh] = ~self._written[places[fresh]]
        self._written[places[fresh]] = True
        return fresh

    def _append_kernels(self, rows: Batch, calls: Array) -> None:
        self._kernels.append(
            {
                "rowid": self._row_numbers("kernels", len(calls)),
                "api_ptr_id": calls,
                "stream": _handles(rows["stream"]),
                **{
                    f"{what}{axis.upper()}": rows[f"{what}_{axis}"]
                    for what in ("grid", "workgroup")
                    for axis in "xyz"
                },
                "groupSegmentSize": rows["lds_bytes"],
                "privateSegmentSize": rows["scratch_bytes"],
                "kernelName_id": string_ids(rows["name"]),
            }
        )

    def _append_op_copies(self, rows: Batch, calls: Array) -> None:
        types = self._source.strings.decode(rows["type"])
        unknown = np.full(len(calls), -1, np.int64)
        self._append_copies(
            {
                "call": calls,
                "stream": rows["stream"],
                "size_bytes": rows["size_bytes"],
                "width": unknown,
                "height": unknown,
                "kind": np.array([_copy_kind(name) for name in types], np.int64),
                "target": unknown,
                "source": unknown,
                "target_device": rows["target_device"],
                "source_device": rows["source_device"],
                "synchronous": unknown,
                "pinned": unknown,
            }
        )

    def _append_copies(self, rows: Batch) -> None:
        self._copies.append(
            {
                "rowid": self._row_numbers("copies", len(rows["call"])),
                "api_ptr_id": rows["call"],
                "stream": _handles(rows["stream"]),
                "size": rows["size_bytes"],
                "width": rows["width"],
                "height": rows["height"],
                "kind": rows["kind"],
                "dst": _handles(rows["target"]),
                "src": _handles(rows["source"]),
                "dstDevice": rows["target_device"],
                "srcDevice": rows["source_device"],
                "sync": np.maximum(rows["synchronous"], 0),
                "pinned": np.maximum(rows["pinned"], 0),
            }
        )

    def _row_numbers(self, table: str, rows: int) -> Array:
        first = self._next_row[table]
        self._next_row[table] += rows
        return np.arange(first, first + rows)


def _handles(values: Array) -> TextColumn:
    """Addresses and stream handles as text, empty where unknown."""
    return TextColumn.from_strings(
        [f"0x{value:x}" if value >= 0 else "" for value in values.tolist()]
    )


def _copy_kind(op_type: str) -> int:
    """The hipMemcpyKind of an op type."""
    if op_type in _KINDS:
        return _KINDS[op_type]
    return _DEVICE_TO_DEVICE if op_type in COPY_TYPES else _DEFAULT_KIND
