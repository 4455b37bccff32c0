"""Reads rocprofv3 CSV files: one of them with its siblings, or a folder with any number of sets.

Columns are found by name in any casing; `rocpd convert` writes the same files with a Guid or Pid
column in front. Each set of files is one process unless its rows name several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import orjson

from wavescope.arrays import Array
from wavescope.closing import on_error
from wavescope.errors import UnreadableInputError
from wavescope.formats.csv_blocks import CsvBlocks
from wavescope.formats.rocprofv3.csv_files import (
    NEEDED_COLUMNS,
    AgentNames,
    CsvColumns,
    CsvKind,
    FileGroup,
    group_of_file,
    groups_in_folder,
)
from wavescope.formats.rocprofv3.kinds import api_of_kind, copy_type, shown_kernel_name
from wavescope.formats.rocprofv3.rows import CounterRows, ProcessFacts, Rocprofv3Rows
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import METADATA
from wavescope.model.op_kinds import KERNEL_TYPE
from wavescope.model.source import TraceSource

FORMAT = "rocprofv3 CSV"
_ORDER = (
    CsvKind.AGENTS,
    CsvKind.KERNELS,
    CsvKind.COPIES,
    CsvKind.CALLS,
    CsvKind.ALLOCATIONS,
    CsvKind.SCRATCH,
    CsvKind.COUNTERS,
)
_FREE_TEXT = ("kernel_name", "function")
_LDS_SIZE = ("lds_block_size", "group_segment_size")
_SCRATCH_SIZE = ("scratch_size", "private_segment_size")
"""The second names are those of ROCm 6.2 to 6.4."""


def open_rocprofv3_csv(path: Path) -> TraceSource:
    """The trace of a folder of CSV files, or of one file and those that share its prefix."""
    if path.is_dir():
        groups, unreadable = groups_in_folder(path)
    else:
        group, unreadable = group_of_file(path)
        groups = [group]
    if not any(group.files for group in groups):
        raise UnreadableInputError(
            path,
            "there is no CSV file of rocprofv3",
            hint="expected files such as 1234_kernel_trace.csv",
        )
    rows = Rocprofv3Rows(TraceBuilder(str(path), FORMAT))
    rows.builder.notes.add("CSV files that cannot be opened, left out", unreadable)
    with on_error(rows.builder.close):
        for group in groups:
            GroupReader(rows, group, _label(group, path)).read()
        return _finished(rows, groups)


def _label(group: FileGroup, path: Path) -> str:
    """Where a set lies within the folder that was opened, as in pass_1/host/1234."""
    base = path if path.is_dir() else path.parent
    return (group.folder.relative_to(base) / (group.prefix or ".")).as_posix()


def _finished(rows: Rocprofv3Rows, groups: list[FileGroup]) -> TraceSource:
    builder = rows.finished()
    passes = {part for group in groups for part in group.folder.parts if part.startswith("pass_")}
    if len(passes) > 1:
        builder.notes.set(
            "passes, each a run of its own: the trace holds the ops of all of them", len(passes)
        )
    builder.add_row(METADATA, tag="source_format", value=FORMAT)
    return builder


def _require_column(file: CsvBlocks, name: str | None) -> None:
    if name is not None and name not in file.header:
        raise UnreadableInputError(
            file.path,
            f"it has no column {name.title()}",
            hint="rocprofv3 --pmc ... -f csv writes *_counter_collection.csv",
        )


class GroupReader:
    """Reads the files of a group; `label` tells the group from others in the same folder."""

    def __init__(self, rows: Rocprofv3Rows, group: FileGroup, label: str) -> None:
        self._rows = rows
        self._group = group
        self._strings = rows.builder.strings
        self._label = label
        names = label.split("/")
        is_host = len(names) > 1 and names[-1].isdecimal() and not names[-2].startswith("pass_")
        self._host = names[-2] if is_host else ""
        self._agents = AgentNames(rows, self._host)
        self._processes: dict[str, int] = {}
        self._counters: dict[int, CounterRows] = {}
        self._kernels: dict[tuple[int, int, int], int] = {}
        self._readers: dict[CsvKind, Callable[[int, CsvColumns], None]] = {
            CsvKind.KERNELS: self._kernel_trace,
            CsvKind.COPIES: self._copies,
            CsvKind.CALLS: self._calls,
            CsvKind.ALLOCATIONS: self._allocations,
            CsvKind.SCRATCH: self._allocations,
            CsvKind.COUNTERS: self._counter_collection,
        }

    def read(self) -> None:
        """Read all files of the group."""
        for wanted in _ORDER:
            for kind, path in self._group.files:
                if kind is wanted:
                    with CsvBlocks(path, _FREE_TEXT) as file:
                        self._read_file(kind, file)
        for counters in self._counters.values():
            counters.finish()

    def _read_file(self, kind: CsvKind, file: CsvBlocks) -> None:
        _require_column(file, NEEDED_COLUMNS.get(kind))
        for block in file.rows():
            columns = CsvColumns(file.header, block)
            if kind is CsvKind.AGENTS:
                self._agents.add(columns)
                continue
            for process, part in self._by_process(file.header, block, columns):
                self._readers[kind](process, part)
        notes = self._rows.builder.notes
        notes.add("CSV rows that cannot be made out, left out", file.skipped_rows)
        notes.add("blocks of text with invalid UTF-8, replaced by U+FFFD", file.replaced_blocks)
        notes.add("files whose gzip data ends early", int(file.was_cut))

    def _by_process(
        self, header: list[str], block: list[list[str]], columns: CsvColumns
    ) -> Iterator[tuple[int, CsvColumns]]:
        keys: list[str] = columns.texts("guid", "process_id", "pid")
        distinct = dict.fromkeys(keys)
        for key in distinct:
            part = columns
            if len(distinct) > 1:
                rows = [row for row, own in zip(block, keys, strict=True) if own == key]
                part = CsvColumns(header, rows)
            pid = int(part.integers("process_id", "pid")[0])
            yield self._process(part, key, pid), part

    def _process(self, columns: CsvColumns, key: str, pid: int) -> int:
        """The process of rows that state `key`; rows that state nothing are the first one's."""
        if "guid" not in columns:
            if pid < 0:
                known = next(iter(self._processes.values()), None)
                return self._new_process("", pid) if known is None else known
            key = str(pid)
        if key in self._processes:
            process = self._processes[key]
        elif "" in self._processes and "guid" not in columns:
            process = self._processes[key] = self._processes.pop("")
        else:
            process = self._new_process(key, pid)
        if self._rows.processes[process].pid < 0:
            self._rows.processes[process].pid = pid
        return process

    def _new_process(self, key: str, pid: int) -> int:
        if pid < 0 and self._group.prefix.isdecimal() and len(self._group.prefix) < 10:
            pid = int(self._group.prefix)
        facts = ProcessFacts(pid=pid, host=self._host, name=self._label, origin=self._label)
        self._processes[key] = self._rows.add_process(facts)
        return self._processes[key]

    def _common(self, columns: CsvColumns) -> dict[str, Array]:
        return {
            "start_ns": columns.integers("start_timestamp"),
            "end_ns": columns.integers("end_timestamp"),
            "thread": columns.integers("thread_id"),
            "correlation": columns.integers("correlation_id"),
        }

    def _dispatches(self, process: int, columns: CsvColumns) -> dict[str, Array]:
        gpus = self._agents.gpus(columns.texts("agent_id"))
        names = self._kernel_names(columns.texts("kernel_name"))
        queues = columns.integers("queue_id")
        return {
            **self._common(columns),
            "gpu": gpus,
            "queue": self._rows.queues(process, gpus, queues),
            "stream": columns.integers("stream_id"),
            "sequence": columns.integers("dispatch_id"),
            "name": names,
            "type": np.full(columns.row_count, self._strings.code(KERNEL_TYPE)),
            "kernel": self._kernel_rows(process, columns, names),
            "scratch_bytes": columns.integers(*_SCRATCH_SIZE),
            "grid_x": columns.integers("grid_size_x", "grid_size"),
            "grid_y": columns.integers("grid_size_y"),
            "grid_z": columns.integers("grid_size_z"),
            "workgroup_x": columns.integers("workgroup_size_x", "workgroup_size"),
            "workgroup_y": columns.integers("workgroup_size_y"),
            "workgroup_z": columns.integers("workgroup_size_z"),
        }

    def _kernel_names(self, texts: list[str]) -> Array:
        code = self._strings.code
        codes = {text: code(shown_kernel_name(text)) for text in dict.fromkeys(texts)}
        return np.array([codes[text] for text in texts], np.int32)

    def _kernel_rows(self, process: int, columns: CsvColumns, names: Array) -> Array:
        """Rows in `kernels`, one for each kernel id and name of a process.

        The LDS of a CSV row is the kernel's static one, rounded up, and not what the launch took.
        """
        kernel_ids = columns.integers("kernel_id").tolist()
        keys = [
            (process, kernel, name) for kernel, name in zip(kernel_ids, names.tolist(), strict=True)
        ]
        first_rows: dict[tuple[int, int, int], int] = {}
        for row, key in enumerate(keys):
            if key not in self._kernels:
                first_rows.setdefault(key, row)
        if first_rows:
            rows = np.array(list(first_rows.values()))
            added = self._rows.add_kernels(
                process,
                {
                    "name": names[rows],
                    "vgprs": columns.integers("vgpr_count")[rows],
                    "agprs": columns.integers("accum_vgpr_count")[rows],
                    "sgprs": columns.integers("sgpr_count")[rows],
                    "lds_bytes": columns.integers(*_LDS_SIZE)[rows],
                    "scratch_bytes": columns.integers(*_SCRATCH_SIZE)[rows],
                },
            )
            self._kernels.update(zip(first_rows, added.tolist(), strict=True))
        return np.array([self._kernels[key] for key in keys], np.int64)

    def _kernel_trace(self, process: int, columns: CsvColumns) -> None:
        dispatches = self._dispatches(process, columns)
        ids, kept = self._rows.add_ops(process, dispatches)
        has_counters = any(kind is CsvKind.COUNTERS for kind, _ in self._group.files)
        if has_counters and "dispatch_id" in columns:
            self._counters_of(process).add_dispatches(dispatches["sequence"][kept], ids)

    def _copies(self, process: int, columns: CsvColumns) -> None:
        types = [copy_type(direction) for direction in columns.texts("direction")]
        sources = self._agents.copy_ends(columns.texts("source_agent_id"), types, "DeviceTo")
        targets = self._agents.copy_ends(columns.texts("destination_agent_id"), types, "ToDevice")
        to_device = np.array(["HostToDevice" in name for name in types])
        gpus = np.where(to_device | (sources < 0), targets, sources)
        self._rows.builder.notes.add(
            "copies of which no GPU is known, counted for GPU 0", int((gpus < 0).sum())
        )
        self._rows.add_ops(
            process,
            {
                **self._common(columns),
                "gpu": np.maximum(gpus, 0),
                "queue": columns.integers("queue_id"),
                "stream": columns.integers("stream_id"),
                "name": np.full(columns.row_count, self._strings.code("")),
                "type": self._strings.codes(types),
                "size_bytes": columns.integers("size", "bytes"),
                "source_device": sources,
                "target_device": targets,
            },
        )

    def _calls(self, process: int, columns: CsvColumns) -> None:
        domains = columns.texts("domain")
        common = self._common(columns)
        common["name"] = self._strings.codes(columns.texts("function"))
        is_marker = np.array([domain.upper().startswith("MARKER") for domain in domains])
        if is_marker.any():
            markers = {name: column[is_marker] for name, column in common.items()}
            del markers["correlation"]
            self._rows.add_markers(process, markers, np.zeros(int(is_marker.sum()), bool))
        if not is_marker.all():
            calls = {
                **common,
                "category": self._strings.codes(domains),
                "domain": self._strings.codes([api_of_kind(domain) for domain in domains]),
            }
            self._rows.add_calls(process, {k: v[~is_marker] for k, v in calls.items()})

    def _allocations(self, process: int, columns: CsvColumns) -> None:
        """Allocations of device or scratch memory: host calls that cause no op."""
        kinds = columns.texts("kind")
        fields = ("agent_id", "allocation_size", "address", "alloc_flags", "queue_id")
        given = [(name, columns.texts(name)) for name in fields if name in columns]
        args = [
            orjson.dumps({name: cells[row] for name, cells in given})
            for row in range(columns.row_count)
        ]
        calls = {
            **self._common(columns),
            "name": self._strings.codes(columns.texts("operation")),
            "category": self._strings.codes(kinds),
            "domain": self._strings.codes([api_of_kind(kind) for kind in kinds]),
            "args": self._rows.builder.add_texts(args),
        }
        self._rows.add_calls(process, calls, causes_ops=False)

    def _counter_collection(self, process: int, columns: CsvColumns) -> None:
        counters = self._counters_of(process)
        dispatches = self._dispatches(process, columns)
        counters.add_ops(dispatches)
        values = columns.reals("counter_value").tolist()
        cells = zip(
            dispatches["sequence"].tolist(), columns.texts("counter_name"), values, strict=True
        )
        for dispatch, name, value in cells:
            counters.add_values(dispatch, (name,), (value,))

    def _counters_of(self, process: int) -> CounterRows:
        if process not in self._counters:
            self._counters[process] = CounterRows(self._rows, process)
        return self._counters[process]
