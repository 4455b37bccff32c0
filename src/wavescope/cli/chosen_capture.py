"""Opens the one thread-trace capture that a command was given, or lists those to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wavescope.cli.progress import Progress

if TYPE_CHECKING:
    from wavescope.model.capture import ThreadTrace


def chosen_capture(path: str, *, reads_waves: bool, quiet: bool) -> ThreadTrace:
    """The capture at `path`: its folder, an archive of it, or a folder that holds just one."""
    from wavescope.formats.captures import ReadOptions, load_thread_trace, only_capture  # noqa: PLC0415  slow to import

    capture = only_capture(path)
    with Progress(f"reading {capture.name}", quiet=quiet) as progress:
        return load_thread_trace(capture, ReadOptions(reads_waves=reads_waves, report=progress))
