"""The tables of a trace, declared once.

Each column states its type, unit, meaning and where the trace file keeps it. The SQLite schema,
the reader, the Arrow schema and docs/trace-file.md are derived from here.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

UNKNOWN = -1
"""In every integer column that may be unknown: the value that stands for SQL's NULL."""


class ColumnType(enum.Enum):
    """What a column holds, with its NumPy and SQL types."""

    INT64 = ("int64", np.int64, "INTEGER")
    INT32 = ("int32", np.int32, "INTEGER")
    REAL = ("real", np.float64, "REAL")
    STRING = ("string", np.int32, "INTEGER")
    """A code into the trace's string table: names, of which there are few."""
    TEXT = ("text", np.int64, "INTEGER")
    """A handle of a free text (arguments), of which there may be as many as rows."""

    def __init__(self, label: str, dtype: type[np.generic], sql_type: str) -> None:
        self.label = label
        self.dtype = np.dtype(dtype)
        self.sql_type = sql_type


@dataclass(frozen=True)
class Column:
    """One column: `stored_in` is the file's table, `stored_as` its column there."""

    name: str
    type: ColumnType
    unit: str
    meaning: str
    stored_in: str
    stored_as: str

    @property
    def is_reference(self) -> bool:
        """Whether the file holds the id of a string (`..._id`) rather than the value itself."""
        return self.type in (ColumnType.STRING, ColumnType.TEXT) and self.stored_as.endswith("_id")

    @property
    def sql_type(self) -> str:
        """The SQL type of the column in the file."""
        inline = self.type is ColumnType.STRING and not self.is_reference
        return "TEXT" if inline else self.type.sql_type


@dataclass(frozen=True)
class Table:
    """One table in memory, kept in one or two tables of the file (the second one sparse).

    `keys` names, for each file table, the column that holds the row's id.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]
    keys: tuple[tuple[str, str], ...]

    def columns_in(self, file_table: str) -> tuple[Column, ...]:
        """The columns that the file keeps in `file_table`."""
        return tuple(column for column in self.columns if column.stored_in == file_table)

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """The declared column `name`; KeyError names the table."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"table {self.name} has no column {name}")


def _columns(stored_in: str, *rows: tuple[str, str, ColumnType, str, str]) -> tuple[Column, ...]:
    return tuple(
        Column(name, kind, unit, meaning, stored_in, stored_as)
        for name, stored_as, kind, unit, meaning in rows
    )


_I64, _I32, _REAL, _STRING, _TEXT = (
    ColumnType.INT64,
    ColumnType.INT32,
    ColumnType.REAL,
    ColumnType.STRING,
    ColumnType.TEXT,
)

OPS = Table(
    "ops",
    "GPU work: kernels, copies, fills, barriers and runs of whole graphs, one row each.",
    _columns(
        "rocpd_op",
        ("id", "id", _I64, "", "row id, increasing"),
        ("gpu", "gpuId", _I32, "", "GPU the op ran on, see `agents`; NULL in a file if unknown"),
        ("queue", "queueId", _I64, "", "queue (or stream) the op ran on, within its GPU"),
        ("sequence", "sequenceId", _I64, "", "position within the queue, 0 when not recorded"),
        ("start_ns", "start", _I64, "ns", "when the op began on the GPU"),
        ("end_ns", "end", _I64, "ns", "when the op ended; never before start_ns"),
        (
            "name",
            "description_id",
            _STRING,
            "",
            "kernel name, whole; of copies as the source says",
        ),
        ("type", "opType_id", _STRING, "", "KernelExecution, CopyHostToDevice, FillMemory, ..."),
    )
    + _columns(
        "wavescope_op",
        ("process", "process_id", _I32, "", "process that submitted the op, see `processes`"),
        ("thread", "tid", _I64, "", "host thread that submitted the op"),
        ("stream", "stream", _I64, "", "HIP or CUDA stream"),
        ("hardware_queue", "hwQueue", _I64, "", "address or number of the hardware queue"),
        ("correlation", "correlation", _I64, "", "id shared with the host call that caused the op"),
        ("kernel", "kernel_id", _I64, "", "kernel symbol, see `kernels`"),
        ("grid_x", "gridX", _I64, "work-items", "launch size in x"),
        ("grid_y", "gridY", _I64, "work-items", "launch size in y"),
        ("grid_z", "gridZ", _I64, "work-items", "launch size in z"),
        ("workgroup_x", "workgroupX", _I32, "work-items", "workgroup size in x"),
        ("workgroup_y", "workgroupY", _I32, "work-items", "workgroup size in y"),
        ("workgroup_z", "workgroupZ", _I32, "work-items", "workgroup size in z"),
        ("lds_bytes", "ldsBytes", _I64, "bytes", "group segment (LDS) of the launch"),
        ("scratch_bytes", "scratchBytes", _I64, "bytes", "private segment (scratch) per work-item"),
        ("size_bytes", "sizeBytes", _I64, "bytes", "bytes moved by a copy or fill"),
        ("source_device", "srcDevice", _I32, "", "device a copy reads from"),
        ("target_device", "dstDevice", _I32, "", "device a copy writes to"),
        ("graph", "graph_id", _I64, "", "executable graph that launched the op"),
        ("graph_node", "graphNode_id", _I64, "", "node of that graph"),
        ("marker", "marker_id", _I64, "", "innermost range open on the submitting thread"),
    ),
    (("rocpd_op", "id"), ("wavescope_op", "op_id")),
)

MARKERS = Table(
    "markers",
    "roctx, NVTX and profiler annotations: ranges and instant marks.",
    _columns(
        "rocpd_op",
        ("id", "id", _I64, "", "row id, increasing; markers and ops share one id space in a file"),
        ("start_ns", "start", _I64, "ns", "when the range opened or the mark was set"),
        ("end_ns", "end", _I64, "ns", "when the range closed; equal to start_ns for a mark"),
        ("name", "description_id", _STRING, "", "the marker's text"),
        ("type", "opType_id", _STRING, "", "UserMarker"),
    )
    + _columns(
        "wavescope_marker",
        ("process", "process_id", _I32, "", "process that set the marker"),
        ("thread", "tid", _I64, "", "thread that opened the range"),
        ("category", "category_id", _STRING, "", "roctx, nvtx, user_annotation, ..."),
        ("flags", "flags", _I32, "", "1 instant mark, 2 still open when recording ended"),
        ("domain", "domain_id", _STRING, "", "NVTX domain it was set in"),
        ("subcategory", "subcategory_id", _STRING, "", "NVTX category, by its name or number"),
        ("payload", "payload", _REAL, "", "number that the program gave with it"),
    ),
    (("rocpd_op", "id"), ("wavescope_marker", "op_id")),
)
MARKER_INSTANT = 1
MARKER_UNCLOSED = 2

CALLS = Table(
    "calls",
    "Host calls: HIP, HSA and CUDA API calls, PyTorch operators, Python functions.",
    _columns(
        "rocpd_api",
        ("id", "id", _I64, "", "row id, increasing"),
        ("pid", "pid", _I64, "", "operating system's process id"),
        ("thread", "tid", _I64, "", "operating system's thread id"),
        ("start_ns", "start", _I64, "ns", "when the call was entered"),
        ("end_ns", "end", _I64, "ns", "when the call returned"),
        ("name", "apiName_id", _STRING, "", "function or operator"),
        ("category", "category_id", _STRING, "", "kind of call: cpu_op, cuda_runtime, ..."),
        ("domain", "domain_id", _STRING, "", "API the call belongs to: HIP, HSA, ..."),
        ("args", "args_id", _TEXT, "", "arguments as text, JSON where the source had JSON"),
    )
    + _columns(
        "wavescope_call",
        ("process", "process_id", _I32, "", "process that made the call"),
        ("correlation", "correlation", _I64, "", "id shared with the ops it caused"),
        ("stream", "stream", _I64, "", "HIP or CUDA stream the call names"),
        ("return_code", "returnCode", _I64, "", "what the call returned"),
    ),
    (("rocpd_api", "id"), ("wavescope_call", "api_id")),
)

LINKS = Table(
    "links",
    "Which call caused which op; a graph launch causes many.",
    _columns(
        "rocpd_api_ops",
        ("call", "api_id", _I64, "", "id in `calls`"),
        ("op", "op_id", _I64, "", "id in `ops`"),
    ),
    (("rocpd_api_ops", "id"),),
)

LAUNCHES = Table(
    "launches",
    "Arguments of calls that launch kernels.",
    _columns(
        "rocpd_kernelapi",
        ("call", "api_ptr_id", _I64, "", "id in `calls`"),
        ("stream", "stream", _I64, "", "stream handle"),
        ("grid_x", "gridX", _I64, "", "gridX as passed to the call"),
        ("grid_y", "gridY", _I64, "", "gridY as passed to the call"),
        ("grid_z", "gridZ", _I64, "", "gridZ as passed to the call"),
        ("workgroup_x", "workgroupX", _I64, "work-items", "workgroup size in x"),
        ("workgroup_y", "workgroupY", _I64, "work-items", "workgroup size in y"),
        ("workgroup_z", "workgroupZ", _I64, "work-items", "workgroup size in z"),
        ("lds_bytes", "groupSegmentSize", _I64, "bytes", "dynamic LDS asked for"),
        ("scratch_bytes", "privateSegmentSize", _I64, "bytes", "scratch asked for"),
        ("name", "kernelName_id", _STRING, "", "kernel launched"),
    ),
    (("rocpd_kernelapi", "api_ptr_id"),),
)

COPIES = Table(
    "copies",
    "Arguments of calls that copy memory.",
    _columns(
        "rocpd_copyapi",
        ("call", "api_ptr_id", _I64, "", "id in `calls`"),
        ("stream", "stream", _I64, "", "stream handle"),
        ("size_bytes", "size", _I64, "bytes", "bytes to copy"),
        ("width", "width", _I64, "bytes", "row width of a 2D or 3D copy"),
        ("height", "height", _I64, "rows", "rows of a 2D or 3D copy"),
        ("kind", "kind", _I64, "", "hipMemcpyKind: 1 host to device, 2 back, 3 device to device"),
        ("target", "dst", _I64, "", "target address"),
        ("source", "src", _I64, "", "source address"),
        ("target_device", "dstDevice", _I64, "", "device copied to"),
        ("source_device", "srcDevice", _I64, "", "device copied from"),
        ("synchronous", "sync", _I64, "", "1 when the call waits for the copy"),
        ("pinned", "pinned", _I64, "", "1 when the host memory is page-locked"),
    ),
    (("rocpd_copyapi", "api_ptr_id"),),
)

PROCESSES = Table(
    "processes",
    "Processes (ranks) that took part.",
    _columns(
        "wavescope_process",
        ("id", "id", _I32, "", "row id, from 0"),
        ("pid", "pid", _I64, "", "operating system's process id"),
        ("parent_pid", "ppid", _I64, "", "process that started it"),
        ("rank", "rank", _I64, "", "rank in the parallel job"),
        ("world_size", "worldSize", _I64, "", "ranks in the parallel job"),
        ("host", "host_id", _STRING, "", "host name"),
        ("name", "name_id", _STRING, "", "program or label"),
        ("command", "command_id", _STRING, "", "command line"),
        ("start_ns", "start", _I64, "ns", "when recording began"),
        ("end_ns", "end", _I64, "ns", "when recording ended; unknown when it was cut off"),
        ("origin", "origin_id", _STRING, "", "trace file this process came from"),
    ),
    (("wavescope_process", "id"),),
)

THREADS = Table(
    "threads",
    "Named host threads.",
    _columns(
        "wavescope_thread",
        ("process", "process_id", _I32, "", "process of the thread"),
        ("thread", "tid", _I64, "", "operating system's thread id"),
        ("name", "name_id", _STRING, "", "thread name"),
    ),
    (("wavescope_thread", "id"),),
)

AGENTS = Table(
    "agents",
    "GPUs: what `gpu` numbers in `ops` stand for.",
    _columns(
        "wavescope_agent",
        ("gpu", "gpuId", _I32, "", "number used by `ops.gpu`"),
        ("process", "process_id", _I32, "", "process that sees it; unknown when all do"),
        ("local_index", "localIndex", _I32, "", "number it had in its own process or file"),
        ("host", "host_id", _STRING, "", "host name"),
        ("uuid", "uuid_id", _STRING, "", "what tells this GPU from all others"),
        ("chip", "chip_id", _STRING, "", "gfx942, sm_90, ..."),
        ("model", "model_id", _STRING, "", "product name"),
        ("cu_count", "cuCount", _I64, "", "compute units or multiprocessors"),
        ("clock_mhz", "clockMHz", _I64, "MHz", "highest engine clock"),
        ("wave_size", "waveSize", _I64, "work-items", "wavefront or warp size"),
        ("memory_bytes", "memoryBytes", _I64, "bytes", "device memory"),
    ),
    (("wavescope_agent", "id"),),
)

QUEUES = Table(
    "queues",
    "Names of queues.",
    _columns(
        "wavescope_queue",
        ("gpu", "gpuId", _I32, "", "GPU of the queue"),
        ("queue", "queueId", _I64, "", "number used by `ops.queue`"),
        ("name", "name_id", _STRING, "", "name to show"),
    ),
    (("wavescope_queue", "id"),),
)

KERNELS = Table(
    "kernels",
    "Kernel symbols: what the compiler and loader know of a kernel.",
    _columns(
        "wavescope_kernel",
        ("id", "id", _I64, "", "row id, increasing"),
        ("process", "process_id", _I32, "", "process that loaded it"),
        ("name", "name_id", _STRING, "", "whole demangled name"),
        ("mangled", "mangled_id", _STRING, "", "name in the code object"),
        ("vgprs", "vgprCount", _I64, "registers", "vector registers per work-item"),
        ("agprs", "agprCount", _I64, "registers", "accumulation registers per work-item"),
        ("sgprs", "sgprCount", _I64, "registers", "scalar registers per wave"),
        ("lds_bytes", "ldsBytes", _I64, "bytes", "static LDS; of CUDA all shared memory"),
        ("scratch_bytes", "scratchBytes", _I64, "bytes", "scratch per work-item"),
        ("kernarg_bytes", "kernargBytes", _I64, "bytes", "kernel argument segment"),
        ("code_object", "codeObject_id", _STRING, "", "where the code came from"),
    ),
    (("wavescope_kernel", "id"),),
)

COUNTERS = Table(
    "counters",
    "Hardware counter values per op.",
    _columns(
        "wavescope_counter",
        ("op", "op_id", _I64, "", "id in `ops`"),
        ("name", "name_id", _STRING, "", "counter"),
        ("value", "value", _REAL, "", "counted value"),
    ),
    (("wavescope_counter", "id"),),
)

MONITORS = Table(
    "monitors",
    "Values sampled over time: clocks, power, temperature, memory.",
    _columns(
        "rocpd_monitor",
        ("device_type", "deviceType", _STRING, "", "what was sampled: gpu, cpu"),
        ("device", "deviceId", _I64, "", "which one"),
        ("quantity", "monitorType", _STRING, "", "sclk, power, temp, ..."),
        ("start_ns", "start", _I64, "ns", "from when the value holds"),
        ("end_ns", "end", _I64, "ns", "until when the value holds"),
        ("value", "value", _STRING, "", "the value as recorded"),
    ),
    (("rocpd_monitor", "id"),),
)

COVERAGE = Table(
    "coverage",
    "What the recorder saw, timed, skipped and lost: how far the trace can be trusted.",
    _columns(
        "wavescope_coverage",
        ("process", "process_id", _I32, "", "process"),
        ("gpu", "gpuId", _I32, "", "GPU"),
        ("queue", "queueId", _I64, "", "queue"),
        ("mode", "mode_id", _STRING, "", "recording mode"),
        ("seen", "seen", _I64, "", "dispatches that passed the recorder"),
        ("timed", "timed", _I64, "", "of these, recorded with times"),
        ("skipped", "skipped", _I64, "", "of these, left out for `reason`"),
        ("lost", "lost", _I64, "", "of these, lost"),
        ("reason", "reason_id", _STRING, "", "why they were skipped or lost"),
    ),
    (("wavescope_coverage", "id"),),
)
OLDER_THAN_KEPT = {
    "--max-size": "older than the newest records, which are all that --max-size keeps",
    "--last": "older than the newest part, which is all that was to be kept",
}
"""The reason of dispatches that made room for newer ones, by the option that asks for it."""

SLICES = Table(
    "slices",
    "Times at which every kernel was recorded, where a recording was of such times only.",
    _columns(
        "wavescope_slice",
        ("process", "process_id", _I32, "", "process that was recorded in slices"),
        ("start_ns", "start", _I64, "ns", "every kernel that began from then on was recorded"),
        ("end_ns", "end", _I64, "ns", "until then; kernels may run on beyond it"),
    ),
    (("wavescope_slice", "id"),),
)

METADATA = Table(
    "metadata",
    "What is known of the run: command, versions, clocks, and the schema version.",
    _columns(
        "rocpd_metadata",
        ("tag", "tag", _STRING, "", "name of the fact"),
        ("value", "value", _STRING, "", "the fact as text"),
    ),
    (("rocpd_metadata", "id"),),
)

TABLES = (
    OPS,
    MARKERS,
    CALLS,
    LINKS,
    LAUNCHES,
    COPIES,
    PROCESSES,
    THREADS,
    AGENTS,
    QUEUES,
    KERNELS,
    COUNTERS,
    MONITORS,
    COVERAGE,
    SLICES,
    METADATA,
)
