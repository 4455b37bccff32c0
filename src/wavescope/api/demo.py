"""The trace that `wavescope demo` shows: recorded where a program runs here, else generated."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from wavescope.errors import WavescopeError
from wavescope.model.progress import Progress, Tell, no_progress, tell_nobody


def record_demo(
    output: Path,
    program: str | None = None,
    *,
    announce: Tell = tell_nobody,
    warn: Tell = tell_nobody,
    shows_output: bool = False,
) -> bool:
    """Record `llama` or `hip`, or the first of them that runs here; whether any did."""
    from wavescope.collect.demo import record_demo as recorded_demo  # noqa: PLC0415

    return recorded_demo(
        output, program, os.environ, announce=announce, warn=warn, shows_output=shows_output
    )


def generate_demo(output: Path, progress: Progress = no_progress) -> int:
    """Write a computed trace of the same shape; how many ops it has."""
    from wavescope.collect.demo import demo_trace  # noqa: PLC0415
    from wavescope.formats.output import replaced  # noqa: PLC0415
    from wavescope.formats.wavescope.writer import write_trace  # noqa: PLC0415
    from wavescope.model.columns import OPS  # noqa: PLC0415

    with closing(demo_trace()) as source, replaced(output, [], force=True) as temporary:
        write_trace([source], temporary, progress)
        return source.row_count(OPS)


def is_demo_trace(path: Path) -> bool:
    """Whether the file at `path` is a trace that a demo wrote."""
    from wavescope.collect.demo import is_demo  # noqa: PLC0415
    from wavescope.formats import open_trace  # noqa: PLC0415

    try:
        with open_trace(path) as trace:
            return is_demo(trace.metadata)
    except WavescopeError:
        return False
