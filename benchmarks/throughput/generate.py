"""Writes the benchmark's input: a trace shaped like what rocm-trace-lite records of LLM serving.

4 GPUs with 4 queues each, 150 kernel names, markers nested three deep, rows in completion order.
The file is rocm-trace-lite's own layout (dispatch text included), made with plain SQL so that the
input owes nothing to the code under test.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np

GPUS = 4
QUEUES = 4
NAMES = 150
MARKERS_PER_OP = 1 / 1000
_SCHEMA = """
CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT UNIQUE);
CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER,
  completionSignal TEXT, start INTEGER, end INTEGER, description_id INTEGER, opType_id INTEGER,
  roctxId INTEGER DEFAULT 0);
CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER,
  end INTEGER, apiName_id INTEGER, args_id INTEGER);
CREATE TABLE rocpd_api_ops (id INTEGER PRIMARY KEY, api_id INTEGER, op_id INTEGER);
CREATE TABLE rocpd_metadata (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
"""


def write_rtl_trace(path: Path, ops: int, seed: int = 7) -> None:
    """Write a trace of `ops` kernels to `path`."""
    rng = np.random.default_rng(seed)
    lane = rng.integers(0, GPUS * QUEUES, ops)
    duration = rng.integers(2_000, 60_000, ops)
    start = np.zeros(ops, np.int64)
    for index in range(GPUS * QUEUES):
        mine = np.flatnonzero(lane == index)
        ends = np.cumsum(duration[mine] + rng.integers(0, 3_000, len(mine)))
        start[mine] = 1_000_000_000 + ends - duration[mine]
    order = np.argsort(start + duration, kind="stable")
    names = rng.integers(0, NAMES, ops)
    shapes = rng.integers(1, 5_000, ops) * 256
    connection = sqlite3.connect(path)
    connection.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + _SCHEMA)
    with connection:
        connection.executemany("INSERT INTO rocpd_string VALUES (?, ?)", _strings())
        for first in range(0, ops, 200_000):
            rows = order[first : first + 200_000]
            connection.executemany(
                "INSERT INTO rocpd_op VALUES (?,?,?,0,?,?,?,?,1,0)",
                zip(
                    range(first + 1, first + 1 + len(rows)),
                    (lane[rows] // QUEUES).tolist(),
                    (140_000_000_000_000 + lane[rows] * 4096).tolist(),
                    _dispatch_texts(lane[rows], shapes[rows]),
                    start[rows].tolist(),
                    (start + duration)[rows].tolist(),
                    (names[rows] + 3).tolist(),
                    strict=True,
                ),
            )
        connection.executemany(
            "INSERT INTO rocpd_op VALUES (?,-1,0,0,NULL,?,?,?,2,0)",
            _markers(ops, int(start.min()), int((start + duration).max())),
        )
        connection.execute("INSERT INTO rocpd_metadata VALUES (1, 'pid', '4242')")
    connection.close()


def _strings() -> list[tuple[int, str]]:
    names = [
        f"void at::native::vectorized_elementwise_kernel<4, at::native::Functor{i}, 2>(int, float*)"
        if i % 3
        else f"Cijk_Ailk_Bljk_BBS_BH_MT{16 + i}x{32 + i}x64_MI16x16x16x1_SN_K1"
        for i in range(NAMES)
    ]
    markers = [f"step {i}" for i in range(100)]
    texts = ["KernelExecution", "UserMarker", *names, *markers]
    return list(enumerate(texts, start=1))


def _dispatch_texts(lanes: np.ndarray, shapes: np.ndarray) -> list[str]:
    return [
        f"hwq=0x7e4d2e{lane:02x}b000 wg=256,1,1 grid={shape},1,1"
        for lane, shape in zip(lanes.tolist(), shapes.tolist(), strict=True)
    ]


def _markers(ops: int, first_ns: int, last_ns: int) -> list[tuple[int, int, int, int]]:
    count = max(3, int(ops * MARKERS_PER_OP))
    outer = count // 3
    edges = np.linspace(first_ns, last_ns, outer + 1).astype(np.int64).tolist()
    rows = []
    for index in range(outer):
        begin, end = edges[index], edges[index + 1]
        quarter = (end - begin) // 4
        for depth in range(3):
            span = (begin + depth * quarter // 3, end - depth * quarter // 3)
            rows.append((ops + 1 + len(rows), *span, 3 + NAMES + (index + depth) % 100))
    return rows
