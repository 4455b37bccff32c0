"""Opens the one thread-trace capture that a command was given, or lists those to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wavescope.cli.progress import Progress
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.model.thread_trace import ThreadTrace

_LISTED = 8


def chosen_capture(path: str, *, reads_waves: bool, quiet: bool) -> ThreadTrace:
    """The capture at `path`: its folder, an archive of it, or a folder that holds just one."""
    from wavescope.load.thread_trace import (  # noqa: PLC0415  slow to import
        ReadOptions,
        find_captures,
        load_thread_trace,
    )

    found = find_captures([path])
    if len(found) > 1:
        names = ", ".join(location.path for location in found[:_LISTED])
        more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
        raise UsageError(f"{path} holds {len(found)} captures", hint=f"name one: {names}{more}")
    with Progress(f"reading {found[0].name}", quiet=quiet) as progress:
        return load_thread_trace(found[0], ReadOptions(reads_waves=reads_waves, report=progress))
