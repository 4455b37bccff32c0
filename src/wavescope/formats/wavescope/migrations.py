"""Versions of the trace file: what can be read, and how older files are brought up to date.

The version is PRAGMA user_version. Readers ask for columns by name and take absent ones as unknown,
so a version that only adds columns or tables needs no step; a step is for what must be rewritten.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from wavescope.errors import UnreadableInputError
from wavescope.formats.wavescope.schema import SCHEMA_VERSION

Step = Callable[[sqlite3.Connection], None]
STEPS: dict[int, Step] = {}
"""From version N to N + 1, by N."""


def file_version(connection: sqlite3.Connection) -> int:
    """The schema version that a trace file states."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def require_readable_version(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse files written by a later version, whose rows might mean something else."""
    version = file_version(connection)
    if version > SCHEMA_VERSION:
        raise UnreadableInputError(
            path,
            f"its schema version is {version}, this wavescope reads up to {SCHEMA_VERSION}",
            hint="update wavescope: pip install --upgrade wavescope",
        )


def migrate(connection: sqlite3.Connection) -> int:
    """Bring an open, writable trace file to the current version; the version it had."""
    before = file_version(connection)
    for version in range(before, SCHEMA_VERSION):
        with connection:
            if version in STEPS:
                STEPS[version](connection)
            connection.execute(f"PRAGMA user_version = {version + 1}")
    return before
