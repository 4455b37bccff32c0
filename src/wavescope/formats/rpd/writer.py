"""Exports a rocmProfileData file (.rpd, schema version 3) that its own tools accept.

They take the time range of a trace from its API rows. So calls become API rows, markers become
`UserMarker` rows with their text as arguments, and a trace that has neither gets one such row,
"trace", over the whole of its ops.
"""

from __future__ import annotations

from pathlib import Path

from wavescope.formats.registry import ExportOptions
from wavescope.formats.rpd.rows import RpdRows
from wavescope.formats.rpd.schema import INDEXES, table_statements
from wavescope.formats.sqlite.sqlite_bulk import BulkDatabase
from wavescope.formats.sqlite.sqlite_open import filling, sqlite_writing_errors
from wavescope.model.progress import Progress
from wavescope.model.source import TraceSource


def write_rpd(
    source: TraceSource,
    path: Path,
    options: ExportOptions,  # noqa: ARG001  a database is not compressed
    progress: Progress,
) -> None:
    """Write `source` as a new database at `path`."""
    with sqlite_writing_errors(path):
        with filling(path) as connection:
            for statement in table_statements():
                connection.execute(statement)
        with BulkDatabase(path) as database:
            RpdRows(source, database, progress).write()
        with filling(path) as connection:
            for statement in INDEXES:
                connection.execute(statement)
