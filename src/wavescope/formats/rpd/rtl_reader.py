"""Reads traces of rocm-trace-lite: kernels and markers share one table, launch sizes are text.

A marker is a row with a negative GPU. A kernel names the innermost open range by the number that
the range got when it was opened, which the range's own row carries too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wavescope.formats.rpd.dialect import RocpdDialectSource
from wavescope.formats.sqlite.lookup import ValueByKey
from wavescope.formats.sqlite.rows import (
    Field,
    FieldKind,
    Given,
    Reading,
    TableReader,
    Tally,
    kept,
)
from wavescope.model.columns import CALLS, LINKS, MARKER_INSTANT, MARKERS, OPS, UNKNOWN
from wavescope.model.op_kinds import MARKER_TYPE
from wavescope.model.source import TraceSource

_GPU = Field("gpuId")
_RANGE = Field("roctxId", missing=0)
_DISPATCH_COLUMNS = (
    "hardware_queue",
    "workgroup_x",
    "workgroup_y",
    "workgroup_z",
    "grid_x",
    "grid_y",
    "grid_z",
)


class RtlSource(RocpdDialectSource):
    """A trace of rocm-trace-lite."""

    format = "rocm-trace-lite"
    seekable = (OPS, CALLS, LINKS)
    _passed_markers: list[Given] | None = None
    """Marker rows seen by the latest whole pass over the ops, which saves a pass of their own."""

    @cached_property
    def pids(self) -> Sequence[int]:
        """The processes that the metadata names, else those of the calls."""
        texts = dict.fromkeys(self.metadata_values("pid"))
        named = [int(text) for text in texts if text.isdecimal() and len(text) < 19]
        return named or [int(pid) for pid in self.distinct_pids()]

    def readers(self) -> Mapping[str, TableReader]:
        """Where each table's rows come from."""
        return {**super().readers(), OPS.name: self._read_ops, MARKERS.name: self._read_markers}

    def read_calls(self, reading: Reading) -> Iterator[Given]:
        """Only HIP calls are ever recorded."""
        for given in super().read_calls(reading):
            yield {**given, "domain": np.full(len(given["id"]), self.strings.code("hip"))}

    def _read_ops(self, reading: Reading) -> Iterator[Given]:
        extra = {"gpu": _GPU}
        if reading.wants(*_DISPATCH_COLUMNS):
            extra["dispatch"] = Field("completionSignal", FieldKind.DISPATCH_TEXT)
        if reading.wants("marker"):
            extra["range"] = _RANGE
        passed: list[Given] = []
        for given in self.op_rows(OPS, reading, **extra):
            is_op = given["gpu"] >= 0
            if not is_op.all():
                passed.append(kept(given, ~is_op))
            ops = dict(kept(given, is_op))
            ops["process"] = np.full(len(ops["id"]), self.only_process)
            if "dispatch" in ops:
                ops.update(zip(_DISPATCH_COLUMNS, ops["dispatch"].T, strict=True))
            if "range" in ops:
                ops["marker"] = self._markers_of(ops["range"], reading.tally)
            yield ops
        if reading.first_rowid is None:
            self._passed_markers = passed

    def _marker_rows(self, reading: Reading) -> Iterable[Given]:
        """The rows of markers: those passed on the way through the ops, if they say enough."""
        wanted = {"id", *reading.wanted.intersection(("start_ns", "end_ns", "name", "type"))}
        passed = self._passed_markers
        if passed is not None and all(wanted <= given.keys() for given in passed):
            return passed
        rows = self.op_rows(MARKERS, reading, gpu=_GPU)
        return (kept(given, given["gpu"] < 0) for given in rows)

    def _read_markers(self, reading: Reading) -> Iterator[Given]:
        for given in self._marker_rows(reading):
            markers = dict(given)
            count = len(markers["id"])
            markers["process"] = np.full(count, self.only_process)
            markers["category"] = np.full(count, self.strings.code("roctx"))
            is_instant = markers["start_ns"] == markers["end_ns"]
            markers["flags"] = np.where(is_instant, MARKER_INSTANT, 0)
            if "type" in markers:
                unnamed = markers["type"] == UNKNOWN
                markers["type"] = np.where(unnamed, self.strings.code(MARKER_TYPE), markers["type"])
            yield markers

    @cached_property
    def _marker_of_range(self) -> ValueByKey:
        """The id of each range's row by the number the range got when it was opened."""
        numbers, ids = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for given in self.op_rows(OPS, Reading(), gpu=_GPU, range=_RANGE):
            is_range = (given["gpu"] < 0) & (given["range"] > 0)
            numbers.append(given["range"][is_range])
            ids.append(given["id"][is_range])
        return ValueByKey(np.concatenate(numbers), np.concatenate(ids))

    def _markers_of(self, ranges: npt.NDArray[np.int64], tally: Tally) -> npt.NDArray[np.int64]:
        """The marker of each range number; unknown where none or several have that number."""
        lookup = self._marker_of_range
        markers = lookup.find(ranges)
        if len(lookup.repeated):
            ambiguous = np.isin(ranges, lookup.repeated)
            tally["lie in a range whose number was given twice: range unknown"] += int(
                ambiguous.sum()
            )
            markers = np.where(ambiguous, UNKNOWN, markers)
            ranges = np.where(ambiguous, 0, ranges)
        lost = (markers == UNKNOWN) & (ranges > 0)
        tally["lie in a range that was never closed and so not recorded"] += int(lost.sum())
        return markers


def open_rtl(path: Path) -> TraceSource:
    """The trace at `path`; one that states a schema version is rocmProfileData's after all."""
    source = RtlSource(path)
    if not source.states_schema_version:
        return source
    source.close()
    from wavescope.formats.rpd.reader import RpdSource  # noqa: PLC0415  seldom needed

    return RpdSource(path)
