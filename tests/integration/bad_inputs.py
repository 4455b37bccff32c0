"""Inputs that are damaged, cut, hostile or no traces at all, and what is to be said of them."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.builders import a_trace
from tests.formats.test_damaged_sqlite import rocpd_file, rtl_file
from tests.sample_files import SAMPLES, write_as

Make = Callable[[Path], Path]
"""Writes an input into a folder; the path to give to a command."""


def cut(sample: str, share: float) -> Make:
    """A sample of which only the first part is left."""

    def make(folder: Path) -> Path:
        whole = DATABASES[sample](folder) if sample in DATABASES else SAMPLES[sample](folder)
        path = whole.with_name(f"cut-{whole.name}")
        path.write_bytes(whole.read_bytes()[: max(1, int(whole.stat().st_size * share))])
        whole.unlink()
        return path

    return make


def content(data: bytes, name: str = "trace.json") -> Make:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(data)
        return path

    return make


def fifo(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def folder_without_traces(folder: Path) -> Path:
    (folder / "run").mkdir()
    (folder / "run" / "notes.txt").write_text("nothing here")
    return folder / "run"


def link_to_itself(folder: Path) -> Path:
    (folder / "loop").symlink_to(folder / "loop")
    return folder / "loop"


def edited(sample: str, *statements: str) -> Make:
    """A database sample after SQL statements changed it."""

    def make(folder: Path) -> Path:
        path = DATABASES[sample](folder)
        with closing(sqlite3.connect(path)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
        return path

    return make


DATABASES: dict[str, Make] = {
    "wavescope": SAMPLES["wavescope"],
    "rpd": SAMPLES["rpd"],
    "rtl": lambda folder: rtl_file(folder / "rtl.db"),
    "rocpd": lambda folder: rocpd_file(folder / "rocpd.db"),
}


def endless(sample: str, name: str) -> Make:
    """A database sample in which a view that counts without end has the name of a table."""
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    view = f"CREATE VIEW {name} AS {numbers} SELECT i AS id, 'x' AS string FROM n"
    renamed = f"ALTER TABLE {name} RENAME TO other"
    return edited(sample, "PRAGMA legacy_alter_table = ON", renamed, view)


REFUSED: dict[str, Make] = {
    **{f"{name} cut to {share}": cut(name, share) for name in DATABASES for share in (0.0, 0.003, 0.3, 0.7, 0.999)},
    "gzip cut in its head": cut("chrome-gz", 0.0005),
    "rocprofv3 before its records": cut("rocprofv3", 0.01),
    "empty": content(b""),
    "zeros": content(bytes(5000)),
    "text": content(b"this is no trace\n"),
    "half a brace": content(b"{"),
    "other JSON": content(b'{"rows": [1, 2, 3]}'),
    "broken JSON": content(b'{"traceEvents": [{"ph": "X",}]}'),
    "gzip of nothing": content(gzip.compress(b"", mtime=0)),
    "damaged gzip": content(b"\x1f\x8b" + b"damaged" * 50),
    "SQLite magic only": content(b"SQLite format 3\0"),
    "SQLite magic and noise": content(b"SQLite format 3\0" + b"\xff" * 5000),
    "folder": folder_without_traces,
    "FIFO": fifo,
    "link to itself": link_to_itself,
    "missing": lambda folder: folder / "missing.db",
    "device": lambda folder: Path("/dev/zero"),
    "too long a name": lambda folder: folder / ("n" * 300),
    "times that are text": edited("wavescope", "UPDATE rocpd_op SET start = 'soon'"),
    "row ids below zero": edited("wavescope", "UPDATE rocpd_op SET id = -id"),
    "endless strings": endless("wavescope", "rocpd_string"),
    "endless strings of rpd": endless("rpd", "rocpd_string"),
    "endless strings of rtl": endless("rtl", "rocpd_string"),
    "endless strings of rocpd": endless("rocpd", "rocpd_string_0000a_1"),
}  # fmt: skip


EMPTY: dict[str, Make] = {
    "wavescope": lambda folder: write_as(a_trace(), folder / "none.db"),
    "rpd": lambda folder: write_as(a_trace(), folder / "none.rpd"),
    "chrome": content(b'{"traceEvents": []}'),
    "chrome list": content(b"[]"),
    "perfetto": lambda folder: write_as(a_trace(), folder / "none.pftrace"),
    "rocprofv3": lambda folder: write_as(a_trace(), folder / "none_results.json"),
    "rtl": edited("rtl", "DELETE FROM rocpd_op"),
    "rocpd": edited("rocpd", "DELETE FROM rocpd_kernel_dispatch_0000a_1"),
    "rocprofv3-csv": lambda folder: _header_only(SAMPLES["rocprofv3-csv"](folder)),
    "links but no ops": edited("wavescope", "DELETE FROM rocpd_op"),
}


def _header_only(path: Path) -> Path:
    path.write_text(path.read_text().splitlines()[0] + "\n")
    return path


def chrome(*events: dict[str, object]) -> Make:
    plain: dict[str, object] = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 2}  # fmt: skip
    document = {"traceEvents": [{**plain, **event} for event in events]}
    return content(json.dumps(document).encode())


def csv_row(name: str, start: object, end: object) -> Make:
    def make(folder: Path) -> Path:
        path = SAMPLES["rocprofv3-csv"](folder)
        row = f'"KERNEL_DISPATCH",1,1,4100,1,1,"{name}",1,{start},{end}\n'
        path.write_text(path.read_text() + row)
        return path

    return make


SET_TIMES = "UPDATE rocpd_op SET end = start - 1000 WHERE id = 1"
REPAIRED: dict[str, tuple[Make, str]] = {
    "JSON cut in the middle": (cut("chrome", 0.5), "cut short"),
    "gzipped JSON cut": (cut("chrome-gz", 0.8), "cut short"),
    "rocprofv3 JSON cut": (cut("rocprofv3", 0.7), "ends in the middle"),
    "Perfetto cut": (cut("perfetto", 0.6), "ends within a packet"),
    "CSV cut": (cut("rocprofv3-csv", 0.98), "cannot be made out"),
    "ends before starts": (edited("wavescope", SET_TIMES), "ended before they started"),
    "ends before starts, RTL": (edited("rtl", SET_TIMES), "ended before they started"),
    "ends before starts, RPD": (edited("rpd", SET_TIMES), "ended before they started"),
    "ends before starts, CSV": (csv_row("k", 900, 100), "end before they start"),
    "negative duration": (chrome({"dur": -5}), "ended before they began"),
    "times that are text": (chrome({"ts": "soon"}, {}), "time"),
    "times that are text, RTL": (edited("rtl", "UPDATE rocpd_op SET start = 'soon' WHERE id = 1"), "skipped"),
    "times that are text, CSV": (csv_row("k", "soon", "later"), "without times"),
    "dangling string ids": (edited("wavescope", "UPDATE rocpd_op SET description_id = 99999"), "refer to a string that is not in the file"),
    "dangling string ids, RTL": (edited("rtl", "UPDATE rocpd_op SET description_id = 99999"), "refer to a string that is not in the file"),
    "no strings, RPD": (edited("rpd", "DELETE FROM rocpd_string"), "refer to a string that is not in the file"),
    "duplicate ids": (edited("rtl", "CREATE TABLE x AS SELECT * FROM rocpd_op UNION ALL SELECT * FROM rocpd_op", "DROP TABLE rocpd_op", "ALTER TABLE x RENAME TO rocpd_op"), "repeat an earlier id"),
    "invalid UTF-8, RTL": (edited("rtl", "UPDATE rocpd_string SET string = CAST(x'ff' || id AS TEXT)"), "not valid UTF-8"),
    "invalid UTF-8": (content(b'{"traceEvents":[{"ph":"X","cat":"kernel","name":"\xff\xfe","pid":0,"tid":0,"ts":1,"dur":1}]}'), "UTF-8"),
    "missing kernels, rocpd": (edited("rocpd", "DELETE FROM rocpd_info_kernel_symbol_0000a_1"), "name a kernel that is not in the file"),
}  # fmt: skip
