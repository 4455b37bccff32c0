"""Reads the `timestamps.csv` of rocprof, v1 and v2: one row for each dispatch, with its times.

ROCm Compute Profiler leaves it in workload folders. The file beside it that holds counters,
`pmc_perf.csv`, has the same columns and counters after them, and is no trace.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wavescope.arrays import Array
from wavescope.closing import on_error
from wavescope.formats.csv_blocks import CsvBlocks, header_names
from wavescope.formats.rocprofv3.csv_files import CsvColumns
from wavescope.formats.rocprofv3.kinds import shown_kernel_name
from wavescope.formats.rocprofv3.rows import GpuFacts, ProcessFacts, Rocprofv3Rows
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import METADATA
from wavescope.model.op_kinds import KERNEL_TYPE
from wavescope.model.source import TraceSource

FORMAT = "rocprof timestamps"
_REQUIRED = frozenset(("dispatch_id", "gpu_id", "kernel_name", "start_timestamp", "end_timestamp"))
_COUNTED = (
    "sq_", "sqc_", "ta_", "td_", "tcp_", "tcc_", "cpc_", "cpf_", "spi_", "grbm_", "gds_",
    "counter_",
)  # fmt: skip
"""How the names of counters begin."""


def is_times_header(line: bytes) -> bool:
    """Whether a file with this first line lists dispatches with their times, and no counters."""
    names = header_names(line.decode("utf-8", "replace"))
    return _REQUIRED.issubset(names) and not any(name.startswith(_COUNTED) for name in names)


def open_rocprof_times(path: Path) -> TraceSource:
    """The trace of a timestamps.csv."""
    rows = Rocprofv3Rows(TraceBuilder(str(path), FORMAT))
    with on_error(rows.builder.close), CsvBlocks(path, ("kernel_name",)) as file:
        reader = _TimesReader(rows)
        for block in file.rows():
            reader.add(CsvColumns(file.header, block))
        notes = rows.builder.notes
        notes.add("CSV rows that cannot be made out, left out", file.skipped_rows)
        notes.add("blocks of text with invalid UTF-8, replaced by U+FFFD", file.replaced_blocks)
        notes.add("files whose gzip data ends early", int(file.was_cut))
        rows.builder.add_row(METADATA, tag="source_format", value=FORMAT)
        return rows.finished()


class _TimesReader:
    """Turns blocks of rows into ops and kernels."""

    def __init__(self, rows: Rocprofv3Rows) -> None:
        self._rows = rows
        self._strings = rows.builder.strings
        self._processes: dict[int, int] = {}
        self._kernels: dict[tuple[int, int], int] = {}
        self._gpu_numbers: dict[int, int] = {}

    def add(self, columns: CsvColumns) -> None:
        """Append the dispatches of a block, process by process."""
        pids, given = columns.integers("pid"), self._ops(columns)
        for pid in np.unique(pids).tolist():
            if pid not in self._processes:
                self._processes[pid] = self._rows.add_process(ProcessFacts(pid=pid))
            mine = np.flatnonzero(pids == pid)
            ops = {name: column[mine] for name, column in given.items()}
            process = self._processes[pid]
            ops["queue"] = self._rows.queues(process, ops["gpu"], ops["queue"])
            ops["kernel"] = self._kernel_rows(process, columns, ops["name"], mine)
            self._rows.add_ops(process, ops)

    def _ops(self, columns: CsvColumns) -> dict[str, Array]:
        names = [shown_kernel_name(text) for text in columns.texts("kernel_name")]
        return {
            "start_ns": columns.integers("start_timestamp"),
            "end_ns": columns.integers("end_timestamp"),
            "thread": columns.integers("tid"),
            "correlation": columns.integers("correlation_id"),
            "gpu": self._gpus(columns.integers("gpu_id")),
            "queue": columns.integers("queue_id", "queue-id"),
            "sequence": columns.integers("dispatch_id"),
            "name": self._strings.codes(names),
            "type": np.full(columns.row_count, self._strings.code(KERNEL_TYPE)),
            "lds_bytes": columns.integers("lds_per_workgroup"),
            "scratch_bytes": columns.integers("scratch_per_workitem"),
            "grid_x": columns.integers("grid_size"),
            "workgroup_x": columns.integers("workgroup_size"),
        }

    def _gpus(self, identities: Array) -> Array:
        """GPUs in the order in which they appear: their ids are the driver's, such as 60633."""
        distinct, first, which = np.unique(identities, return_index=True, return_inverse=True)
        numbers = np.empty(len(distinct), np.int64)
        for place in np.argsort(first).tolist():
            identity = int(distinct[place])
            number = self._gpu_numbers.setdefault(identity, len(self._gpu_numbers))
            numbers[place] = self._rows.gpu(GpuFacts("", identity, number))
        found: Array = numbers[which.reshape(-1)]
        return found

    def _kernel_rows(self, process: int, columns: CsvColumns, names: Array, mine: Array) -> Array:
        """Rows in `kernels`, one for each name of a process."""
        facts = {
            "vgprs": columns.integers("arch_vgpr"),
            "agprs": columns.integers("accum_vgpr"),
            "sgprs": columns.integers("sgpr"),
        }
        for name in dict.fromkeys(names.tolist()):
            if (process, name) not in self._kernels:
                row = mine[int(np.argmax(names == name))]
                given = {key: column[row : row + 1] for key, column in facts.items()}
                ids = self._rows.add_kernels(process, {"name": np.array([name]), **given})
                self._kernels[process, name] = int(ids[0])
        return np.array([self._kernels[process, name] for name in names.tolist()], np.int64)
