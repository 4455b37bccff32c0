"""Phases: which ops are prefill, decode or whatever a program marked, and what each phase did.

More than six names go out: rules and scopes are set by users; pages say where a phase is known
from.
"""

from wavescope.analyze.phases.annotations import phase_in_name
from wavescope.analyze.phases.assignment import (
    OUTSIDE,
    PhaseAssignment,
    PhaseOptions,
    PhaseSource,
    phases_of,
)
from wavescope.analyze.phases.name_signs import PhaseRules
from wavescope.analyze.phases.paths import PhaseScope
from wavescope.analyze.phases.tables import phases_result

__all__ = [
    "OUTSIDE",
    "PhaseAssignment",
    "PhaseOptions",
    "PhaseRules",
    "PhaseScope",
    "PhaseSource",
    "phase_in_name",
    "phases_of",
    "phases_result",
]
