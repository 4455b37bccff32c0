"""What a file or folder is, told by its content."""

from __future__ import annotations

from pathlib import Path

from wavescope.errors import UnknownFormatError
from wavescope.formats import is_trace
from wavescope.model.paths import InputKind, PathLike


def kind_of(path: PathLike) -> InputKind:
    """What is at `path`; an error when it cannot be read or is nothing that is known.

    A folder can be several things at once, as rocprofv3 writes kernel traces beside captures and
    counters: it is a counter folder before it is a capture, and a trace only if it is neither.
    """
    given = Path(path)
    kind = _kind_of_folder(given) if given.is_dir() else _kind_of_file(given)
    if kind is None:
        raise UnknownFormatError(
            path,
            "it is neither a trace nor a capture nor a counter folder",
            hint="`wavescope info --formats` lists what can be read",
        )
    return kind


def _kind_of_file(path: Path) -> InputKind | None:
    if is_trace(path):
        return InputKind.TRACE
    from wavescope.formats.captures import holds_captures  # noqa: PLC0415  no trace file needs them
    from wavescope.formats.counters import is_workload  # noqa: PLC0415

    if is_workload(path):
        return InputKind.COUNTERS
    return InputKind.CAPTURE if holds_captures(path) else None


def _kind_of_folder(path: Path) -> InputKind | None:
    from wavescope.formats.captures import holds_captures  # noqa: PLC0415
    from wavescope.formats.counters import is_workload  # noqa: PLC0415

    if is_workload(path):
        return InputKind.COUNTERS
    if holds_captures(path):
        return InputKind.CAPTURE
    return InputKind.TRACE if is_trace(path) else None
