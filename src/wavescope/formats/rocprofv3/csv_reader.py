"""Reads rocprofv3 CSV files: one of them with its siblings, or a folder with any number of sets.

Columns are found by name in any casing; `rocpd convert` writes the same files with a Guid or Pid
column in front. Each set of files is one process unless its rows name several.
"""

from __future__ import annotations

from pathlib import Path

from wavescope.closing import on_error
from wavescope.errors import UnreadableInputError
from wavescope.formats.rocprofv3.csv_files import (
    FileGroup,
    group_of_file,
    groups_in_folder,
)
from wavescope.formats.rocprofv3.csv_group import GroupReader
from wavescope.formats.rocprofv3.rows import Rocprofv3Rows
from wavescope.model.columns import METADATA
from wavescope.model.source import TraceSource

FORMAT = "rocprofv3 CSV"


def open_rocprofv3_csv(path: Path) -> TraceSource:
    """The trace of a folder of CSV files, or of one file and those that share its prefix."""
    if path.is_dir():
        groups, unreadable = groups_in_folder(path)
    else:
        group, unreadable = group_of_file(path)
        groups = [group]
    if not any(group.files for group in groups):
        raise UnreadableInputError(
            path,
            "there is no CSV file of rocprofv3",
            hint="expected files such as 1234_kernel_trace.csv",
        )
    rows = Rocprofv3Rows(str(path), FORMAT)
    rows.builder.notes.add("CSV files that cannot be opened, left out", unreadable)
    with on_error(rows.builder.close):
        for group in groups:
            GroupReader(rows, group, _label(group, path)).read()
        return _finished(rows, groups)


def _label(group: FileGroup, path: Path) -> str:
    """Where a set lies within the folder that was opened, as in pass_1/host/1234."""
    base = path if path.is_dir() else path.parent
    return (group.folder.relative_to(base) / (group.prefix or ".")).as_posix()


def _finished(rows: Rocprofv3Rows, groups: list[FileGroup]) -> TraceSource:
    builder = rows.finished()
    passes = {part for group in groups for part in group.folder.parts if part.startswith("pass_")}
    if len(passes) > 1:
        builder.notes.set(
            "passes, each a run of its own: the trace holds the ops of all of them", len(passes)
        )
    builder.add_row(METADATA, tag="source_format", value=FORMAT)
    return builder
