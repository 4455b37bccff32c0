"""Phases and steps of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wavescope.api.opened import (
    Where,
    concluded,
    opened,
    selection_of,
    with_notes,
)
from wavescope.model.paths import PathLike
from wavescope.model.progress import Tell, tell_nobody
from wavescope.model.result import Result
from wavescope.model.selection import Selection
from wavescope.model.trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from wavescope.analyze.phases import PhaseOptions
    from wavescope.analyze.steps import StepOptions


def phases(
    trace: Trace | PathLike,
    options: PhaseOptions | None = None,
    *,
    selection: Selection | None = None,
    tell: Tell = tell_nobody,
    **where: Unpack[Where],
) -> Result:
    """What each phase of a trace did: times, ops, top kernels.

    Phases are told by markers where these tell them apart, else by names and structure.
    """
    from wavescope.analyze.phases import phases_result  # noqa: PLC0415

    chosen = selection_of(selection, where)
    with opened(trace, chosen) as part:
        result = with_notes(phases_result(part, options), [part])
        return concluded(result, [part], chosen, tell)


def steps(
    trace: Trace | PathLike,
    options: StepOptions | None = None,
    *,
    selection: Selection | None = None,
    most_steps: int | None = None,
    tell: Tell = tell_nobody,
    **where: Unpack[Where],
) -> Result:
    """How long each step takes, the slow ones, and the first `most_steps` of them (all by default).

    Steps are told by markers where several are named like steps, else by what repeats on queues.
    """
    from wavescope.analyze.ops.coverage import recorded  # noqa: PLC0415
    from wavescope.analyze.phases import phases_of  # noqa: PLC0415
    from wavescope.analyze.steps import (  # noqa: PLC0415
        StepOptions,
        sampled_steps_result,
        steps_of,
        steps_result,
        with_repeating_steps,
    )

    options = options or StepOptions()
    chosen = selection_of(selection, where)
    with opened(trace, chosen) as part:
        if recorded(part) is not None:
            result = sampled_steps_result(part, options).with_facts({"op_count": len(part.ops)})
            return concluded(with_notes(result, [part]), [part], chosen, tell)
        told = phases_of(part, use_markers=options.use_markers)
        found = steps_of(
            part,
            options,
            marked=None if told.marked is None else told.marked.marked_ops,
            repeated=None if told.found is None else told.found.steps,
        )
        result = steps_result(found, told.labels, told.codes, most_steps)
        result = with_repeating_steps(result, found).with_facts({"op_count": len(part.ops)})
        return concluded(with_notes(result, [part]), [part], chosen, tell)
