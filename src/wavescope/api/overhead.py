"""What recording costs a program: measured in turns, kept as a file, compared with older ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.collect import OverheadOptions
from wavescope.model.overhead_runs import ArmRun, TraceFacts
from wavescope.model.result import Result

if TYPE_CHECKING:
    from wavescope.model.paths import PathLike

HearRun = Callable[[ArmRun, int, int], None]
"""Called after each run with the run, how many are done, and how many there are."""


def _hear_nothing(run: ArmRun, done: int, total: int) -> None:
    """For when nobody waits."""


def overhead(
    measured: OverheadOptions | PathLike | Sequence[PathLike],
    *,
    against: Sequence[PathLike] = (),
    threshold_percent: float = 1.0,
    save: PathLike | None = None,
    page: PathLike | None = None,
    force: bool = False,
    hear: HearRun = _hear_nothing,
) -> Result:
    """What recording costs: a program is run as the options say, or a kept measurement is read.

    Several kept measurements are shown beside one another by their cases: model, ranks, ...
    `against` names kept measurements to compare with, the oldest first. The measurement is kept at
    `save`, and `page` becomes a page of HTML.
    """
    from wavescope.analyze.compare.overhead import OverheadCheck, overhead_result  # noqa: PLC0415
    from wavescope.collect.overhead import measured_arms  # noqa: PLC0415
    from wavescope.formats.results import load_runs, save_runs  # noqa: PLC0415
    from wavescope.outputs import require_free  # noqa: PLC0415

    check = OverheadCheck(threshold_percent)
    for output in (save, page):
        if output is not None:  # refused before hours of runs, not after
            require_free(Path(output), [], force=force)
    before = [load_runs(Path(path)) for path in against]
    if isinstance(measured, OverheadOptions):
        runs, *others = [measured_arms(measured, os.environ, _trace_facts, hear)]
    else:
        paths = [measured] if isinstance(measured, str | os.PathLike) else measured
        runs, *others = [load_runs(Path(path)) for path in paths]
    if save is not None:
        save_runs(runs, Path(save), force=force)
    result = overhead_result(runs, before, check, others)
    if page is not None:
        _write_page(result, Path(page), force=force)
    return result


def costs_too_much(result: Result) -> bool | None:
    """Whether a mode really costs more than the threshold; None where that is unclear."""
    verdicts = {str(verdict) for verdict in result.table("overhead").column("verdict")}
    if "costs" in verdicts:
        return True
    return None if verdicts & {"unclear", "nothing recorded"} else False


def _trace_facts(path: Path) -> TraceFacts:
    """What the trace of a run holds."""
    import numpy as np  # noqa: PLC0415

    from wavescope.formats import open_trace  # noqa: PLC0415
    from wavescope.model.op_kinds import OpKind  # noqa: PLC0415

    with open_trace(path) as trace:
        names = trace.ops["name"][trace.op_kind == OpKind.KERNEL]
        seen, timed = (int(np.maximum(trace.coverage[name], 0).sum()) for name in ("seen", "timed"))
        return TraceFacts(len(trace.ops), len(np.unique(names)), seen, timed, path.stat().st_size)


def _write_page(result: Result, path: Path, *, force: bool) -> None:
    from wavescope.outputs import replaced  # noqa: PLC0415
    from wavescope.render.html.page import write_page  # noqa: PLC0415
    from wavescope.render.html.results import overhead_page  # noqa: PLC0415

    with (
        replaced(path, [], force=force) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as stream,
    ):
        write_page(overhead_page(result), stream)
