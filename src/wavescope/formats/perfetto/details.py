"""What a Perfetto file says of a trace beyond Perfetto's own messages, for our own reader.

The texts are JSON: one for the trace, with its small tables, and one for each track; `trace`
and `tracks` read them.
"""

from __future__ import annotations

from typing import Any

from wavescope.formats.timeline import Track, TrackKind, table_rows
from wavescope.model.columns import (
    AGENTS,
    METADATA,
    PROCESSES,
    QUEUES,
    THREADS,
    ColumnType,
    Table,
)
from wavescope.model.source import TraceSource
from wavescope.version import __version__

FORMAT_VERSION = 1
_SMALL_TABLES = (PROCESSES, THREADS, AGENTS, QUEUES, METADATA)


def trace_details(source: TraceSource, base_ns: int) -> dict[str, Any]:
    """Facts about the whole trace; `base_ns` was subtracted from all times."""
    return {
        "wavescope": FORMAT_VERSION,
        "version": __version__,
        "base_ns": base_ns,
        "tables": {table.name: _rows(source, table) for table in _SMALL_TABLES},
    }


def track_details(track: Track) -> dict[str, Any]:
    """What a track stands for."""
    if track.kind in (TrackKind.PROCESS, TrackKind.THREAD):
        return {
            "track": track.kind.value,
            "process": max(track.process, -1),
            "pid": track.unlisted_pid,
            "thread": track.thread,
        }
    return {"track": track.kind.value, "gpu": track.gpu, "queue": track.queue}


def _rows(source: TraceSource, table: Table) -> list[dict[str, int | str]]:
    """Rows as column: value, without what is unknown."""
    names = table.column_names
    unknown = {n: "" if table.column(n).type is ColumnType.STRING else -1 for n in names}
    return [
        {
            name: _valid(value)
            for name, value in zip(names, row, strict=True)
            if value != unknown[name]
        }
        for row in table_rows(source, table, names)
    ]


def _valid(value: int | str) -> int | str:
    """A value that JSON can hold: unpaired surrogates become question marks."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
