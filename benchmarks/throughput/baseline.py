"""How it is usually done: SQL views for the summary, a list of dicts and json.dump for the export.

Run beside wavescope on the same file, these give the ratios that `run.py` prints. They are written
for comparison in the way the existing tools work, and do no more than those do.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import sys
from pathlib import Path

_TOP = """
SELECT s.string, count(*), sum(o.end - o.start), avg(o.end - o.start), min(o.end - o.start),
       max(o.end - o.start),
       100.0 * sum(o.end - o.start) / (SELECT sum(end - start) FROM rocpd_op
                                       WHERE end > start AND gpuId >= 0)
FROM rocpd_op o JOIN rocpd_string s ON o.description_id = s.id
WHERE o.end > o.start AND o.gpuId >= 0 GROUP BY s.string ORDER BY 3 DESC
"""
_BUSY = """
SELECT gpuId, 100.0 * sum(end - start) / (max(end) - min(start)), count(*)
FROM rocpd_op WHERE end > start GROUP BY gpuId
"""


def summary(path: Path) -> None:
    """Top kernels and utilization by SQL; no percentiles, sums instead of unions."""
    connection = sqlite3.connect(path)
    for statement in ("SELECT count(*) FROM rocpd_op", _TOP, _BUSY):
        for row in connection.execute(statement):
            print(*row)
    connection.close()


def export(path: Path, target: Path) -> None:
    """Chrome JSON from a list of all events, gzipped."""
    connection = sqlite3.connect(path)
    (first,) = connection.execute("SELECT min(start) FROM rocpd_op").fetchone()
    events = [
        {
            "name": name,
            "cat": "KernelExecution",
            "ph": "X",
            "pid": gpu,
            "tid": queue,
            "ts": (start - first) / 1000,
            "dur": (end - start) / 1000,
            "args": {"gpu": gpu, "queue": queue, "dispatch": dispatch},
        }
        for gpu, queue, dispatch, start, end, name in connection.execute(
            "SELECT gpuId, queueId, completionSignal, start, end, string FROM rocpd_op o"
            " JOIN rocpd_string s ON o.description_id = s.id"
        )
    ]
    connection.close()
    with gzip.open(target, "wt") as file:
        json.dump({"traceEvents": events}, file)


if __name__ == "__main__":
    job, *paths = sys.argv[1:]
    {"summary": summary, "export": export}[job](*(Path(path) for path in paths))
