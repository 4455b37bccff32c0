"""Which of a lane's repetitions are its steps: layers repeat within them, requests around them.

What tells a step: a kernel that runs once in it begins or ends steps by name (embedding, sampling,
optimizer); it is one replay of a graph; the GPU waits for the host once in it. Without any such
sign the smallest repetition is taken for the layers, and the next larger one for the steps. A step
without any kernel of its own shows in the sequence of its layers, of which one differs.
Kernels that begin or end steps are told by rules in a data file.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.steps.lanes import FEWEST_OPS, Lane
from wavescope.analyze.steps.layers import Parts, is_a_layer
from wavescope.analyze.steps.repetition import (
    FEWEST_REPEATS,
    LabelPositions,
    Positions,
    Repetition,
    Signatures,
    repetitions,
    running_signatures,
)
from wavescope.arrays import Array
from wavescope.names.demangle import demangle
from wavescope.names.kernel_names import LONGEST_MATCHED
from wavescope.package_files import packaged_toml


class StepRole(enum.IntEnum):
    """What a kernel's name says about its place in a step."""

    NONE = 0
    BEGIN = 1
    END = 2
    BEGIN_IF_RARE = 3
    """A lookup that embeds tokens, unless it runs in every layer."""


RARE = 8
"""A kernel is rare in a lane whose most frequent one runs so many times as often."""


class _RoleRule(NamedTuple):
    pattern: re.Pattern[str]
    role: StepRole


@functools.lru_cache(maxsize=1)
def _rules() -> tuple[_RoleRule, ...]:
    document = packaged_toml("analyze", "steps", "rules", "step_roles.toml")
    return tuple(
        _RoleRule(re.compile(rule["match"]), StepRole[rule["role"].upper()])
        for rule in document["role"]
    )


def step_roles(texts: Sequence[str], wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.int8]:
    """The `StepRole` of each of the names that are wanted, none for the others."""
    roles = np.full(len(texts), StepRole.NONE, np.int8)
    for label in np.flatnonzero(wanted).tolist():
        roles[label] = _role(texts[label])
    return roles


def roles_in(roles: npt.NDArray[np.int8], labels: Array) -> npt.NDArray[np.int8]:
    """The roles that names have among these labels of a lane: begin, end or none."""
    if not (roles == StepRole.BEGIN_IF_RARE).any():
        return roles
    counts = np.bincount(labels, minlength=roles.size)
    is_rare = RARE * counts <= counts.max(initial=0)
    begins = np.where(is_rare, StepRole.BEGIN, StepRole.NONE)
    found: npt.NDArray[np.int8] = np.where(roles == StepRole.BEGIN_IF_RARE, begins, roles).astype(
        np.int8
    )
    return found


def _role(text: str) -> StepRole:
    name = demangle(text)[:LONGEST_MATCHED]
    for rule in _rules():
        if rule.pattern.search(name):
            return rule.role
    return StepRole.NONE


LEAST_COVERED_SHARE = 0.5
"""Repetitions that cover less than this share of what the largest one covers are parts of it."""
LEAST_UNNAMED_SHARE = 0.5
"""Without a name that tells steps, what repeats must be so much of the lane to be taken for one."""
EVEN_SHARE = 0.7
"""So many of the runs between interruptions are equally long where these are evenly spread."""
GAP_CONTRAST = 4.0
"""A gap this many times the usual one, in every period, is the host between two steps."""
LEAST_GAP_NS = 2_000
ALIKE_LENGTHS = 2.0
"""Steps that end by name but all differ: nine tenths of them are at most so many times as long as
the shortest tenth."""
_SAMPLED_PERIODS = 48
_SAMPLED_OPS = 1 << 20
_MOST_CANDIDATES = 12


@dataclass(frozen=True)
class StepLevel:
    """A repetition that may be a step."""

    signature: np.uint64
    period: int
    covered_ops: int
    where: Positions
    """One op of each step, whether or not the step is like the others."""
    has_role: bool
    """Whether a kernel that begins or ends steps runs once in it."""
    signs: int
    ends: bool = False
    """Whether that kernel ends steps: one that begins them may begin prompts alone."""


@dataclass(frozen=True)
class LaneIndex:
    """What is asked of a lane's labels again and again."""

    lane: Lane
    positions: LabelPositions
    sums: Signatures
    roles: npt.NDArray[np.int8]
    launches: npt.NDArray[np.int64]
    """A number that changes from op to op where they were not launched together as a graph."""
    parts: Parts
    """What each label is in a layer."""

    def whole_periods(self, signature: np.uint64, where: Positions) -> Positions:
        """Where the stretches start that hold exactly what the repetition holds."""
        same = self.sums[where[1:]] - self.sums[where[:-1]] == signature
        firsts: Positions = where[:-1][same]
        return firsts


def step_level(index: LaneIndex, least_period: int) -> StepLevel | None:
    """The repetition that is a step, None when no step repeats."""
    found = repetitions(index.positions, index.sums)
    levels = _largest([_level(index, r) for r in found[: 4 * _MOST_CANDIDATES]], least_period)
    if not any(level.ends for level in levels) and (by_name := _level_by_name(index)):
        return by_name
    if levels and not any(level.has_role for level in levels):
        inner = max(levels, key=lambda level: (level.covered_ops, -level.period))
        levels = _largest([*levels, *_levels_of_stretches(index, inner)], least_period)
    if not levels:
        return None
    best = max(levels, key=lambda level: (level.has_role, level.signs, -level.period))
    least = LEAST_UNNAMED_SHARE * len(index.lane)
    if best.signs:
        is_unsure = (
            (not best.has_role and best.covered_ops < least)
            or (not best.has_role and not _holds_layers(best, found) and _is_enclosed(index, best))
            or _is_within_named_steps(index, best)
            or _may_be_layers(index, best, levels)
            or _is_evenly_interrupted(index, best)
            or _is_one_layer(index, best, found)
        )
        return None if is_unsure else best
    smallest = levels[0]
    larger = [level for level in levels if level.period >= 2 * smallest.period]
    chosen = larger[0] if larger else smallest
    is_little = chosen.covered_ops < least or chosen.period < FEWEST_OPS
    if is_little or _holds_steps(chosen, found) or _is_evenly_interrupted(index, chosen):
        return None
    if not larger and (_is_within_a_step(index, smallest) or _is_one_layer(index, smallest, found)):
        return None
    return chosen


def _largest(levels: list[StepLevel], least_period: int) -> list[StepLevel]:
    """Those that cover much, the one with the shortest period first.

    A few ops that repeat within something larger are a part of it, whatever they are called: the
    tables of a recommender are looked up one by one.
    """
    large = [level for level in levels if level.period >= least_period]
    most = max((level.covered_ops for level in large), default=0)
    kept = [level for level in large if level.covered_ops >= LEAST_COVERED_SHARE * most]
    kept = [level for level in kept if level.period >= FEWEST_OPS] or kept
    kept.sort(key=lambda level: -level.covered_ops)
    return sorted(kept[:_MOST_CANDIDATES], key=lambda level: level.period)


def _level(index: LaneIndex, repetition: Repetition) -> StepLevel:
    roles = index.roles[repetition.anchors]
    ends, begins = bool((roles == StepRole.END).any()), bool((roles == StepRole.BEGIN).any())
    where = index.positions.of_label(_best_anchor(index, repetition))
    signature = np.uint64(repetition.signature)
    signs = 2 * ends + begins + _signs_of_time(index, signature, repetition.period, where)
    return StepLevel(
        signature, repetition.period, repetition.covered_ops, where, ends or begins, signs, ends
    )


def _level_by_name(index: LaneIndex) -> StepLevel | None:
    """Steps that end by name about as many ops apart, though no two in a row hold the same."""
    counts = index.positions.counts
    ending = np.flatnonzero(
        (index.roles[: counts.size] == StepRole.END) & (counts > FEWEST_REPEATS)
    )
    for label in sorted(ending.tolist(), key=lambda label: int(counts[label])):
        where = index.positions.of_label(label)
        lengths = np.diff(where)
        low, period, high = np.percentile(lengths, (10, 50, 90)).astype(np.int64).tolist()
        if low >= FEWEST_OPS and high <= ALIKE_LENGTHS * low:
            usual = int(np.argmin(np.abs(lengths - period)))
            contents = index.sums[where[1:]] - index.sums[where[:-1]]
            length = int(lengths[usual])
            return StepLevel(
                contents[usual], length, len(index.lane), where, has_role=True, signs=2, ends=True
            )
    return None


def _levels_of_stretches(index: LaneIndex, inner: StepLevel) -> Iterator[StepLevel]:
    """What repeats in the sequence of the stretches between the inner repetition's anchors."""
    stretches = index.sums[inner.where[1:]] - index.sums[inner.where[:-1]]
    _, kinds = np.unique(stretches, return_inverse=True)
    positions = LabelPositions.of(kinds)
    for repetition in repetitions(positions, running_signatures(kinds))[:_MOST_CANDIDATES]:
        counts = positions.counts
        anchor = min(repetition.anchors, key=lambda label: int(counts[label]))
        where = inner.where[positions.of_label(anchor)]
        contents = index.sums[where[1:]] - index.sums[where[:-1]]
        again = np.flatnonzero(contents[1:] == contents[:-1])
        if again.size:
            signature, period = contents[again[0]], int(where[again[0] + 1] - where[again[0]])
            covered = int((contents == signature).sum()) * period
            signs = _signs_of_time(index, signature, period, where)
            yield StepLevel(signature, period, covered, where, has_role=False, signs=signs)


def _signs_of_time(index: LaneIndex, signature: np.uint64, period: int, where: Positions) -> int:
    sampled = sampled_periods(index.whole_periods(signature, where), period)
    return _has_host_gap(index.lane, period, sampled) + _is_one_graph(
        index.launches, period, sampled
    )


def _holds_layers(level: StepLevel, found: Sequence[Repetition]) -> bool:
    """Whether something smaller repeats in most of what repeats, as layers do within steps."""
    least = LEAST_COVERED_SHARE * level.covered_ops
    return any(
        FEWEST_REPEATS * each.period <= level.period and each.covered_ops >= least for each in found
    )


def _holds_steps(level: StepLevel, found: Sequence[Repetition]) -> bool:
    """Whether two sizes repeat within what repeats, one within the other: layers within steps
    within requests. Nothing tells then which of the larger two is the step."""
    inner = [each.period for each in found if FEWEST_OPS <= each.period <= level.period // 2]
    return bool(inner) and max(inner) >= FEWEST_REPEATS * min(inner)


def _is_within_named_steps(index: LaneIndex, level: StepLevel) -> bool:
    """Whether what repeats has no kernel that begins or ends steps, but fewer others have: layers
    that the host launches one by one, or graphs of a few layers each."""
    if level.has_role:
        return False
    counts = index.positions.counts
    named = counts[(index.roles[: counts.size] != StepRole.NONE) & (counts > 0)]
    return bool(named.size) and 2 * int(named.min()) <= level.where.size


def _may_be_layers(index: LaneIndex, level: StepLevel, levels: Sequence[StepLevel]) -> bool:
    """Whether something larger repeats as much, and no name tells which of both are the steps:
    layers that the host launches one by one look like steps of equally long requests."""
    least = LEAST_UNNAMED_SHARE * len(index.lane)
    larger = (each for each in levels if each.period >= 2 * level.period)
    return not level.has_role and any(each.covered_ops >= least for each in larger)


def _is_evenly_interrupted(index: LaneIndex, level: StepLevel) -> bool:
    """Whether what repeats does so equally often between interruptions, and no name tells steps:
    all passes of a model have as many layers, while answers differ in length."""
    counts = index.positions.counts
    if (index.roles[: counts.size][counts > 0] != StepRole.NONE).any():
        return False
    contents = index.sums[level.where[1:]] - index.sums[level.where[:-1]]
    interruptions = np.flatnonzero(contents != level.signature)
    runs = np.diff(np.concatenate(([-1], interruptions, [contents.size]))) - 1
    runs = runs[runs > 0]
    if runs.size < FEWEST_REPEATS:
        return False
    return bool(np.bincount(runs).max() >= EVEN_SHARE * runs.size)


def _is_within_a_step(index: LaneIndex, level: StepLevel) -> bool:
    """Whether what repeats are layers: a step begins or ends outside of them by name, other kernels
    precede and follow them (an embedding, a head), or several were launched as one graph."""
    firsts = index.whole_periods(level.signature, level.where)
    firsts = firsts[firsts + level.period < len(index.lane)]
    if not firsts.size:
        return True
    inside = index.lane.labels[firsts[0] : firsts[0] + level.period]
    roles_inside = set(index.roles[inside].tolist())
    roles_anywhere = set(index.roles[index.positions.counts.nonzero()[0]].tolist())
    if roles_anywhere - roles_inside - {StepRole.NONE}:
        return True
    if _is_enclosed(index, level):
        return True
    return bool(np.mean(index.launches[firsts] == index.launches[firsts + level.period]) > 0.5)


def _is_one_layer(index: LaneIndex, level: StepLevel, found: Sequence[Repetition]) -> bool:
    """Whether what repeats holds a layer and nothing that repeats, and no name tells steps: layers
    of a pass of which neither the beginning nor the end was recorded."""
    if level.has_role or _holds_layers(level, found):
        return False
    firsts = index.whole_periods(level.signature, level.where)[:1]
    labels = [index.lane.labels[first : first + level.period] for first in firsts.tolist()]
    return any(is_a_layer(index.parts, each) for each in labels)


def _is_enclosed(index: LaneIndex, level: StepLevel) -> bool:
    """Whether kernels that are not in what repeats precede and follow it: an embedding, a head."""
    firsts = index.whole_periods(level.signature, level.where)
    firsts = firsts[firsts + level.period <= len(index.lane)]
    if not firsts.size:
        return True
    is_inside = np.zeros(index.roles.size, np.bool_)
    is_inside[index.lane.labels[firsts[0] : firsts[0] + level.period]] = True
    is_other = ~is_inside[index.lane.labels]
    return bool(is_other[: firsts[0]].any() and is_other[firsts[-1] + level.period :].any())


def _best_anchor(index: LaneIndex, repetition: Repetition) -> int:
    """An anchor with a role, which other kinds of steps have too; else the one that is elsewhere
    least, so that it cuts nothing but these steps."""
    counts = index.positions.counts
    for role in (StepRole.END, StepRole.BEGIN):
        with_role = [label for label in repetition.anchors if index.roles[label] == role]
        if with_role:
            return max(with_role, key=lambda label: int(counts[label]))
    return min(repetition.anchors, key=lambda label: int(counts[label]))


def sampled_periods(firsts: Positions, period: int) -> Positions:
    """Some of the periods, spread over all of them: few enough to look at each of their ops."""
    wanted = max(FEWEST_REPEATS, min(_SAMPLED_PERIODS, _SAMPLED_OPS // period))
    return firsts[:: max(1, firsts.size // wanted)]


def typical_gaps(lane: Lane, period: int, firsts: Positions) -> npt.NDArray[np.float64]:
    """The median gap before each op of a period, given where some periods start."""
    whole = firsts[firsts + period <= len(lane)]
    if not whole.size:
        return np.zeros(period)
    ops = (whole[:, None] + np.arange(period)).reshape(-1)
    gaps = lane.gaps_before(ops).reshape(whole.size, period)
    result: npt.NDArray[np.float64] = np.median(gaps, axis=0)
    return result


def stands_out(gaps: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which of the typical gaps are the host's."""
    usual = max(float(np.median(gaps)), LEAST_GAP_NS / GAP_CONTRAST)
    result: npt.NDArray[np.bool_] = gaps > GAP_CONTRAST * usual
    return result


def _has_host_gap(lane: Lane, period: int, firsts: Positions) -> bool:
    return int(stands_out(typical_gaps(lane, period, firsts)).sum()) == 1


def _is_one_graph(launches: Positions, period: int, firsts: Positions) -> bool:
    """Whether most ops of most periods were launched together, and apart from the next period's."""
    whole = firsts[firsts + period < launches.size]
    if not whole.size or period < 2:
        return False
    inside = launches[whole[:, None] + np.arange(period)]
    changes = (inside[:, 1:] != inside[:, :-1]).sum(axis=1)
    few = changes <= period // 4
    apart = launches[whole] != launches[whole + period]
    return bool(np.mean(few & apart) > 0.8)
