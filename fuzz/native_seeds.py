"""Seeds of the native fuzzers, made of the samples: `python -m fuzz.native_seeds FOLDER`."""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from fuzz.samples import SAMPLE_MAKERS
from tests.builders import a_trace
from tests.sample_files import write_as


def write_seeds(folder: Path) -> None:
    """A folder of small files for each program of native/fuzz."""
    with tempfile.TemporaryDirectory() as temporary:
        for fuzzer, files in _seeds(Path(temporary)).items():
            (folder / fuzzer).mkdir(parents=True, exist_ok=True)
            for name, content in files.items():
                (folder / fuzzer / name).write_bytes(content)


def _seeds(folder: Path) -> dict[str, dict[str, bytes]]:
    maker = a_trace().with_marker("m", 5, 9).with_call("c", 5, 7, args='{"n": 1}').with_link(1, 1)
    maker.with_kernel("gemm", 10, 20).with_copy(15, 18, size_bytes=64)
    chrome = write_as(maker, folder / "trace.json").read_bytes()
    capture = SAMPLE_MAKERS["captures"][0](folder / "capture")
    wave = next(capture.rglob("se*_wv0.json")).read_bytes()
    return {
        "fuzz_chrome_json": {
            "whole": b"\xff" + chrome,
            "pieces": b"\x03" + chrome,
            "kineto": b"\x20" + _two_events(),
        },
        "fuzz_thread_trace": {"wave": wave},
        "fuzz_perfetto_events": {"trace": write_as(maker, folder / "trace.pftrace").read_bytes()},
        "fuzz_dispatch_info": {"texts": b"hwq=0x7e4d2e6bb000 wg=256,1,1 grid=131072,1,1\nwg=1\n"},
        "fuzz_sqlite_pages": {
            f"pages_{page_bytes}": _database(folder / f"{page_bytes}.db", page_bytes) + b"\x1d"
            for page_bytes in (512, 1024)
        },
    }


def _two_events() -> bytes:
    event = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": "7", "ts": 1.5, "dur": 2}
    args = {"correlation": 5, "grid": [4, 1, 1], "block": "1,1,1", "stream": 7, "kind": "x"}
    return json.dumps({"a": {"b": [1]}, "traceEvents": [{**event, "args": args}, event]}).encode()


def _database(path: Path, page_bytes: int) -> bytes:
    """A table of three levels' worth of rows on pages as small as can be."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size = {page_bytes}")
        connection.execute("CREATE TABLE t (a INTEGER, b TEXT, c TEXT, d REAL, e TEXT)")
        connection.execute("BEGIN")
        for row in range(12):
            text = "x" * (700 if row == 3 else row)
            values = (row * 1_000_003, text, None if row % 4 else "é", row / 7, "e")
            connection.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?)", values)
        connection.execute("COMMIT")
    return path.read_bytes()


if __name__ == "__main__":
    write_seeds(Path(sys.argv[1]))
