"""Marked steps beside those that repeat: what is said where both differ."""

from __future__ import annotations

from wavescope.analyze.steps.trace_steps import Steps, StepSource, repeated_steps
from wavescope.model.result import Finding, Result, Severity
from wavescope.units import counted


def with_repeating_steps(result: Result, steps: Steps) -> Result:
    """The result of marked steps with how many repetition finds, and a finding if that differs.

    Only repetition that names of kernels support is compared: layers repeat as well.
    """
    if steps.source is not StepSource.MARKERS:
        return result
    lanes = [lane for lane in repeated_steps(steps.trace).with_steps if lane.is_named]
    if not lanes:
        return result
    count = max(len(lane) for lane in lanes)
    result = result.with_facts({"repeating_step_count": count})
    if count == len(steps):
        return result
    return result.with_findings(
        [
            Finding(
                "steps-disagree",
                Severity.INFO,
                f"markers show {counted(len(steps), 'step')}, repeating kernels {count:,}",
                "the marked ones are shown; passes outside of markers, or several in one, differ",
                "`--without-markers` shows the others",
                numbers={"marked_step_count": len(steps), "repeating_step_count": count},
            )
        ]
    )
