"""Phases and steps of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wavescope.api.opened import PathLike, opened, with_notes
from wavescope.model.result import Result
from wavescope.model.selection import Selection
from wavescope.model.trace import Trace

if TYPE_CHECKING:
    from wavescope.analyze.phases.phase_tables import PhaseTableOptions


def phases(
    trace: Trace | PathLike,
    options: PhaseTableOptions | None = None,
    *,
    selection: Selection | None = None,
) -> Result:
    """What each phase of a trace did: times, ops, top kernels.

    Phases are told by markers, in a trace without marker ranges by names and structure.
    """
    from wavescope.analyze.phases.phase_tables import phase_tables  # noqa: PLC0415
    from wavescope.analyze.phases.phases_result import serving_phases_result  # noqa: PLC0415

    with opened(trace, selection) as chosen:
        result = phase_tables(chosen, options)
        if not result.facts["range_count"]:
            result = serving_phases_result(chosen, options.kernels if options else None)
            result.facts["range_count"] = 0
        return with_notes(result, [chosen])


def steps(trace: Trace | PathLike, *, selection: Selection | None = None) -> Result:
    """How long each step takes, found by what repeats on each queue, and the slow ones."""
    from wavescope.analyze.phases.steps_result import steps_result  # noqa: PLC0415

    with opened(trace, selection) as chosen:
        return with_notes(steps_result(chosen), [chosen])
