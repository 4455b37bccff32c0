"""Many traces in one file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from wavescope.api.files import tell_notes
from wavescope.formats import open_source
from wavescope.formats.wavescope.writing import RankFrom, write_trace
from wavescope.model.paths import PathLike
from wavescope.model.progress import Progress, Tell, no_progress, tell_nobody
from wavescope.outputs import replaced


def merge(
    paths: Sequence[PathLike],
    output: PathLike,
    *,
    rank_from: RankFrom = RankFrom.NOWHERE,
    force: bool = False,
    progress: Progress = no_progress,
    tell: Tell = tell_nobody,
) -> Path:
    """Write the traces at `paths` into one trace file, losing nothing."""
    target = Path(output)
    with ExitStack() as stack:
        inputs = [Path(path) for path in paths]
        temporary = stack.enter_context(replaced(target, inputs, force=force))
        sources = [stack.enter_context(closing(open_source(path))) for path in paths]
        write_trace(sources, temporary, progress, rank_from=rank_from)
        for source in sources:
            tell_notes(source.notes, tell)
    return target
