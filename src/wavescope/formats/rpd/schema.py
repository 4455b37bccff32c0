"""The schema of rocmProfileData files, version 3: its tables, views and indexes.

Names and columns are those its tools ask for. What it has no tables for is in those of our own
trace file, `wavescope_...`, which its tools do not ask for. Two views count better than theirs:
`top` counts every op, and `busy` takes the union of intervals, so that it never exceeds 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.sqlite.declared_tables import declared_tables

SCHEMA_VERSION = "3"
GPU_STRIDE = "1000"
PID_STRIDE = "10000000"

CARRIED_PREFIX = "wavescope_"
_COUNTERS = "wavescope_counter"
"""Which rocmProfileData has a table for."""
LAUNCHES_TAG = "wavescope_launches"
"""Tag of the fact that rocpd_kernelapi and rocpd_copyapi were made from ops."""

EMPTY_ID = 1
"""Id of the empty text in rocpd_string and rocpd_ustring."""
MARKER_ID = 2
"""Id of 'UserMarker' in rocpd_string; the trace's own strings follow."""

_ID = ("id", "integer NOT NULL PRIMARY KEY AUTOINCREMENT")
_STRING = 'bigint NOT NULL REFERENCES "rocpd_string" ("id") DEFERRABLE INITIALLY DEFERRED'
_USTRING = 'bigint NOT NULL REFERENCES "rocpd_ustring" ("id") DEFERRABLE INITIALLY DEFERRED'
_API = 'bigint NOT NULL REFERENCES "rocpd_api" ("id") DEFERRABLE INITIALLY DEFERRED'
_OP = 'bigint NOT NULL REFERENCES "rocpd_op" ("id") DEFERRABLE INITIALLY DEFERRED'
_API_KEY = _API.replace("NOT NULL", "NOT NULL PRIMARY KEY")
_INTEGER, _BOOL, _HANDLE = "integer NOT NULL", "bool NOT NULL", "varchar(18) NOT NULL"
_TEXT = "varchar(4096) NOT NULL"

TABLES: dict[str, tuple[tuple[str, str], ...]] = {
    "rocpd_metadata": (_ID, ("tag", _TEXT), ("value", _TEXT)),
    "rocpd_string": (_ID, ("string", _TEXT)),
    "rocpd_ustring": (_ID, ("string", _TEXT)),
    "rocpd_api": (
        _ID,
        *((name, _INTEGER) for name in ("pid", "tid", "start", "end")),
        *((name, _STRING) for name in ("apiName_id", "category_id", "domain_id")),
        ("args_id", _USTRING),
    ),
    "rocpd_op": (
        _ID,
        *((name, _INTEGER) for name in ("gpuId", "queueId", "sequenceId", "start", "end")),
        *((name, _STRING) for name in ("description_id", "opType_id")),
    ),
    "rocpd_api_ops": (_ID, ("api_id", _API), ("op_id", _OP)),
    "rocpd_kernelapi": (
        ("api_ptr_id", _API_KEY),
        ("stream", _HANDLE),
        *((f"{what}{axis}", _INTEGER) for what in ("grid", "workgroup") for axis in "XYZ"),
        *((name, _INTEGER) for name in ("groupSegmentSize", "privateSegmentSize")),
        ("kernelName_id", _STRING),
    ),
    "rocpd_copyapi": (
        ("api_ptr_id", _API_KEY),
        ("stream", _HANDLE),
        *((name, _INTEGER) for name in ("size", "width", "height", "kind")),
        *((name, _HANDLE) for name in ("dst", "src")),
        *((name, _INTEGER) for name in ("dstDevice", "srcDevice")),
        *((name, _BOOL) for name in ("sync", "pinned")),
    ),
    "rocpd_monitor": (
        _ID,
        ("deviceType", "varchar(16) NOT NULL"),
        ("deviceId", _INTEGER),
        ("monitorType", "varchar(16) NOT NULL"),
        ("start", _INTEGER),
        ("end", _INTEGER),
        ("value", "varchar(255) NOT NULL"),
    ),
    "rocpd_counter": (_ID, ("value", "real NOT NULL"), ("op_id", _OP), ("name_id", _STRING)),
    "rocpd_stackframe": (_ID, ("api_ptr_id", _API), ("depth", _INTEGER), ("name_id", _STRING)),
}

_API_COLUMNS = """
    D.string AS domain, C.string AS category, N.string AS apiName, T.string AS args
    FROM rocpd_api P
    JOIN rocpd_string N ON N.id = P.apiName_id
    JOIN rocpd_string C ON C.id = P.category_id
    JOIN rocpd_string D ON D.id = P.domain_id
    JOIN rocpd_ustring T ON T.id = P.args_id"""
_OP_COLUMNS = """
    A.string AS description, B.string AS opType
    FROM rocpd_op O
    JOIN rocpd_string A ON A.id = O.description_id
    JOIN rocpd_string B ON B.id = O.opType_id"""
_PID_STRIDE = "(SELECT value FROM rocpd_metadata WHERE tag = 'pid_stride')"
_GPU_STRIDE = "(SELECT value FROM rocpd_metadata WHERE tag = 'gpu_stride')"

VIEWS = {
    "api": f"SELECT P.id, pid, tid, start, end, {_API_COLUMNS}",
    "op": f"SELECT O.id, gpuId, queueId, sequenceId, start, end, {_OP_COLUMNS}",
    "busy": """
        SELECT gpuId, GpuTime, WallTime, GpuTime * 1.0 / WallTime AS Busy
        FROM (SELECT gpuId, sum(max(0, end - max(start, coalesce(reached, start)))) AS GpuTime
              FROM (SELECT gpuId, start, end, max(end) OVER (PARTITION BY gpuId
                        ORDER BY start, end ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                        AS reached FROM rocpd_op)
              GROUP BY gpuId),
             (SELECT max(end) - min(start) AS WallTime FROM rocpd_op)""",
    "top": """
        SELECT Name, sum(calls) AS TotalCalls, sum(total) / 1000 AS TotalDuration_us,
               sum(total) / sum(calls) / 1000.0 AS Ave_us,
               sum(total) * 100.0 / (SELECT sum(end - start) FROM rocpd_op) AS Percentage
        FROM (SELECT CASE A.string WHEN '' THEN B.string ELSE A.string END AS Name, calls, total
              FROM (SELECT description_id, opType_id, count(*) AS calls, sum(end - start) AS total
                    FROM rocpd_op GROUP BY description_id, opType_id) G
              JOIN rocpd_string A ON A.id = G.description_id
              JOIN rocpd_string B ON B.id = G.opType_id)
        GROUP BY Name ORDER BY TotalDuration_us DESC""",
    "kernel": """
        SELECT O.id, gpuId, queueId, sequenceId, start, end, end - start AS duration, stream,
               gridX, gridY, gridz, workgroupX, workgroupY, workgroupZ, groupSegmentSize,
               privateSegmentSize, S.string AS kernelName
        FROM rocpd_api_ops L
        JOIN rocpd_op O ON O.id = L.op_id
        JOIN rocpd_kernelapi K ON K.api_ptr_id = L.api_id
        JOIN rocpd_string S ON S.id = K.kernelName_id""",
    "copy": """
        SELECT P.id, pid, tid, start, end, S.string AS apiName, stream, size, width, height, kind,
               dst, src, dstDevice, srcDevice, sync, pinned
        FROM rocpd_copyapi C
        JOIN rocpd_api P ON P.id = C.api_ptr_id
        JOIN rocpd_string S ON S.id = P.apiName_id""",
    "copyop": """
        SELECT O.id, gpuId, queueId, sequenceId, O.start, O.end, O.end - O.start AS duration,
               stream, size, width, height, kind, dst, src, dstDevice, srcDevice, sync, pinned,
               S.string AS apiName
        FROM rocpd_api_ops L
        JOIN rocpd_op O ON O.id = L.op_id
        JOIN rocpd_copyapi C ON C.api_ptr_id = L.api_id
        JOIN rocpd_api P ON P.id = L.api_id
        JOIN rocpd_string S ON S.id = P.apiName_id""",
    "stackframe": """
        SELECT P.id, N.string, depth, F.string
        FROM rocpd_stackframe S
        JOIN rocpd_api P ON P.id = S.api_ptr_id
        JOIN rocpd_string N ON N.id = P.apiName_id
        JOIN rocpd_string F ON F.id = S.name_id""",
    "napi": f"""
        SELECT P.id, pid / {_PID_STRIDE} AS node, pid % {_PID_STRIDE} AS pid,
               tid % {_PID_STRIDE} AS tid, start, end, {_API_COLUMNS}""",
    "nop": f"""
        SELECT O.id, gpuId / {_GPU_STRIDE} AS node, gpuId % {_GPU_STRIDE} AS gpuId,
               queueId % {_GPU_STRIDE} AS queueId, sequenceId, start, end, {_OP_COLUMNS}""",
}

INDEXES = (
    "CREATE INDEX rocpd_strin_string_c7b9cd_idx ON rocpd_string (string)",
    "CREATE INDEX rocpd_ustri_string_84d4a7_idx ON rocpd_ustring (string)",
)
"""Made after the tables are filled."""


def string_ids(codes: Array) -> Array:
    """Ids in rocpd_string of codes of the trace's string table; the unknown code is empty."""
    return np.where(codes < 0, EMPTY_ID, codes.astype(np.int64) + MARKER_ID + 1)


def carried_tables() -> dict[str, dict[str, str]]:
    """The tables of our own file that it has besides: their columns with SQL types."""
    return {
        name: columns
        for name, columns in declared_tables().items()
        if name.startswith(CARRIED_PREFIX) and name != _COUNTERS
    }


def table_statements() -> Iterator[str]:
    """The statements that make the empty tables and the views."""
    for table, types in carried_tables().items():
        declared = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
        yield f'CREATE TABLE "{table}" ({declared})'
    for table, columns in TABLES.items():
        declared = ", ".join(f'"{name}" {kind}' for name, kind in columns)
        yield f'CREATE TABLE "{table}" ({declared})'
    for view, sql in VIEWS.items():
        yield f"CREATE VIEW {view} AS {' '.join(sql.split())}"
