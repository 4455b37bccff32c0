"""Steps: the iterations of a program, told by markers or by what repeats, and their times.

More than six names go out: phases, comparisons and digests ask for steps, each for another part of
the answer.
"""

from wavescope.analyze.steps.compared_steps import with_repeating_steps
from wavescope.analyze.steps.lane_steps import LaneSteps
from wavescope.analyze.steps.sampled_steps import sampled_steps_result
from wavescope.analyze.steps.step_tables import steps_result
from wavescope.analyze.steps.trace_steps import (
    STEP_NAMES,
    RepeatedSteps,
    StepOptions,
    Steps,
    repeated_steps,
    steps_of,
)

__all__ = [
    "STEP_NAMES",
    "LaneSteps",
    "RepeatedSteps",
    "StepOptions",
    "Steps",
    "repeated_steps",
    "sampled_steps_result",
    "steps_of",
    "steps_result",
    "with_repeating_steps",
]
