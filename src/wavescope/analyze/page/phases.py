"""The phase of each op, as far as the trace tells: by its markers, else by names and structure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.page.colouring import Colouring
from wavescope.analyze.phases.marker_phases import MarkerPhases
from wavescope.analyze.phases.serving_phases import ServingPhase, ServingPhases
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import looked_up
from wavescope.arrays.group_statistics import group_sums

OUTSIDE = "outside markers"
REST = "other markers"

_MOST_PHASES = 6
_NUMBERED = " *"
"""Ends names that stand for many numbered ones."""
_LEAST_COVERED = 0.5
"""Of the GPU time: markers that cover less are no phases of the whole."""
_SHOWN_SERVING = (
    ServingPhase.PREFILL,
    ServingPhase.DECODE,
    ServingPhase.SHARED,
    ServingPhase.COMMUNICATION,
    ServingPhase.UNCLASSIFIED,
)


def phase_colouring(
    durations_ns: Array, markers: MarkerPhases | None, serving: ServingPhases | None
) -> Colouring | None:
    """The phase of each op; None where nothing tells phases apart.

    What the program marked comes first. Where that covers too little of the GPU time, `serving` is
    asked: what names and repetition tell of a language model.
    """
    marked = None if markers is None else _by_markers(markers, durations_ns)
    if marked is not None or serving is None:
        return marked
    return _by_serving(serving, durations_ns)


def _by_markers(phases: MarkerPhases, durations_ns: Array) -> Colouring | None:
    """The outermost level of marker paths that tells at least two phases apart."""
    deepest = max((path.depth for path in phases.paths), default=-1)
    for depth in range(deepest + 1):
        found = _at_depth(phases, depth, durations_ns)
        if found is not None:
            return found
    return None


def _at_depth(phases: MarkerPhases, depth: int, durations_ns: Array) -> Colouring | None:
    ancestors = phases.ancestors_at(depth)
    name_of = [path.name.removesuffix(_NUMBERED) for path in phases.paths]
    # Paths are in the order in which they were first seen.
    names = list(dict.fromkeys(name_of[number] for number in np.unique(ancestors[ancestors >= 0])))
    if len(names) < 2:
        return None
    number = {name: place for place, name in enumerate(names)}
    outside = len(names)
    of_path = np.array(
        [number[name_of[path]] if path >= 0 else outside for path in ancestors.tolist()], np.int32
    )
    of_op = looked_up(of_path, phases.path_of_op)
    totals = np.array(group_sums(of_op, durations_ns, outside + 1), np.int64)
    if totals[:outside].sum() < _LEAST_COVERED * totals.sum():
        return None
    return _largest(names, of_op, totals)


def _largest(
    names: list[str], of_op: npt.NDArray[np.int32], totals: npt.NDArray[np.int64]
) -> Colouring:
    """The phases that take most time, first seen first; the others together."""
    outside = len(names)
    kept = sorted(np.argsort(-totals[:outside], kind="stable")[:_MOST_PHASES].tolist())
    place = np.full(outside + 1, len(kept), np.uint8)
    place[kept] = np.arange(len(kept))
    place[outside] = len(kept) + 1
    labels = [*(names[index] for index in kept), REST, OUTSIDE]
    return Colouring.of_used("phase", "Phase (markers)", labels, looked_up(place, of_op))


def _by_serving(found: ServingPhases, durations_ns: Array) -> Colouring | None:
    totals = group_sums(found.phase_codes, durations_ns, len(found.labels))
    told = totals[ServingPhase.PREFILL] + totals[ServingPhase.DECODE]
    if told < _LEAST_COVERED * sum(totals):
        return None
    place = np.zeros(len(found.labels), np.uint8)
    place[list(_SHOWN_SERVING)] = np.arange(len(_SHOWN_SERVING))
    labels = [found.labels[phase] for phase in _SHOWN_SERVING]
    return Colouring.of_used(
        "phase", "Phase (inferred)", labels, looked_up(place, found.phase_codes)
    )
