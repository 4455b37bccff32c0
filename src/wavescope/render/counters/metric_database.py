"""Writes analyses of counters to one SQLite file: definitions, values of runs and of kernels.

Tables are called as those of ROCm Compute Profiler's analysis database; docs/metrics.md lists them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from wavescope.analyze.counters import Analysis, CounterOptions, analysis_result
from wavescope.analyze.counters.roofline import MemoryLevel, RooflineOptions, roofline
from wavescope.model.result import Finding
from wavescope.version import __version__

SCHEMA_VERSION = "1"
_ROOFLINE_ORDER = (MemoryLevel.VL1D, MemoryLevel.L2, MemoryLevel.HBM, MemoryLevel.LDS)
_SCHEMA = """
CREATE TABLE compute_metadata(name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE compute_workload(
  workload_id INTEGER PRIMARY KEY, name TEXT, path TEXT, chip TEXT, sys_info_extdata TEXT,
  roofline_bench_extdata TEXT);
CREATE TABLE compute_kernel(
  kernel_id INTEGER PRIMARY KEY, workload_id INTEGER REFERENCES compute_workload, kernel_name TEXT);
CREATE TABLE compute_dispatch(
  id INTEGER PRIMARY KEY, kernel_id INTEGER REFERENCES compute_kernel, dispatch_id INTEGER,
  gpu_id INTEGER, duration_ns REAL, selected INTEGER);
CREATE TABLE compute_metric_definition(
  metric_uuid INTEGER PRIMARY KEY, workload_id INTEGER REFERENCES compute_workload, metric_id TEXT,
  name TEXT, key TEXT, description TEXT, formula TEXT, table_name TEXT, sub_table_name TEXT,
  unit TEXT);
CREATE TABLE compute_workload_metric_value(
  workload_id INTEGER REFERENCES compute_workload, metric_uuid INTEGER REFERENCES
  compute_metric_definition, value_name TEXT, value REAL, note TEXT);
CREATE TABLE compute_kernel_metric_value(
  kernel_id INTEGER REFERENCES compute_kernel, metric_uuid INTEGER REFERENCES
  compute_metric_definition, value_name TEXT, value REAL);
CREATE TABLE compute_kernel_roofline_data(
  kernel_id INTEGER REFERENCES compute_kernel, total_flops REAL, l1_cache_data REAL,
  l2_cache_data REAL, hbm_cache_data REAL, lds_data REAL, duration_ns REAL);
CREATE TABLE compute_finding(
  workload_id INTEGER REFERENCES compute_workload, id TEXT, severity TEXT, title TEXT,
  evidence TEXT, suggestion TEXT, place TEXT);
CREATE VIEW compute_kernel_view AS
  SELECT w.name AS workload, k.kernel_id, k.kernel_name, count(*) AS count,
    sum(d.duration_ns) AS sum_ns, min(d.duration_ns) AS min_ns, max(d.duration_ns) AS max_ns,
    avg(d.duration_ns) AS mean_ns
  FROM compute_kernel k JOIN compute_workload w USING (workload_id)
    JOIN compute_dispatch d USING (kernel_id) GROUP BY k.kernel_id ORDER BY sum_ns DESC;
CREATE VIEW compute_workload_metric_view AS
  SELECT w.name AS workload, m.metric_id, m.name, m.key, v.value_name, v.value, m.unit, v.note
  FROM compute_workload_metric_value v JOIN compute_workload w USING (workload_id)
    JOIN compute_metric_definition m USING (metric_uuid);
CREATE VIEW compute_kernel_metric_view AS
  SELECT w.name AS workload, k.kernel_name, m.metric_id, m.name, m.key, v.value_name, v.value,
    m.unit
  FROM compute_kernel_metric_value v JOIN compute_kernel k USING (kernel_id)
    JOIN compute_workload w USING (workload_id)
    JOIN compute_metric_definition m USING (metric_uuid);
"""


def write_metric_database(
    path: Path, analyses: Sequence[Analysis], options: CounterOptions
) -> None:
    """Write a new file at `path` with everything that was analysed."""
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(_SCHEMA)
        database.executemany(
            "INSERT INTO compute_metadata VALUES (?, ?)",
            [
                ("schema_version", SCHEMA_VERSION),
                ("writer", f"wavescope {__version__}"),
                ("normal_unit", options.normal_unit.value),
                ("aggregation", options.aggregation.value),
            ],
        )
        for workload_id, analysis in enumerate(analyses, 1):
            _write_analysis(database, workload_id, analysis, options)


def _write_analysis(
    database: sqlite3.Connection, workload_id: int, analysis: Analysis, options: CounterOptions
) -> None:
    workload = analysis.workload
    database.execute(
        "INSERT INTO compute_workload VALUES (?, ?, ?, ?, ?, ?)",
        (
            workload_id,
            _text(workload.system.get("workload_name") or Path(workload.path).name),
            _text(workload.path),
            workload.chip,
            json.dumps(workload.system),
            json.dumps(workload.ceilings),
        ),
    )
    kernel_ids = _write_kernels(database, workload_id, analysis)
    _write_values(database, workload_id, analysis)
    _write_kernel_values(database, workload_id, analysis, kernel_ids)
    _write_roofline(database, analysis, kernel_ids)
    database.executemany(
        "INSERT INTO compute_finding VALUES (?, ?, ?, ?, ?, ?, ?)",
        [_finding_row(workload_id, found) for found in analysis_result(analysis, options).findings],
    )


def _write_kernels(database: sqlite3.Connection, workload_id: int, analysis: Analysis) -> list[int]:
    workload = analysis.workload
    first = database.execute("SELECT ifnull(max(kernel_id), 0) FROM compute_kernel").fetchone()[0]
    ids = [first + 1 + at for at in range(len(workload.kernel_names))]
    database.executemany(
        "INSERT INTO compute_kernel VALUES (?, ?, ?)",
        [(id_, workload_id, _text(n)) for id_, n in zip(ids, workload.kernel_names, strict=True)],
    )
    database.executemany(
        "INSERT INTO compute_dispatch VALUES (NULL, ?, ?, ?, ?, ?)",
        zip(
            (ids[code] for code in workload.kernel_codes.tolist()),
            workload.dispatch_ids.tolist(),
            workload.gpu_ids.tolist(),
            workload.durations_ns.tolist(),
            map(int, analysis.chosen.tolist()),
            strict=True,
        ),
    )
    return ids


def _write_values(database: sqlite3.Connection, workload_id: int, analysis: Analysis) -> None:
    metrics = analysis.values.measured.catalogue.metrics
    for table in analysis.tables:
        for row in table.rows:
            metric = metrics[row.key]
            cursor = database.execute(
                "INSERT INTO compute_metric_definition VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    workload_id,
                    row.id,
                    row.name,
                    row.key,
                    metric.meaning,
                    metric.value,
                    table.panel,
                    table.title,
                    row.unit,
                ),
            )
            database.executemany(
                "INSERT INTO compute_workload_metric_value VALUES (?, ?, ?, ?, ?)",
                [
                    (workload_id, cursor.lastrowid, name, value, row.note or None)
                    for name, value in row.values.items()
                ],
            )


def _write_kernel_values(
    database: sqlite3.Connection, workload_id: int, analysis: Analysis, kernel_ids: list[int]
) -> None:
    """The average of each metric for each kernel that was chosen."""
    definitions = {
        metric_id: uuid
        for uuid, metric_id in database.execute(
            "SELECT metric_uuid, metric_id FROM compute_metric_definition WHERE workload_id = ?",
            (workload_id,),
        )
    }
    catalogue = analysis.values.measured.catalogue
    present = sorted(set(analysis.selected.kernel_codes.tolist()))
    rows = []
    with np.errstate(all="ignore"):
        for table in analysis.tables:
            if table.is_per_channel:
                continue
            for row in table.rows:
                values = analysis.values.of_kernels(catalogue.metrics[row.key])
                rows += [
                    (kernel_ids[code], definitions[row.id], "avg", float(values[code]))
                    for code in present
                    if np.isfinite(values[code])
                ]
    database.executemany("INSERT INTO compute_kernel_metric_value VALUES (?, ?, ?, ?)", rows)


def _write_roofline(
    database: sqlite3.Connection, analysis: Analysis, kernel_ids: list[int]
) -> None:
    names = analysis.selected.kernel_names
    plotted = roofline(analysis.values, RooflineOptions(most_points=len(names)))
    places = {name: kernel_ids[at] for at, name in enumerate(names)}
    database.executemany(
        "INSERT INTO compute_kernel_roofline_data VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (
                places[point.name],
                point.operations,
                *(point.bytes.get(level) for level in _ROOFLINE_ORDER),
                point.time_ns,
            )
            for point in plotted.points
        ],
    )


def _finding_row(workload_id: int, finding: Finding) -> tuple[object, ...]:
    return (
        workload_id,
        finding.id,
        finding.severity.value,
        finding.title,
        _text(finding.evidence),
        finding.suggestion,
        _text(finding.where),
    )


def _text(text: str) -> str:
    """Text that SQLite can store: halves of surrogate pairs are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()
