"""Filling a SQLite table: wavescope's pages against INSERTs prepared once, in C and in Python.

    .venv/bin/python benchmarks/sqlite_writer/run.py        # needs libsqlite3-dev and a C compiler

Every way is a process of its own that writes the same rows into a table that is there already; CPU is
its user plus system time, less what a run without rows takes. Best of `--rounds`, in turns.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCHEMA = (
    "CREATE TABLE ops (id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER,"
    " start INTEGER, end INTEGER, description_id INTEGER, opType_id INTEGER)"
)
PAGES = """
import sys
from pathlib import Path
import numpy as np
from wavescope.formats.sqlite.sqlite_bulk import BulkTable
rows = int(sys.argv[2])
with BulkTable(Path(sys.argv[1]), "ops") as table:
    for first in range(0, rows, 1 << 16):
        row = np.arange(first, min(first + (1 << 16), rows))
        start = 1_700_000_000_000_000_000 + row * 1000
        columns = (row + 1, row % 4, row % 16, row, start, start + 700 + row % 100, row % 150)
        names = ("id", "gpuId", "queueId", "sequenceId", "start", "end", "description_id")
        table.append({**dict(zip(names, columns)), "opType_id": np.ones(len(row), np.int64)})
"""
EXECUTEMANY = """
import sqlite3, sys
rows = int(sys.argv[2])
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = OFF")
connection.execute("PRAGMA synchronous = OFF")
connection.execute("BEGIN")
base = 1_700_000_000_000_000_000
connection.executemany(
    "INSERT INTO ops VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    (
        (n + 1, n % 4, n % 16, n, base + n * 1000, base + n * 1000 + 700 + n % 100, n % 150, 1)
        for n in range(rows)
    ),
)
connection.execute("COMMIT")
"""


def cpu_s(command: list[str], folder: Path, rows: int) -> tuple[float, list[tuple[int, ...]]]:
    """What filling a new file costs, and a digest of its rows."""
    path = folder / "trace.db"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(SCHEMA)
    process = subprocess.Popen([*command, str(path), str(rows)])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} failed with {process.returncode}")
    with closing(sqlite3.connect(path)) as connection:
        digest = connection.execute(
            "SELECT count(*), sum(id), sum(start - 1700000000000000000), sum(end - start),"
            " sum(gpuId + queueId + sequenceId + description_id + opType_id) FROM ops"
        ).fetchall()
    return usage.ru_utime + usage.ru_stime, digest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "prepared_inserts"
        source = HERE / "prepared_inserts.c"
        subprocess.run(["cc", "-O2", "-o", program, source, "-lsqlite3"], check=True)
        ways = {
            "wavescope's pages": [sys.executable, "-c", PAGES],
            "prepared INSERT in C": [str(program)],
            "sqlite3.executemany": [sys.executable, "-c", EXECUTEMANY],
        }
        costs: dict[str, list[float]] = {way: [] for way in ways}
        digests = set()
        for _ in range(options.rounds):
            for way, command in ways.items():
                empty, _ = cpu_s(command, folder, 0)
                filled, digest = cpu_s(command, folder, options.rows)
                costs[way].append(filled - empty)
                digests.add(tuple(digest))
    if len(digests) != 1:
        raise SystemExit("the ways wrote different rows")
    pages = min(costs["wavescope's pages"])
    print(f"{options.rows:,} rows of 8 integers, CPU seconds, best of {options.rounds}")
    for way, values in costs.items():
        print(f"{way:24} {min(values):6.2f} s {min(values) / pages:6.1f}x")


if __name__ == "__main__":
    main()
