"""Notes that a file keeps in its metadata: what was skipped or repaired before it was written."""

from __future__ import annotations

from wavescope.formats.sqlite.sqlite_open import ReadOnlyDatabase
from wavescope.formats.sqlite.sqlite_table import table_layout
from wavescope.model.progress import NOTE_TAG, Notes

_TABLE = "rocpd_metadata"
_MOST_NOTES = 1000


def take_kept_notes(database: ReadOnlyDatabase, notes: Notes) -> None:
    """Take over the notes of a file into `notes`; values that are none are passed over."""
    if not database.has_table(_TABLE):
        return
    layout = table_layout(database.connection, _TABLE)
    if layout.column("tag") is None or layout.column("value") is None:
        return
    kept = database.connection.execute(
        f"SELECT tag, value FROM main.{_TABLE} WHERE substr(tag, 1, ?) = ? LIMIT ?",  # noqa: S608
        (len(NOTE_TAG), NOTE_TAG, _MOST_NOTES),
    )
    for tag, value in kept:
        if isinstance(tag, str):
            notes.take_fact(tag, str(value))
