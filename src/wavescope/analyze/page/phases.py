"""The phases of a trace as classes of a page: few enough to be told apart by colour."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.phases import OUTSIDE, PhaseAssignment, PhaseSource
from wavescope.analyze.timeline import Colouring
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import looked_up
from wavescope.arrays.groups import group_sums

__all__ = ["OUTSIDE", "REST", "phase_colouring"]

REST = "other markers"

_MOST_PHASES = 6
_TITLES = {
    PhaseSource.MARKERS: "Phase (markers)",
    PhaseSource.STRUCTURE: "Phase (inferred)",
}


def phase_colouring(durations_ns: Array, phases: PhaseAssignment) -> Colouring | None:
    """The phases that take most time, first seen first, and the others together; None where
    nothing tells phases apart."""
    if phases.source is PhaseSource.NONE:
        return None
    count = len(phases.labels)
    totals = np.array(group_sums(phases.codes + 1, durations_ns, count + 1)[1:], np.int64)
    kept = sorted(np.argsort(-totals, kind="stable")[:_MOST_PHASES].tolist())
    place = np.full(count + 1, len(kept), np.uint8)
    place[kept] = np.arange(len(kept))
    # The last entry answers for -1, the ops of no phase.
    place[count] = len(kept) + 1
    labels = [*(phases.labels[index] for index in kept), REST, phases.outside_label]
    return Colouring.of_used(
        "phase", _TITLES[phases.source], labels, looked_up(place, phases.codes)
    )
