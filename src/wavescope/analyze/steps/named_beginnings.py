"""Where steps begin by name within stretches that are far too long to be one step."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.steps.passes import ALIKE_PASSES, positions_of
from wavescope.analyze.steps.repetition import Positions
from wavescope.analyze.steps.step_level import LaneIndex, StepLevel, StepRole

ALIKE_COUNTS = 0.7
"""A kernel that begins steps does so if it runs this often at least for each step, or once."""
TOO_LONG = 1.5
"""A step of so many periods' ops lacks a cut, if a kernel within it begins a step."""


def begins_by_name(index: LaneIndex, level: StepLevel, firsts: Positions) -> Positions:
    """The cuts that too long steps lack: their anchor was not recorded, or is not of their kind.

    Labels that begin about as many steps as there are always count.
    """
    counts = index.positions.counts
    steps = level.where.size
    beginning = np.flatnonzero((index.roles == StepRole.BEGIN)[: counts.size])
    is_alike = (counts >= ALIKE_COUNTS * steps) & (counts <= steps / ALIKE_COUNTS)
    usual = positions_of(index, beginning[is_alike[beginning]])
    other = positions_of(index, beginning[~is_alike[beginning]])
    too_long = np.append(np.diff(firsts) > TOO_LONG * level.period, False)
    return np.concatenate(
        (
            usual[too_long[_step_of(firsts, usual)]],
            _begins_of_another_kind(index, level, firsts, other),
        )
    )


def _step_of(firsts: Positions, where: Positions) -> Positions:
    return np.searchsorted(firsts, where, side="right") - 1


def _begins_of_another_kind(
    index: LaneIndex, level: StepLevel, firsts: Positions, where: Positions
) -> Positions:
    """Where passes begin of a kind that the regular steps are not: prompts that choose no token.

    Each ends with the next one or with the stretch, and is about as long as a regular step. A
    stretch of which a part is still too long is left to be looked at by itself.
    """
    step = _step_of(firsts, where)
    is_regular = index.sums[firsts[1:]] - index.sums[firsts[:-1]] == level.signature
    if not where.size or is_regular[step].any():
        return where[:0]
    ends = np.minimum(np.append(where[1:], firsts[-1]), firsts[step + 1])
    lengths = (ends - where) / level.period
    begins = where[(lengths <= ALIKE_PASSES) & (lengths >= 1 / ALIKE_PASSES)]
    cuts = np.unique(np.concatenate((firsts, begins)))
    longest = np.maximum.reduceat(np.diff(cuts), np.searchsorted(cuts, firsts[:-1]))
    was_too_long = np.diff(firsts) > TOO_LONG * level.period
    is_divided = was_too_long & (longest <= TOO_LONG * level.period)
    found: Positions = begins[is_divided[_step_of(firsts, begins)]]
    return found
