"""Passes of a model that names alone tell apart, and drafts that belong to the pass after them.

Where no step repeats (each differs, or there are two of them), kernels that end or begin steps by
name still show the passes. In speculative decoding a small model proposes tokens and a large one
verifies them: both together are one step.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.steps.lanes import FEWEST_OPS
from wavescope.analyze.steps.repetition import FEWEST_REPEATS, Positions
from wavescope.analyze.steps.step_level import LaneIndex, StepLevel, StepRole, sampled_periods

ALIKE_PASSES = 1.25
"""Passes of one model hold about as many ops: prompts and single tokens go through its layers."""
DRAFT_LAYERS = 0.5
"""A draft has at most so many of the layers of the model that verifies it."""
MOST_LOOKUPS = 2
SAMPLED_PASSES = 64
FEWEST_DRAFTS = 3
VERIFIED_SHARE = 0.75
"""So many of the larger passes have drafts before them, where any has."""


def named_passes(index: LaneIndex) -> Positions:
    """Where passes begin, for steps of which no two in a row hold the same.

    Kernels that begin passes count where they show more of them than those that end passes: not
    every prompt's pass chooses a token.
    """
    by_end, by_beginning = _passes_by_end(index), passes_by_beginning(index)
    return by_beginning if by_beginning.size > by_end.size else by_end


def _passes_by_end(index: LaneIndex) -> Positions:
    counts = index.positions.counts
    ending = np.flatnonzero((index.roles == StepRole.END)[: counts.size])
    ending = ending[counts[ending] > 1]
    if not ending.size:
        return np.empty(0, np.int64)
    where = index.positions.of_label(int(ending[int(np.argmin(counts[ending]))]))
    far_apart = np.median(np.diff(where)) >= FEWEST_OPS
    return where + 1 if far_apart else np.empty(0, np.int64)


def passes_by_beginning(index: LaneIndex, more_than: int = 1) -> Positions:
    """Near each kernel that begins passes, at the usual gap, if passes are about as long.

    Such a lookup may also end a pass, of its last tokens: of two or three the lane must be whole
    passes, what precedes the first and what follows the last together being one.
    """
    nothing = np.empty(0, np.int64)
    where = _lookups(index)
    if where.size <= more_than:
        return nothing
    lengths = np.diff(where)
    before, after = int(where[0]), len(index.lane) - int(where[-1])
    if where.size <= FEWEST_REPEATS:
        lengths = np.append(lengths, before + after)
    if lengths.max() > ALIKE_PASSES * lengths.min():
        return nothing
    found: Positions = where + _offset_of_beginning(
        index, where, max(1, int(np.median(lengths)) // 8)
    )
    return found[(found > 0) & (found < len(index.lane))]


def _offset_of_beginning(index: LaneIndex, where: Positions, room: int) -> int:
    """How far from the lookups passes begin: at the largest usual gap, of equals the nearest."""
    offsets = np.arange(-room, room + 1)
    where = where[:: where.size // SAMPLED_PASSES + 1]
    places = where[:, None] + offsets
    inside = (places > 0) & (places < len(index.lane))
    gaps = index.lane.gaps_before(np.where(inside, places, 0).reshape(-1)).reshape(places.shape)
    # Before the first op and after the last no gap is seen; of two values the lower one counts.
    counts = np.maximum(inside.sum(axis=0), 1)
    middle = where.size - counts + (counts - 1) // 2
    typical = np.sort(np.where(inside, gaps, -1), axis=0)[middle, np.arange(offsets.size)]
    largest = offsets[typical == typical.max()]
    return int(largest[int(np.argmin(np.abs(largest)))])


def holds_two_models(index: LaneIndex, level: StepLevel) -> bool:
    """Whether each step that ends by name holds passes of different models: one model's passes look
    up equally often, in prompts and in single tokens; texts and images do not."""
    if not level.ends:
        return False
    lookups = _all_lookups(index)
    firsts = _first_of_clusters(lookups)
    sizes = np.diff(np.append(np.searchsorted(lookups, firsts), lookups.size))
    whole = sampled_periods(index.whole_periods(level.signature, level.where), level.period)
    bounds = np.searchsorted(firsts, np.stack((whole, whole + level.period), axis=1)).tolist()
    differs = [np.unique(sizes[first:stop]).size > 1 for first, stop in bounds]
    return 2 * sum(differs) > len(differs)


def _lookups(index: LaneIndex) -> Positions:
    """The first of each cluster of kernels that begin passes."""
    return _first_of_clusters(_all_lookups(index))


def _all_lookups(index: LaneIndex) -> Positions:
    counts = index.positions.counts
    return positions_of(index, np.flatnonzero((index.roles == StepRole.BEGIN)[: counts.size]))


def positions_of(index: LaneIndex, labels: Positions) -> Positions:
    """Where any of the labels occurs, in ascending order."""
    where = [index.positions.of_label(label) for label in labels.tolist()]
    return np.sort(np.concatenate([np.empty(0, np.int64), *where]))


def _first_of_clusters(where: Positions) -> Positions:
    first: Positions = where[np.diff(where, prepend=-FEWEST_OPS) >= FEWEST_OPS]
    return first


def holds_one_pass(roles_of_ops: npt.NDArray[np.int8]) -> bool:
    """Whether kernels begin and end one pass by name; its last tokens may be looked up as well."""
    begins = _first_of_clusters(np.flatnonzero(roles_of_ops == StepRole.BEGIN))
    ends = _first_of_clusters(np.flatnonzero(roles_of_ops == StepRole.END))
    return 1 <= max(begins.size, ends.size) <= MOST_LOOKUPS and ends.size <= 1


def without_drafts(firsts: Positions, attention: npt.NDArray[np.int16]) -> Positions:
    """The beginnings of steps, drafts counted to the pass that verifies them.

    Drafts are passes of a model with far fewer layers, and so of fewer ops, each followed by one of
    the larger model.
    `attention` says of every op which attention kernel it is (0, 1, ...), -1 for others.
    """
    if firsts.size <= 2 * FEWEST_DRAFTS:
        return firsts
    layers = _layer_counts(firsts, attention)
    is_draft = (layers > 0) & (layers <= DRAFT_LAYERS * layers.max())
    lengths = np.diff(firsts)
    if is_draft.all() or not is_draft.any() or _are_alike(lengths[is_draft], lengths[~is_draft]):
        return firsts
    verified = int(np.count_nonzero(is_draft[:-1] & ~is_draft[1:]))
    # The larger passes are those of one model, too.
    alike = int(np.bincount(layers[~is_draft]).max())
    passes = int(np.count_nonzero(~is_draft))
    if verified < FEWEST_DRAFTS or min(verified, alike) < VERIFIED_SHARE * passes:
        return firsts
    # A step begins where the pass before it is no draft.
    merged: Positions = firsts[np.concatenate(([True], ~is_draft[:-1], [True]))]
    return merged


def _are_alike(drafts: Positions, passes: Positions) -> bool:
    """Whether passes of both kinds hold about as many ops."""
    return bool(np.median(passes) <= ALIKE_PASSES * np.median(drafts))


def _layer_counts(firsts: Positions, attention: npt.NDArray[np.int16]) -> Positions:
    """How many layers each pass has: how often it launches one attention kernel.

    Layers may launch several, for prompts and for single tokens, or to add up their parts.
    """
    ops = np.flatnonzero(attention >= 0)
    if not ops.size:
        return np.zeros(firsts.size - 1, np.int64)
    kernel = attention[ops].astype(np.int64)
    kernels = int(kernel.max()) + 1
    step = np.searchsorted(firsts, ops, side="right") - 1
    counts = np.bincount(step * kernels + kernel, minlength=(firsts.size - 1) * kernels)
    layers: Positions = counts.reshape(-1, kernels).max(axis=1)
    return layers
