"""Op records as rows of the op table."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.session.kernel_names import KernelNames
from wavescope.formats.session.layout import HOST_DEVICE, OpRecordKind
from wavescope.formats.session.lookup import Lookup
from wavescope.formats.session.op_survey import (
    COPY_TYPES,
    counted,
    directions,
    lane_keys,
    times_ns,
)
from wavescope.formats.session.process import ProcessChunks
from wavescope.formats.session.record_file import Block, Records
from wavescope.model.columns import OPS, UNKNOWN
from wavescope.model.op_kinds import BARRIER_TYPE, FILL_TYPE, KERNEL_TYPE
from wavescope.model.source import Batch, full_batch
from wavescope.model.strings import StringTable

_TYPE_OF_KIND = ("", KERNEL_TYPE, "", FILL_TYPE, BARRIER_TYPE)


@dataclass
class OpRows:
    """Makes op rows of one process's records."""

    process_index: int
    process: ProcessChunks
    strings: StringTable
    kernels: KernelNames
    gpus: Lookup
    """Local GPU number -> number in the trace."""
    lanes: Lookup
    queue_addresses: Lookup
    marker_ids: Callable[[Array], Array]
    streams: Callable[[Array], Array]
    """Streams by correlation."""
    graphs: Callable[[Array], Array]
    """Executable graphs by correlation."""
    first_id: int
    """Id of the record at place 0."""

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Batch]:
        """The rows in file order."""
        wanted = OPS.column_names if columns is None else columns
        for block in self.process.ops.blocks(rows):
            keep = counted(self.process, block.records)
            if not keep.all():
                block = Block(block.places[keep], block.records[keep])  # noqa: PLW2901
            if len(block.records):
                yield self._batch(block, wanted)

    def _batch(self, block: Block, wanted: Sequence[str]) -> Batch:
        makers = self._makers(block)
        given = {name: makers[name]() for name in wanted if name in makers}
        if not given:
            given = {"": np.empty(len(block.records))}
        return full_batch(OPS, given, wanted)

    def _makers(self, block: Block) -> dict[str, Callable[[], Array]]:
        """How each column that chunks know is made."""
        records = block.records
        starts_ns = functools.cache(lambda: times_ns(self.process, records, "start"))
        makers: dict[str, Callable[[], Array]] = {
            "id": lambda: block.places + self.first_id,
            "gpu": lambda: self.gpus.values(records["gpu"], UNKNOWN),
            "queue": lambda: self.lanes.values(lane_keys(records), UNKNOWN),
            "start_ns": starts_ns,
            "end_ns": lambda: np.maximum(starts_ns(), times_ns(self.process, records, "end")),
            "name": lambda: self._names(records, starts_ns()),
            "type": lambda: self._types(records),
            "process": lambda: np.full(len(records), self.process_index),
            "thread": lambda: _known(records["thread"]),
            "stream": lambda: self.streams(records["correlation"]),
            "correlation": lambda: _known(records["correlation"]),
            "graph": lambda: self.graphs(records["correlation"]),
            "hardware_queue": lambda: self.queue_addresses.values(records["queue"], UNKNOWN),
            "kernel": lambda: self._kernel_rows(records, starts_ns()),
            "size_bytes": lambda: self._sizes(records),
            "source_device": lambda: self._device(records, 0),
            "target_device": lambda: self._device(records, 1),
            "marker": lambda: self.marker_ids(records["marker"]),
        }
        for axis, letter in enumerate("xyz"):
            makers[f"grid_{letter}"] = _axis(records, "grid", axis)
            makers[f"workgroup_{letter}"] = _axis(records, "workgroup", axis)
        return makers

    def _names(self, records: Records, starts_ns: Array) -> Array:
        empty = self.strings.code("")
        is_dispatch = records["kind"] == OpRecordKind.DISPATCH
        codes = np.full(len(records), empty, np.int64)
        objects = records["kernel"][is_dispatch]
        codes[is_dispatch] = self.kernels.name_codes(objects, starts_ns[is_dispatch])
        return codes

    def _kernel_rows(self, records: Records, starts_ns: Array) -> Array:
        return _of_dispatches(records, self.kernels.row_ids(records["kernel"], starts_ns))

    def _types(self, records: Records) -> Array:
        codes: Array = self.strings.codes(_TYPE_OF_KIND)[records["kind"]]
        is_copy = records["kind"] == OpRecordKind.COPY
        if is_copy.any():
            copy_types = self.strings.codes(COPY_TYPES)
            codes[is_copy] = copy_types[directions(records["grid"][is_copy])]
        return codes

    def _sizes(self, records: Records) -> Array:
        moves = (records["kind"] == OpRecordKind.COPY) | (records["kind"] == OpRecordKind.FILL)
        sizes = np.minimum(records["kernel"], np.uint64((1 << 63) - 1)).astype(np.int64)
        return np.where(moves, sizes, UNKNOWN)

    def _device(self, records: Records, place: int) -> Array:
        """The GPU at one end of a copy; unknown for the host and for everything else."""
        devices = records["grid"][:, place]
        is_gpu = (records["kind"] == OpRecordKind.COPY) & (devices != HOST_DEVICE)
        return np.where(is_gpu, self.gpus.values(devices, UNKNOWN), UNKNOWN)


def _known(values: Array) -> Array:
    """0 stands for unknown in records; what int64 cannot hold is unknown too."""
    signed = values.astype(np.int64)
    return np.where(signed > 0, signed, UNKNOWN)


def _of_dispatches(records: Records, values: Array) -> Array:
    return np.where(records["kind"] == OpRecordKind.DISPATCH, values, UNKNOWN)


def _axis(records: Records, member: str, axis: int) -> Callable[[], Array]:
    return lambda: _of_dispatches(records, records[member][:, axis].astype(np.int64))
