"""Passes of a model that names alone tell apart, and drafts that belong to the pass after them.

Where no step repeats (each differs, or there are two of them), kernels that end or begin steps by
name still show the passes. In speculative decoding a small model proposes tokens and a large one
verifies them: both together are one step.
"""

from __future__ import annotations

import numpy as np

from wavescope.analyze.steps.lanes import FEWEST_OPS
from wavescope.analyze.steps.repetition import Positions
from wavescope.analyze.steps.step_level import ALIKE_LENGTHS, LaneIndex, StepRole

DRAFT_LAYERS = 0.5
"""A draft has at most so many of the layers of the model that verifies it."""
FEWEST_DRAFTS = 3
VERIFIED_SHARE = 0.75
"""So many of the larger passes have drafts before them, where any has."""


def named_passes(index: LaneIndex) -> Positions:
    """Where passes begin, for steps of which no two in a row hold the same."""
    if (index.roles == StepRole.END).any():
        return _passes_by_end(index)
    return _passes_by_beginning(index)


def _passes_by_end(index: LaneIndex) -> Positions:
    counts = index.positions.counts
    ending = np.flatnonzero((index.roles == StepRole.END)[: counts.size])
    ending = ending[counts[ending] > 1]
    if not ending.size:
        return np.empty(0, np.int64)
    where = index.positions.of_label(int(ending[int(np.argmin(counts[ending]))]))
    far_apart = np.median(np.diff(where)) >= FEWEST_OPS
    return where + 1 if far_apart else np.empty(0, np.int64)


def _passes_by_beginning(index: LaneIndex) -> Positions:
    """Before each kernel that begins steps, if the stretches from each to the next, or to the end,
    are about as long."""
    counts = index.positions.counts
    beginning = np.flatnonzero((index.roles == StepRole.BEGIN)[: counts.size])
    where = np.sort(
        np.concatenate(
            [np.empty(0, np.int64), *(index.positions.of_label(int(each)) for each in beginning)]
        )
    )
    where = where[np.concatenate(([True], np.diff(where) >= FEWEST_OPS))[: where.size]]
    lengths = np.diff(np.append(where, len(index.lane)))
    if lengths.size < 2 or lengths.max() > ALIKE_LENGTHS * lengths.min():  # noqa: PLR2004
        return np.empty(0, np.int64)
    return where


def without_drafts(firsts: Positions, attention: Positions) -> Positions:
    """The beginnings of steps, drafts counted to the pass that verifies them.

    Drafts are passes of a model with far fewer layers, each followed by one of the larger model.
    `attention` says of every op which attention kernel it is, -1 for others.
    """
    if firsts.size <= 2 * FEWEST_DRAFTS:
        return firsts
    layers = _layer_counts(firsts, attention)
    is_draft = (layers > 0) & (layers <= DRAFT_LAYERS * layers.max())
    verified = int(np.count_nonzero(is_draft[:-1] & ~is_draft[1:]))
    passes = int(np.count_nonzero(~is_draft))
    if verified < FEWEST_DRAFTS or verified < VERIFIED_SHARE * passes:
        return firsts
    # A step begins where the pass before it is no draft.
    merged: Positions = firsts[np.concatenate(([True], ~is_draft[:-1], [True]))]
    return merged


def _layer_counts(firsts: Positions, attention: Positions) -> Positions:
    """How many layers each pass has: how often it launches one attention kernel.

    Layers may launch several, for prompts and for single tokens, or to add up their parts.
    """
    ops = np.flatnonzero(attention >= 0)
    if not ops.size:
        return np.zeros(firsts.size - 1, np.int64)
    _, kernel = np.unique(attention[ops], return_inverse=True)
    kernels = int(kernel.max()) + 1
    step = np.searchsorted(firsts, ops, side="right") - 1
    counts = np.bincount(step * kernels + kernel, minlength=(firsts.size - 1) * kernels)
    layers: Positions = counts.reshape(-1, kernels).max(axis=1)
    return layers
