"""The trace file's schema: DDL derived from `model.columns`, and the views of the rocpd dialect.

Views give what their names promised in rocmProfileData, computed correctly: times of GPUs are
unions of intervals, never sums, and markers are not GPU work.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from wavescope.errors import UnreadableInputError
from wavescope.formats.sqlite.declared_tables import declared_tables

SCHEMA_VERSION = 1
"""Version of the wavescope_* tables, kept in PRAGMA user_version.

Readers ask for columns by name and take absent ones as unknown, so a version that only adds columns
or tables leaves older files readable as they are.
"""

ROCPD_SCHEMA_VERSION = "3"
"""Version of the rocpd dialect, kept in rocpd_metadata as rocmProfileData does."""

APPLICATION_ID = 0x77617665
"""PRAGMA application_id ('wave'): what marks an SQLite file as a wavescope trace."""

UNKNOWN_GPU = -2
"""What NULL in rocpd_op.gpuId is read as and written from: an op of unknown GPU is no marker."""

_EXTRA_COLUMNS = {"rocpd_op": ("sequenceId", "completionSignal", "TEXT")}
"""Column of the dialect that wavescope leaves empty: (after, name, type)."""

_DIALECT_TABLES = (
    "CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT NOT NULL)",
    "CREATE TABLE rocpd_ustring (id INTEGER PRIMARY KEY, string TEXT NOT NULL)",
    "CREATE TABLE rocpd_barrierop (op_ptr_id INTEGER PRIMARY KEY, signalCount, fences)",
    "CREATE TABLE rocpd_kernelcodeobject (id INTEGER PRIMARY KEY, vgpr, sgpr, fbar)",
    "CREATE TABLE rocpd_op_inputSignals (id INTEGER PRIMARY KEY, from_op_id, to_op_id)",
)
"""Strings, and tables of the dialect that queries may name though wavescope fills them not."""

VIEWS = {
    "op": """
        SELECT O.id, gpuId, queueId, sequenceId, start, end,
               coalesce(A.string, '') AS description, coalesce(B.string, '') AS opType
        FROM rocpd_op O
        LEFT JOIN rocpd_string A ON A.id = O.description_id
        LEFT JOIN rocpd_string B ON B.id = O.opType_id""",
    "api": """
        SELECT P.id, pid, tid, start, end, coalesce(D.string, '') AS domain,
               coalesce(C.string, '') AS category, coalesce(N.string, '') AS apiName,
               coalesce(T.string, '') AS args
        FROM rocpd_api P
        LEFT JOIN rocpd_string N ON N.id = P.apiName_id
        LEFT JOIN rocpd_string C ON C.id = P.category_id
        LEFT JOIN rocpd_string D ON D.id = P.domain_id
        LEFT JOIN rocpd_ustring T ON T.id = P.args_id""",
    "marker": """
        SELECT O.id, S.string AS name, start, end, end - start AS duration, pid, rank, tid,
               coalesce(C.string, '') AS category, coalesce(M.flags, 0) AS flags
        FROM (SELECT * FROM rocpd_op WHERE gpuId < 0) O
        JOIN rocpd_string S ON S.id = O.description_id
        LEFT JOIN wavescope_marker M ON M.op_id = O.id
        LEFT JOIN rocpd_string C ON C.id = M.category_id
        LEFT JOIN (SELECT id AS pkey, pid, rank FROM wavescope_process) ON pkey = M.process_id""",
    "top": """
        SELECT Name, sum(calls) AS TotalCalls, sum(total) / 1000 AS TotalDuration,
               sum(total) / sum(calls) / 1000 AS Ave,
               sum(total) * 100.0 / sum(sum(total)) OVER () AS Percentage
        FROM (SELECT CASE coalesce(A.string, '') WHEN '' THEN B.string ELSE A.string END AS Name,
                     calls, total
              FROM (SELECT description_id, opType_id, count(*) AS calls,
                           sum(end - start) AS total
                    FROM rocpd_op WHERE gpuId IS NOT -1 GROUP BY description_id, opType_id) G
              LEFT JOIN rocpd_string A ON A.id = G.description_id
              LEFT JOIN rocpd_string B ON B.id = G.opType_id)
        GROUP BY Name ORDER BY sum(total) DESC""",
    "ktop": """
        SELECT Name, sum(calls) AS TotalCalls, sum(total) / 1000 AS TotalDuration,
               sum(total) / sum(calls) / 1000 AS Ave,
               sum(total) * 100.0 / sum(sum(total)) OVER () AS Percentage
        FROM (SELECT A.string AS Name, calls, total
              FROM (SELECT description_id, opType_id, count(*) AS calls,
                           sum(end - start) AS total
                    FROM rocpd_op WHERE gpuId IS NOT -1 GROUP BY description_id, opType_id) G
              JOIN rocpd_string A ON A.id = G.description_id
              JOIN rocpd_string B ON B.id = G.opType_id
              WHERE B.string LIKE '%kernel%')
        GROUP BY Name ORDER BY sum(total) DESC""",
    "busy": """
        SELECT gpuId, GpuTime, WallTime, GpuTime * 1.0 / WallTime AS Busy
        FROM (SELECT gpuId, sum(max(0, end - max(start, coalesce(reached, start)))) AS GpuTime
              FROM (SELECT gpuId, start, end,
                           max(end) OVER (PARTITION BY gpuId ORDER BY start, end
                               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
                    FROM rocpd_op WHERE gpuId >= 0)
              GROUP BY gpuId),
             (SELECT max(end) - min(start) AS WallTime FROM rocpd_op WHERE gpuId >= 0)""",
    "kernel": """
        SELECT O.id, gpuId, queueId, sequenceId, start, end, end - start AS duration,
               coalesce(W.stream, K.stream) AS stream,
               coalesce(W.gridX, K.gridX) AS gridX, coalesce(W.gridY, K.gridY) AS gridY,
               coalesce(W.gridZ, K.gridZ) AS gridZ,
               coalesce(W.workgroupX, K.workgroupX) AS workgroupX,
               coalesce(W.workgroupY, K.workgroupY) AS workgroupY,
               coalesce(W.workgroupZ, K.workgroupZ) AS workgroupZ,
               coalesce(W.ldsBytes, K.groupSegmentSize) AS groupSegmentSize,
               coalesce(W.scratchBytes, K.privateSegmentSize) AS privateSegmentSize,
               A.string AS kernelName
        FROM rocpd_op O
        JOIN rocpd_string A ON A.id = O.description_id
        JOIN rocpd_string B ON B.id = O.opType_id
        LEFT JOIN wavescope_op W ON W.op_id = O.id
        LEFT JOIN rocpd_api_ops L ON L.op_id = O.id
        LEFT JOIN rocpd_kernelapi K ON K.api_ptr_id = L.api_id
        WHERE gpuId IS NOT -1 AND B.string LIKE '%kernel%'""",
    "copy": """
        SELECT P.id, pid, tid, start, end, N.string AS apiName, stream, size, width, height, kind,
               dst, src, dstDevice, srcDevice, sync, pinned
        FROM rocpd_copyapi C
        JOIN rocpd_api P ON P.id = C.api_ptr_id
        LEFT JOIN rocpd_string N ON N.id = P.apiName_id""",
    "copyop": """
        SELECT O.id, gpuId, queueId, sequenceId, O.start, O.end, O.end - O.start AS duration,
               coalesce(C.stream, W.stream) AS stream, coalesce(C.size, W.sizeBytes) AS size,
               width, height, kind, dst, src, coalesce(C.dstDevice, W.dstDevice) AS dstDevice,
               coalesce(C.srcDevice, W.srcDevice) AS srcDevice, sync, pinned,
               N.string AS apiName
        FROM rocpd_op O
        JOIN rocpd_string B ON B.id = O.opType_id
        LEFT JOIN wavescope_op W ON W.op_id = O.id
        LEFT JOIN rocpd_api_ops L ON L.op_id = O.id
        LEFT JOIN rocpd_copyapi C ON C.api_ptr_id = L.api_id
        LEFT JOIN rocpd_api P ON P.id = L.api_id
        LEFT JOIN rocpd_string N ON N.id = P.apiName_id
        WHERE gpuId IS NOT -1 AND B.string LIKE '%copy%'""",
}


def file_tables() -> dict[str, dict[str, str]]:
    """Every derived table of the file: its columns in order, with their SQL types."""
    tables = declared_tables()
    for name, (after, extra, sql_type) in _EXTRA_COLUMNS.items():
        tables[name] = _inserted(tables[name], after, extra, sql_type)
    return tables


def schema_statements() -> list[str]:
    """The statements that make an empty trace file."""
    tables = [
        f"CREATE TABLE {name} ("
        + ", ".join(f'"{column}" {sql_type}' for column, sql_type in columns.items())
        + ")"
        for name, columns in file_tables().items()
    ]
    views = [f"CREATE VIEW {name} AS {_one_line(sql)}" for name, sql in VIEWS.items()]
    pragmas = [
        f"PRAGMA application_id = {APPLICATION_ID}",
        f"PRAGMA user_version = {SCHEMA_VERSION}",
    ]
    return [*pragmas, *_DIALECT_TABLES, *tables, *views]


def _inserted(columns: dict[str, str], after: str, name: str, sql_type: str) -> dict[str, str]:
    result: dict[str, str] = {}
    for column, kind in columns.items():
        result[column] = kind
        if column == after:
            result[name] = sql_type
    return result


def _one_line(sql: str) -> str:
    return " ".join(sql.split())


def require_readable_version(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse files written by a later version, whose rows might mean something else."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        raise UnreadableInputError(
            path,
            f"its schema version is {version}, this wavescope reads up to {SCHEMA_VERSION}",
            hint="update wavescope: pip install --upgrade wavescope",
        )
