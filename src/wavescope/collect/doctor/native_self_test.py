"""Runs the native library on real data: writes a small trace file and reads it back."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from wavescope.formats import open_source
from wavescope.formats.sqlite.sqlite_pages import pages_library
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import OPS
from wavescope.model.op_kinds import KERNEL_TYPE
from wavescope.model.source import read_columns

_ROWS = 1000


def native_self_test() -> str:
    """What is wrong with the native library, or nothing."""
    if pages_library() is None:
        return "the library lacks the functions of this version"
    rng = np.random.default_rng(1)
    starts = np.cumsum(rng.integers(1, 1 << 40, _ROWS))
    builder = TraceBuilder("self-test", "self-test")
    names = builder.strings.codes([f"kernel {index % 7}" for index in range(_ROWS)])
    columns = {
        "gpu": np.arange(_ROWS) % 3,
        "queue": np.zeros(_ROWS),
        "start_ns": starts,
        "end_ns": starts + rng.integers(0, 1 << 20, _ROWS),
        "name": names,
        "type": np.full(_ROWS, builder.strings.code(KERNEL_TYPE)),
    }
    builder.add(OPS, columns)
    with tempfile.TemporaryDirectory(prefix="wavescope-") as folder:
        path = Path(folder) / "trace.db"
        write_trace([builder], path)
        source = open_source(path)
        try:
            read = read_columns(source, OPS, ("gpu", "start_ns", "end_ns", "name"))
            read_names = source.strings.decode(read["name"])
        finally:
            source.close()
    for name in ("gpu", "start_ns", "end_ns"):
        if not np.array_equal(read[name], columns[name]):
            return f"the self test read other values in column {name} than it wrote"
    if read_names != builder.strings.decode(names):
        return "the self test read other names than it wrote"
    return ""
