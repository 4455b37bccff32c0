"""The table `files`: what was given, and what could not be used of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wavescope.model.progress import NO_LAUNCH
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of


class FileState(NamedTuple):
    """A file or folder that was given, or a rank that none was given of."""

    path: str
    rank: int | None = None
    problem: str = ""
    """Why it is not part of the job, as a sentence; "" when it was read."""
    op_count: int = 0
    notes: tuple[str, ...] = ()
    """What of it was skipped or repaired while it was read, as sentences."""

    @property
    def is_repaired(self) -> bool:
        """Whether there is more to be said than that launches of ops are not known."""
        return not all(NO_LAUNCH in note for note in self.notes)


def files_table(files: Sequence[FileState]) -> ResultTable:
    """All files, those with a problem first, then those that were repaired, by rank and path."""
    ordered = sorted(
        files,
        key=lambda file: (
            not file.problem,
            not file.is_repaired,
            file.rank is None,
            file.rank or 0,
            file.path,
        ),
    )
    return table_of("files", "Files", _COLUMNS, ordered)


_COLUMNS: tuple[ColumnOf[FileState], ...] = (
    ResultColumn("path", "Path", Unit.NAME, "as it was given or found").of(lambda file: file.path),
    ResultColumn("rank", "Rank", Unit.NONE, "global rank it is of").of(lambda file: file.rank),
    ResultColumn("state", "State", Unit.NAME, "read, or left out").of(
        lambda file: "left out" if file.problem else "read"
    ),
    ResultColumn("op_count", "Ops", Unit.COUNT, "ops that were read").of(
        lambda file: file.op_count
    ),
    ResultColumn("problem", "Problem", Unit.NAME, "why it was left out").of(
        lambda file: file.problem or None
    ),
    ResultColumn("notes", "Notes", Unit.NAME, "what was skipped or repaired while it was read").of(
        lambda file: "; ".join(file.notes) or None
    ),
)
