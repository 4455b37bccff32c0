"""Exports JSON as rocprofv3 writes it (`-f json`), one entry per process.

Kernels, copies, calls and markers are records of their own sections; a marker is never a kernel.
Correlation ids are numbered anew from the links, since readers join calls and dispatches by them.
Records arrive in any order of sections, and wait in a temporary file until they are written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
import orjson

from wavescope.arrays import Array
from wavescope.formats.id_index import IdIndex
from wavescope.formats.left_out import FURTHER_LINKS
from wavescope.formats.registry import ExportOptions
from wavescope.formats.rocprofv3.json_names import (
    CounterValues,
    GpuTable,
    KernelSymbols,
    Processes,
    agent_texts,
    gpu_handles,
    json_text,
)
from wavescope.formats.rocprofv3.kinds import (
    CALL_SECTIONS,
    KERNEL_COMPLETE,
    KERNEL_DISPATCH,
    MARK,
    MARKER_RANGE,
    MEMORY_COPY,
    OWN_MEMBER,
    THREAD_RANGE,
    Kinds,
)
from wavescope.formats.rocprofv3.own_export import marker_facts, member_text
from wavescope.model.columns import CALLS, LINKS, MARKER_INSTANT, MARKERS, OPS, Table
from wavescope.model.op_kinds import OpKind, op_kinds
from wavescope.model.progress import Progress
from wavescope.model.row_progress import RowProgress
from wavescope.model.source import Batch, TraceSource
from wavescope.outputs import opened_output

_COPY_BYTES = 1 << 20
_TIMES = '%s"correlation_id":{"internal":%d,"external":0},"start_timestamp":%d,"end_timestamp":%d'
_DISPATCH = (
    '{"size":72,"agent_id":{"handle":%d},"queue_id":{"handle":%d},"kernel_id":%d,"dispatch_id":%d'
    '%s%s,"workgroup_size":{"x":%d,"y":%d,"z":%d},"grid_size":{"x":%d,"y":%d,"z":%d}}'
)
_KERNEL = (
    f'{{"size":184,"kind":{KERNEL_DISPATCH},"operation":{KERNEL_COMPLETE},{_TIMES},'
    '"dispatch_info":%s%s}'
)
_COPY = (
    f'{{"size":64,"kind":{MEMORY_COPY},"operation":%d,{_TIMES},"agent_id":{{"handle":%d}},'
    '"dst_agent_id":{"handle":%d},"src_agent_id":{"handle":%d}%s%s%s%s}'
)
_CALL = f'{{"size":64,"kind":%d,"operation":%d,{_TIMES}%s%s%s}}'
_MARKER = f'{{"size":64,"kind":{MARKER_RANGE},"operation":%d,{_TIMES}}}'
_BATCH_ROWS = 1 << 14
"""Few, since a record as text takes a hundred times the memory of its columns."""
_HANDLE_MASK = (1 << 64) - 1
_PLAIN_ARGUMENT = "text"
_FLAT_SECTIONS = frozenset({"memory_allocation", "scratch_memory"})
ROOT = "rocprofiler-sdk-tool"


class SectionSpool:
    """Elements by section; what is kept in memory is where each block of them lies."""

    def __init__(self, folder: Path) -> None:
        """The nameless file lies in `folder`: where the output goes there is room for it."""
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  see close
        self._places: dict[Hashable, list[tuple[int, int]]] = {}
        self._end = 0

    def add(self, section: Hashable, elements: Sequence[str]) -> None:
        """Append elements (JSON texts) to a section."""
        if elements:
            data = ",\n".join(elements).encode("utf-8", "replace")
            self._places.setdefault(section, []).append((self._end, len(data)))
            self._file.seek(self._end)
            self._end += self._file.write(data)

    def write_array(self, section: Hashable, output: BinaryIO) -> None:
        """Write a section as a JSON array."""
        separator = b"["
        for offset, size in self._places.get(section, ()):
            output.write(separator)
            self._copy(offset, size, output)
            separator = b",\n"
        output.write(b"]" if separator != b"[" else b"[]")

    def close(self) -> None:
        self._file.close()

    def _copy(self, offset: int, size: int, output: BinaryIO) -> None:
        self._file.seek(offset)
        while size:
            data = self._file.read(min(size, _COPY_BYTES))
            output.write(data)
            size -= len(data)


class RecordWriter:
    """Writes all records of a source to a spool, and knows the tables they refer to."""

    def __init__(
        self, source: TraceSource, spool: SectionSpool, processes: Processes, progress: Progress
    ) -> None:
        self._source = source
        self._spool = spool
        self._processes = processes
        self._progress = RowProgress(progress, [source])
        self.kinds = Kinds()
        self.gpus = GpuTable(source)
        self.symbols = KernelSymbols(source, processes)
        self._counters = CounterValues(source)
        self._calls = IdIndex(source, CALLS)
        self._ops = IdIndex(source, OPS)
        self._correlation_of_op = self._correlations()
        self._call_kinds: dict[tuple[int, int, int], tuple[str, int, int]] = {}

    def write(self) -> None:
        """Write ops, calls and markers."""
        for batch in self._rows(OPS):
            is_kernel = op_kinds(self._source.strings, batch["type"]) == OpKind.KERNEL
            self.gpus.note(np.unique(batch["gpu"]).tolist())
            for process, rows in self._by_process(batch["process"]):
                self._kernels(process, _taken(batch, rows[is_kernel[rows]]))
                self._copies(process, _taken(batch, rows[~is_kernel[rows]]))
        for batch in self._rows(CALLS):
            for process, rows in self._by_process(batch["process"]):
                self._write_calls(process, _taken(batch, rows))
        written = 0
        for batch in self._rows(MARKERS):
            first = self._calls.size + self._ops.size + written + 2
            for process, rows in self._by_process(batch["process"]):
                self._write_markers(process, _taken(batch, rows), rows + first)
            written += len(batch["id"])

    def counter_texts(self) -> list[str]:
        """The counters' descriptions as JSON texts."""
        return self._counters.descriptions()

    def code_object_texts(self) -> list[str]:
        """The code objects' descriptions as JSON texts."""
        return [
            json_text({"size": 88, "code_object_id": number, "uri": uri})
            for uri, number in self.symbols.code_objects.items()
        ]

    def _correlations(self) -> Array:
        """The correlation id of each op: that of its (first) call, else one of its own."""
        correlations = np.arange(self._ops.size, dtype=np.int64) + self._calls.size + 1
        unlinked_from = self._calls.size + 1
        for batch in self._source.batches(LINKS):
            ops = self._ops.positions(batch["op"])
            calls = self._calls.positions(batch["call"])
            fresh = (ops >= 0) & (calls >= 0)
            known = int(fresh.sum())
            fresh[fresh] = correlations[ops[fresh]] >= unlinked_from
            self._source.notes.add(FURTHER_LINKS, known - len(np.unique(ops[fresh])))
            # Assigned backwards, so that of several links of one op the first counts.
            correlations[ops[fresh][::-1]] = calls[fresh][::-1] + 1
        return correlations

    def _by_process(self, processes: Array) -> list[tuple[int, Array]]:
        entries = self._processes.numbers(processes)
        return [(entry, np.flatnonzero(entries == entry)) for entry in np.unique(entries).tolist()]

    def _rows(self, table: Table) -> Iterator[Batch]:
        batches = self._source.batches(table, rows=_BATCH_ROWS)
        return self._progress.followed(self._source, table, batches)

    def _kernels(self, process: int, batch: Batch) -> None:
        if not len(batch["id"]):
            return
        owners = np.full(len(batch["id"]), process)
        kernel_ids = self.symbols.ids(owners, batch["kernel"], batch["name"])
        sizes = [
            np.maximum(batch[f"{what}_{axis}"], 0).tolist()
            for what in ("workgroup", "grid")
            for axis in "xyz"
        ]
        dispatches = list(
            map(
                _DISPATCH.__mod__,
                zip(
                    gpu_handles(batch["gpu"]).tolist(),
                    _handles(batch["queue"]),
                    kernel_ids.tolist(),
                    batch["id"].tolist(),
                    _optional(',"private_segment_size":%d', batch["scratch_bytes"]),
                    _optional(',"group_segment_size":%d', batch["lds_bytes"]),
                    *sizes,
                    strict=True,
                ),
            )
        )
        streams = _optional(',"stream_id":{"handle":%d}', batch["stream"])
        correlations = self._correlation_of_op[self._ops.positions(batch["id"])].tolist()
        rows = zip(*_times(batch, correlations), dispatches, streams, strict=True)
        self._spool.add((process, "kernel_dispatch"), list(map(_KERNEL.__mod__, rows)))
        collected = self._counters.records(batch, dispatches, correlations)
        self._spool.add((process, "counter_collection"), collected)

    def _copies(self, process: int, batch: Batch) -> None:
        if not len(batch["id"]):
            return
        strings = self._source.strings
        types = strings.decode(batch["type"])
        operations = [self.kinds.of_copy(name) for name in types]
        names = [
            f',"name":{json_text(name)}' if name else "" for name in strings.decode(batch["name"])
        ]
        targets, sources = _copy_ends(
            batch, ["HostToDevice" in name or "Fill" in name for name in types]
        )
        correlations = self._correlation_of_op[self._ops.positions(batch["id"])].tolist()
        rows = zip(
            operations,
            *_times(batch, correlations),
            gpu_handles(batch["gpu"]).tolist(),
            gpu_handles(targets).tolist(),
            gpu_handles(sources).tolist(),
            _optional(',"bytes":%d', batch["size_bytes"]),
            _optional(',"stream_id":{"handle":%d}', batch["stream"]),
            _optional(',"queue_id":{"handle":%d}', batch["queue"]),
            names,
            strict=True,
        )
        self._spool.add((process, "memory_copy"), list(map(_COPY.__mod__, rows)))

    def _write_calls(self, process: int, batch: Batch) -> None:
        spelled = (batch[name].tolist() for name in ("category", "name", "domain"))
        kinds = [self._call_kind(*codes) for codes in zip(*spelled, strict=True)]
        correlations = (self._calls.positions(batch["id"]) + 1).tolist()
        texts = self._source.texts(batch["args"]) if (batch["args"] >= 0).any() else repeat("")
        args = [
            _args(text, flat=kind[0] in _FLAT_SECTIONS) if text else ""
            for text, kind in zip(texts, kinds, strict=False)
        ]
        rows = zip(
            [kind[1] for kind in kinds],
            [kind[2] for kind in kinds],
            *_times(batch, correlations),
            _optional(',"stream_id":{"handle":%d}', batch["stream"]),
            _optional(',"retval":%d', batch["return_code"]),
            args,
            strict=True,
        )
        sections: dict[str, list[str]] = {}
        for kind, record in zip(kinds, map(_CALL.__mod__, rows), strict=True):
            sections.setdefault(kind[0], []).append(record)
        for section, records in sections.items():
            self._spool.add((process, section), records)

    def _call_kind(self, category: int, name: int, domain: int) -> tuple[str, int, int]:
        key = (category, name, domain)
        if key not in self._call_kinds:
            strings = self._source.strings
            self._call_kinds[key] = self.kinds.of_call(*(strings[code] for code in key))
        return self._call_kinds[key]

    def _write_markers(self, process: int, batch: Batch, correlations: Array) -> None:
        is_mark = (batch["flags"] & MARKER_INSTANT) != 0
        operations = np.where(is_mark, MARK, THREAD_RANGE).tolist()
        keys = correlations.tolist()
        rows = zip(operations, *_times(batch, keys), strict=True)
        self._spool.add((process, "marker_api"), list(map(_MARKER.__mod__, rows)))
        texts = self._source.strings.decode(batch["name"])
        self._spool.add(
            (process, "marker_texts"),
            [
                f'{{"key":{key},"value":{json_text(text)}{fact}}}'
                for key, text, fact in zip(
                    keys, texts, marker_facts(self._source, batch), strict=True
                )
            ],
        )


def _taken(batch: Batch, rows: Array) -> Batch:
    if len(rows) == len(next(iter(batch.values()))):
        return batch
    return {name: column[rows] for name, column in batch.items()}


def _times(batch: Batch, correlations: list[int]) -> tuple[list[Any], ...]:
    return (
        _optional('"thread_id":%d,', batch["thread"]),
        correlations,
        batch["start_ns"].tolist(),
        batch["end_ns"].tolist(),
    )


def _handles(values: Array) -> list[int]:
    """Handles are unsigned: -1, the unknown one, becomes the largest."""
    found: list[int] = values.tolist()
    return [value & _HANDLE_MASK for value in found] if (values < 0).any() else found


def _optional(template: str, values: Array) -> list[str]:
    """The filled template for known values, nothing for unknown ones."""
    if (values < 0).all():
        return [""] * len(values)
    return [template % value if value >= 0 else "" for value in values.tolist()]


def _copy_ends(batch: Batch, is_target: list[bool]) -> tuple[Array, Array]:
    """The GPUs written to and read from; where neither is known, the op's own on its side."""
    targets, sources = batch["target_device"], batch["source_device"]
    unknown = (targets < 0) & (sources < 0)
    own_is_target = np.array(is_target)
    return (
        np.where(unknown & own_is_target, batch["gpu"], targets),
        np.where(unknown & ~own_is_target, batch["gpu"], sources),
    )


def _args(text: str, *, flat: bool) -> str:
    """Arguments as members of a record: a list of names and values, or members themselves."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        return f',"args":{json_text([{"name": _PLAIN_ARGUMENT, "value": text}])}'
    if flat:
        members = json_text(value)[1:-1]
        return f",{members}" if members else ""
    return f',"args":{json_text([{"name": name, "value": item} for name, item in value.items()])}'


def write_rocprofv3_json(
    source: TraceSource, path: Path, options: ExportOptions, progress: Progress
) -> None:
    """Write `source` as one `_results.json` file."""
    spool = SectionSpool(path.parent)
    try:
        processes = Processes(source)
        records = RecordWriter(source, spool, processes, progress)
        records.write()
        with opened_output(path, gzip=options.gzip) as output:
            output.write(b'{"%s":[' % ROOT.encode())
            for number in range(len(processes)):
                output.write(b",\n" if number else b"\n")
                output.write(b'{"metadata":' + json_text(processes.metadata[number]).encode())
                output.write(b',\n"agents":')
                _write_list(output, agent_texts(processes.hosts[number], records.gpus))
                _write_names(output, number, records, spool)
                _write_records(output, number, spool)
            output.write(b'],\n"%s":' % OWN_MEMBER.encode())
            output.write(member_text(source, processes.ids).encode() + b"}\n")
    finally:
        spool.close()


def _write_names(output: BinaryIO, number: int, records: RecordWriter, spool: SectionSpool) -> None:
    output.write(b',\n"counters":')
    _write_list(output, records.counter_texts())
    kinds = json_text(records.kinds.table()).encode()
    output.write(b',\n"strings":{"callback_records":%s,"buffer_records":%s' % (kinds, kinds))
    output.write(b',"marker_api":')
    spool.write_array((number, "marker_texts"), output)
    output.write(b',"correlation_id":{"external":[]},"counters":{"dimension_ids":[]}}')
    output.write(b',\n"code_objects":')
    _write_list(output, records.code_object_texts())
    output.write(b',\n"kernel_symbols":')
    _write_list(output, records.symbols.of_process(number))
    output.write(b',\n"host_functions":[],"summary":[]')


def _write_records(output: BinaryIO, number: int, spool: SectionSpool) -> None:
    output.write(b',\n"callback_records":{"counter_collection":')
    spool.write_array((number, "counter_collection"), output)
    output.write(b'},\n"buffer_records":{')
    sections = ("kernel_dispatch", "memory_copy", "marker_api", *CALL_SECTIONS)
    for index, section in enumerate(sections):
        output.write(b'%s"%s":' % (b",\n" if index else b"", section.encode()))
        spool.write_array((number, section), output)
    output.write(b"}}")


def _write_list(output: BinaryIO, elements: list[str]) -> None:
    output.write(b"[" + ",\n".join(elements).encode("utf-8", "replace") + b"]")
