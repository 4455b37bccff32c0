"""Op records as rows of the op table.

Whether a record counts must not depend on the columns asked for, so it is decided by one pass over
all of them, for every later pass alike.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.session.layout import HOST_DEVICE, NOTED_OPS, OpFlag, OpRecordKind
from wavescope.formats.session.reading.graph_names import GraphNames, names_graphs
from wavescope.formats.session.reading.kernels import KernelNames
from wavescope.formats.session.reading.process import ProcessChunks
from wavescope.formats.session.record_file import Block, Lookup, Records, directions, queue_keys
from wavescope.model.columns import OPS, UNKNOWN
from wavescope.model.op_kinds import BARRIER_TYPE, FILL_TYPE, GRAPH_RUN_TYPE, KERNEL_TYPE
from wavescope.model.source import Batch, full_batch
from wavescope.model.strings import StringTable

LARGEST_TIME = (1 << 63) - 1
_MOST_QUEUES = 1 << 12
COPY_TYPES = (
    "CopyHostToHost",
    "CopyHostToDevice",
    "CopyDeviceToHost",
    "CopyDeviceToDevice",
    "CopyPeerToPeer",
)
_TYPE_OF_KIND = ("", KERNEL_TYPE, "", FILL_TYPE, BARRIER_TYPE, GRAPH_RUN_TYPE)


@dataclass
class OpSurvey:
    """What a pass over the ops of one process found."""

    dispatches: int = 0
    """Dispatch records with times."""
    queue_keys: set[int] = field(default_factory=set)
    """See `queue_keys`."""
    timed: Counter[int] = field(default_factory=Counter)
    """Dispatches with times by queue (see `queue_keys`), unless the counters say it."""
    before: Counter[int] = field(default_factory=Counter)
    """Dispatches by queue that start before the window."""
    beyond: Counter[int] = field(default_factory=Counter)
    """Dispatches by queue that start when the window is over."""
    filtered: Counter[int] = field(default_factory=Counter)
    """Dispatches by queue that have times, but whose kernel is not asked for."""
    last_event_ns: int = -1
    left_out: Counter[str] = field(default_factory=Counter)


def counted(process: ProcessChunks, records: Records) -> Array:
    """Which records are rows: of a known kind and with times that can be told."""
    is_row: Array = _reasons(process, records) == 0
    return is_row


def survey_ops(process: ProcessChunks) -> OpSurvey:
    """Read all op records of `process` once."""
    survey = OpSurvey()
    for block in process.ops.blocks():
        reasons = _reasons(process, block.records)
        for reason, sentence in enumerate(_SENTENCES):
            if sentence and (count := int((reasons == reason).sum())):
                survey.left_out[sentence] += count
        if process.window is not None:
            before = block.records[reasons == _BEFORE]
            _count_dispatches(before, survey.before)
            for kind, what in NOTED_OPS.items():
                process.note_fallen_out(what, int((before["kind"] == kind).sum()))
            _count_dispatches(block.records[reasons == _BEYOND], survey.beyond)
        if process.kernel_filter is not None:
            _count_dispatches(block.records[reasons == _FILTERED], survey.filtered)
        records = block.records[reasons == 0]
        if len(records):
            _survey_block(process, records, survey)
    return survey


def times_ns(process: ProcessChunks, records: Records, member: str) -> Array:
    """Starts or ends (`member`) in nanoseconds."""
    times = records[member].astype(np.int64)
    is_raw = records["flags"] & OpFlag.RAW_TICKS != 0
    if not is_raw.any():
        return times
    for gpu in np.unique(records["gpu"][is_raw]).tolist():
        chosen = is_raw & (records["gpu"] == gpu)
        times[chosen] = process.clocks[gpu].ns_of(times[chosen])
    return times


def _survey_block(process: ProcessChunks, records: Records, survey: OpSurvey) -> None:
    is_dispatch = records["kind"] == OpRecordKind.DISPATCH
    survey.dispatches += int(is_dispatch.sum())
    if not process.is_whole:
        _count_dispatches(records, survey.timed)
    if len(survey.queue_keys) < _MOST_QUEUES:
        survey.queue_keys.update(np.unique(queue_keys(records)).tolist()[:_MOST_QUEUES])
    ends = times_ns(process, records, "end")
    survey.last_event_ns = max(survey.last_event_ns, int(ends.max()))
    backwards = int((records["end"] < records["start"]).sum())
    if backwards:
        survey.left_out["ops that end before they start: given no duration"] += backwards


def _count_dispatches(records: Records, totals: Counter[int]) -> None:
    is_dispatch = records["kind"] == OpRecordKind.DISPATCH
    queues, counts = np.unique(queue_keys(records[is_dispatch]), return_counts=True)
    for queue, count in zip(queues.tolist(), counts.tolist(), strict=True):
        totals[queue] += count


_SENTENCES = (
    "",
    "ops of a kind that this version does not know, left out",
    "ops whose times the GPU did not leave, left out",
    "ops with GPU ticks but without clock readings to convert them, left out",
    "ops with impossible times, left out",
)
_BEFORE, _BEYOND, _FILTERED = range(len(_SENTENCES), len(_SENTENCES) + 3)
"""Reasons that need no sentence: outside of the window, and kernels that are not asked for."""


def _reasons(process: ProcessChunks, records: Records) -> Array:
    """By record: 0 when it counts, else the place of the sentence that says why not, or one of
    those that have none.
    """
    kinds, flags = records["kind"], records["flags"]
    unconvertible = (flags & OpFlag.RAW_TICKS != 0) & ~process.clock_works[records["gpu"]]
    beyond = (records["start"] > LARGEST_TIME) | (records["end"] > LARGEST_TIME)
    reasons = np.zeros(len(records), np.int8)
    reasons[beyond] = 4
    reasons[unconvertible] = 3
    reasons[flags & OpFlag.TIMES_LOST != 0] = 2
    reasons[(kinds < OpRecordKind.DISPATCH) | (kinds > OpRecordKind.GRAPH_RUN)] = 1
    if process.window is not None:
        timed = np.flatnonzero(reasons == 0)
        starts = times_ns(process, records[timed], "start")
        reasons[timed[process.window.starts_before(starts)]] = _BEFORE
        reasons[timed[process.window.starts_beyond(starts)]] = _BEYOND
    if process.kernel_filter is not None:
        dispatches = np.flatnonzero((reasons == 0) & (kinds == OpRecordKind.DISPATCH))
        starts = times_ns(process, records[dispatches], "start")
        wanted = process.kernel_filter.wanted(records["kernel"][dispatches], starts)
        reasons[dispatches[~wanted]] = _FILTERED
    return reasons


@dataclass(frozen=True, kw_only=True)
class OpRows:
    """Makes op rows of one process's records."""

    process_index: int
    process: ProcessChunks
    strings: StringTable
    kernels: KernelNames
    gpus: Lookup
    """Local GPU number -> number in the trace."""
    queue_numbers: Lookup
    queue_addresses: Lookup
    queue_streams: Lookup
    """Streams by queue, of programs whose queues are their streams."""
    marker_ids: Callable[[Array], Array]
    streams: Callable[[Array], Array]
    """Streams by correlation, of other programs."""
    graphs: Callable[[Array], Array]
    """Executable graphs by correlation, where records do not name them."""
    graph_names: GraphNames
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
            "queue": lambda: self.queue_numbers.values(queue_keys(records), UNKNOWN),
            "start_ns": starts_ns,
            "end_ns": lambda: np.maximum(starts_ns(), times_ns(self.process, records, "end")),
            "name": lambda: self._names(records, starts_ns()),
            "type": lambda: self._types(records),
            "process": lambda: np.full(len(records), self.process_index),
            "thread": lambda: _known(records["thread"]),
            "stream": lambda: self._streams(records),
            "correlation": lambda: _known(records["correlation"]),
            "hardware_queue": lambda: self.queue_addresses.values(records["queue"], UNKNOWN),
            "kernel": lambda: self._kernel_rows(records, starts_ns()),
            "size_bytes": lambda: self._sizes(records),
            "source_device": lambda: self._device(records, 0),
            "target_device": lambda: self._device(records, 1),
            "marker": lambda: self.marker_ids(records["marker"]),
        }
        for axis, letter in enumerate("xyz"):
            makers[f"grid_{letter}"] = _grid(records, axis)
            makers[f"workgroup_{letter}"] = _workgroup(records, axis)
        if not names_graphs(records):
            return {**makers, "graph": lambda: self.graphs(records["correlation"])}
        return {
            **makers,
            "graph": lambda: _known(records["graph"]),
            "graph_node": lambda: _known(records["graph_node"]),
            "lds_bytes": lambda: self._of_kernels(records, starts_ns(), "lds_bytes"),
            "scratch_bytes": lambda: self._of_kernels(records, starts_ns(), "scratch_bytes"),
        }

    def _streams(self, records: Records) -> Array:
        streams = self.queue_streams.values(records["queue"], UNKNOWN)
        unknown = streams == UNKNOWN
        if unknown.any():
            streams[unknown] = self.streams(records["correlation"][unknown])
        return streams

    def _names(self, records: Records, starts_ns: Array) -> Array:
        empty = self.strings.code("")
        is_dispatch = records["kind"] == OpRecordKind.DISPATCH
        codes = np.full(len(records), empty, np.int64)
        objects = records["kernel"][is_dispatch]
        codes[is_dispatch] = self.kernels.name_codes(objects, starts_ns[is_dispatch])
        is_run = records["kind"] == OpRecordKind.GRAPH_RUN
        if is_run.any():
            codes[is_run] = self.graph_names.codes(records[is_run])
        return codes

    def _kernel_rows(self, records: Records, starts_ns: Array) -> Array:
        return _of_dispatches(records, self.kernels.row_ids(records["kernel"], starts_ns))

    def _of_kernels(self, records: Records, starts_ns: Array, member: str) -> Array:
        """What kernel facts know of a launch: those of CUDA are by launch."""
        values = self.kernels.counts(member, records["kernel"], starts_ns)
        return _of_dispatches(records, values)

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


def _workgroup(records: Records, axis: int) -> Callable[[], Array]:
    return lambda: _of_dispatches(records, records["workgroup"][:, axis].astype(np.int64))


def _grid(records: Records, axis: int) -> Callable[[], Array]:
    """Work-items, also where the record counts workgroups."""

    def made() -> Array:
        sizes = records["grid"][:, axis].astype(np.int64)
        in_blocks = records["flags"] & OpFlag.BLOCKS != 0
        if in_blocks.any():
            sizes[in_blocks] *= records["workgroup"][in_blocks, axis]
        return _of_dispatches(records, sizes)

    return made
