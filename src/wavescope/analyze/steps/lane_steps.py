"""Cuts a lane into steps: what repeats, and what lies between.

Every occurrence of the step's anchor is one step, whether it holds exactly what the others hold or
a kernel more or less. Where one step ends and the next begins is told by kernels that begin or end
steps by name, and by the largest gap there. A step that is longer because other work follows (a
prefill between two decode steps) is cut where its regular part ends; long stretches without steps
are looked at again by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from wavescope.analyze.steps.lanes import FEWEST_OPS, Lane
from wavescope.analyze.steps.layers import Parts, attention_kernels
from wavescope.analyze.steps.named_beginnings import TOO_LONG, begins_by_name
from wavescope.analyze.steps.passes import (
    holds_one_pass,
    holds_two_models,
    named_passes,
    passes_by_beginning,
    without_drafts,
)
from wavescope.analyze.steps.repetition import (
    LabelPositions,
    Positions,
    Signatures,
    running_signatures,
    told_apart,
)
from wavescope.analyze.steps.step_level import (
    LaneIndex,
    StepLevel,
    StepRole,
    roles_in,
    sampled_periods,
    stands_out,
    step_level,
    typical_gaps,
)
from wavescope.arrays.coded_columns import different_values

SMALLEST_PART = 0.25
"""Ops between two cuts that are fewer than this part of a period belong to the step before."""
CLOSE_PART = 0.5
"""Occurrences of a kernel that are less than this part of a period apart are of no two steps."""
WRAPPED_PART = 0.125
"""The first and the last part of a lane are one step if together they differ from a period by no
more than this part of it."""
LONG_STRETCH = 2.5
"""A step with this many periods' ops is looked at again by itself."""
_DEEPEST = 4
_MOST_STRETCHES = 64


@dataclass(frozen=True)
class LaneSteps:
    """Where the steps of a lane begin, and what each holds.

    Step i is the ops from firsts[i] to firsts[i + 1]; `firsts` ends with the number of ops.
    """

    lane: Lane
    firsts: Positions
    signatures: Signatures
    """Equal for steps that hold the same kernels equally often."""
    repeats: npt.NDArray[np.bool_]
    """Whether a neighbouring step holds the same."""
    is_marked: bool = False
    """Whether the program said where its steps are."""
    is_named: bool = False
    """Whether kernels begin or end the steps by name."""

    def __len__(self) -> int:
        return int(self.firsts.size) - 1

    @property
    def op_counts(self) -> Positions:
        return np.diff(self.firsts)

    @property
    def has_steps(self) -> bool:
        """Whether the lane has steps, and all are known, rather than being one stretch of work."""
        if self.is_marked:
            return True
        return (self.is_named or bool(self.repeats.any())) and not self._hides_steps

    @property
    def _hides_steps(self) -> bool:
        """Whether stretches of several steps that nothing divides lie between others: there may be
        two in them, or ten. What precedes the first step and follows the last may be no step."""
        lengths = self.op_counts
        return bool((lengths[1:-1] >= TOO_LONG * np.median(lengths)).any())

    @property
    def start_ns(self) -> Positions:
        """When the first op of each step started."""
        return self.lane.starts[self.firsts[:-1]]

    @property
    def end_ns(self) -> Positions:
        """When the last op of each step, and of all before it, ended."""
        return self.lane.busy_until[self.firsts[1:] - 1]

    @property
    def span_ns(self) -> Positions:
        """From the start of each step's first op to the end of its last one."""
        return np.maximum.reduceat(self.lane.ends, self.firsts[:-1]) - self.start_ns

    @property
    def busy_ns(self) -> Positions:
        """The time that each step's ops cover, what earlier steps cover already left out."""
        busy: Positions = np.add.reduceat(self.lane.busy_ns, self.firsts[:-1])
        return busy

    def told_apart_by(self, class_of_step: Positions) -> Signatures:
        """Equal for steps of one class that hold the same kernels equally often."""
        return told_apart(self.signatures, class_of_step)


def lane_steps(
    lane: Lane,
    roles: npt.NDArray[np.int8],
    launches: Positions,
    parts: Parts,
) -> LaneSteps:
    """The steps of `lane`; a lane in which nothing repeats is one step.

    `roles` say of every label its place in steps, `parts` its place in layers.
    """
    here = roles_in(roles, lane.labels)
    cuts = _cuts(lane, _Known(here, launches, parts), _Place(0, len(lane)), depth=0)
    firsts = different_values(np.concatenate(([0, len(lane)], cuts)))
    firsts = without_drafts(firsts, attention_kernels(parts)[lane.labels])
    of_op = here[lane.labels]
    is_named = bool(of_op.any()) if firsts.size > 2 else holds_one_pass(of_op)
    return replace(divided(lane, firsts), is_named=is_named)


def divided(lane: Lane, firsts: Positions, *, is_marked: bool = False) -> LaneSteps:
    """The steps of a lane of which it is known where they begin; `firsts` as in `LaneSteps`."""
    sums = running_signatures(lane.labels)
    signatures = sums[firsts[1:]] - sums[firsts[:-1]]
    same = signatures[1:] == signatures[:-1]
    repeats = np.concatenate((same, [False])) | np.concatenate(([False], same))
    return LaneSteps(lane, firsts, signatures, repeats, is_marked)


@dataclass(frozen=True)
class _Place:
    first: int
    stop: int


@dataclass(frozen=True)
class _Known:
    """What is known of a lane: of its labels their roles and parts, of its ops their launches."""

    roles: npt.NDArray[np.int8]
    launches: Positions
    parts: Parts


def _cuts(lane: Lane, known: _Known, place: _Place, depth: int) -> Positions:
    """Where steps begin within `place`."""
    part = slice(place.first, place.stop)
    piece = lane.part(part)
    index = LaneIndex(
        piece,
        LabelPositions.of(piece.labels),
        running_signatures(piece.labels),
        known.roles,
        known.launches[part],
        known.parts,
    )
    least_period = FEWEST_OPS if depth else 2
    level = step_level(index, least_period)
    if level is None:
        return place.first + _named_firsts(index, named_passes(index))
    begun = passes_by_beginning(index, more_than=level.where.size)
    if begun.size and not holds_two_models(index, level):
        return place.first + _named_firsts(index, begun)
    firsts = _without_small_parts(_step_firsts(index, level), level.period)
    firsts = _unwrapped(index, level, firsts)
    return place.first + _with_inner_cuts(index, level, firsts, depth)


def _named_firsts(index: LaneIndex, cuts: Positions) -> Positions:
    """Where steps begin, given where passes begin by name, if there are several."""
    firsts = different_values(np.concatenate(([0], cuts, [len(index.lane)])))
    return _without_small_parts(firsts, int(np.median(np.diff(firsts)))) if cuts.size else cuts


def _step_firsts(index: LaneIndex, level: StepLevel) -> Positions:
    """Where steps begin, by the anchor's occurrences and by where regular steps end."""
    period, ops = level.period, len(index.lane)
    firsts = _where_of_steps(index, level) + _offset(index, level)
    firsts = np.concatenate(([0], firsts[(firsts > 0) & (firsts < ops)], [ops]))
    starts = firsts[:-1][np.diff(firsts) > period]
    # A regular step that other work follows, and one that other work precedes.
    follows = starts[index.sums[starts + period] - index.sums[starts] == level.signature] + period
    ends = firsts[1:][np.diff(firsts) > period]
    precedes = ends[index.sums[ends] - index.sums[ends - period] == level.signature] - period
    firsts = different_values(np.concatenate((firsts, follows, precedes)))
    return different_values(np.concatenate((firsts, begins_by_name(index, level, firsts))))


def _where_of_steps(index: LaneIndex, level: StepLevel) -> Positions:
    """One op of each step: the anchor's occurrences, but for those that follow one another closely.

    A kernel that no name tells to run once in a step may run in every layer of other steps.
    """
    where = level.where
    if level.has_role:
        return where
    lengths = np.diff(where)
    is_whole = index.sums[where[1:]] - index.sums[where[:-1]] == level.signature
    is_close = lengths < CLOSE_PART * level.period
    kept: Positions = where[_ends_of(is_whole) | ~_ends_of(is_close)]
    return kept


def _ends_of(stretches: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which occurrences are at either end of one of these stretches between occurrences."""
    ends: npt.NDArray[np.bool_] = np.append(stretches, False) | np.append(False, stretches)
    return ends


def _offset(index: LaneIndex, level: StepLevel) -> int:
    """How many ops after the anchor the next step begins."""
    period = level.period
    whole = index.whole_periods(level.signature, level.where)
    if not whole.size:
        return 0
    sampled = sampled_periods(whole, period)
    gaps = typical_gaps(index.lane, period, sampled)
    offsets = _allowed_offsets(index, period, int(sampled[sampled.size // 2]))
    if offsets.size == period and not stands_out(gaps).any():
        return _offset_of_first_period(index, period, int(whole[0]))
    return int(offsets[int(np.argmax(gaps[offsets]))])


def _offset_of_first_period(index: LaneIndex, period: int, start: int) -> int:
    """Without a sign of where a step begins: where the repetition itself does."""
    labels = index.lane.labels
    differs = np.flatnonzero(labels[:start] != labels[period : start + period])
    first = int(differs[-1]) + 1 if differs.size else 0
    return (first - start) % period


def _allowed_offsets(index: LaneIndex, period: int, start: int) -> Positions:
    """Between the last kernel that ends a step and the next one that begins a step."""
    first, stop = _allowed_stretch(index, period, start)
    return np.arange(first, stop) % period


def _allowed_stretch(index: LaneIndex, period: int, start: int) -> tuple[int, int]:
    roles = index.roles[index.lane.labels[start : start + period]]
    ends, begins = np.flatnonzero(roles == StepRole.END), np.flatnonzero(roles == StepRole.BEGIN)
    room = max(1, period // 8)
    if ends.size:
        after = int(_last_of_cluster(ends, period)) + 1
        following = begins[(begins - after) % period <= period // 2]
        if following.size:
            nearest = int(((following - after) % period).min())
            return after, after + nearest + 1
        return after, after + room
    if begins.size:
        first = int(_first_of_cluster(begins, period))
        return first - room + 1 + period, first + 1 + period
    return 0, period


def _last_of_cluster(places: Positions, period: int) -> int:
    """Of places on a circle, the one before the widest stretch without any."""
    following = np.roll(places, -1)
    distance = (following - places) % period
    distance[distance == 0] = period
    return int(places[int(np.argmax(distance))])


def _first_of_cluster(places: Positions, period: int) -> int:
    last = _last_of_cluster(places, period)
    after = places[places > last]
    return int(after[0] if after.size else places[0])


def _unwrapped(index: LaneIndex, level: StepLevel, firsts: Positions) -> Positions:
    """The cuts moved to the lane's ends where what precedes the first and what follows the last are
    one step together: the largest gap may lie within a step, and recordings begin with steps."""
    lengths = np.diff(firsts)
    ends = lengths[[0, -1]]
    contents = index.sums[firsts[2:-1]] - index.sums[firsts[1:-2]]
    is_wrapped = (
        contents.size > 0
        and ends.max() < level.period
        and abs(int(ends.sum()) - level.period) <= WRAPPED_PART * level.period
        and (contents == level.signature).all()
    )
    return np.concatenate(([0], firsts[1:-1] + ends[1])) if is_wrapped else firsts


def _without_small_parts(firsts: Positions, period: int) -> Positions:
    """The cuts (the first op and the end among them) less those that leave a small part."""
    least = max(1, int(SMALLEST_PART * period))
    if (np.diff(firsts) >= least).all():
        return firsts
    *inner, end = firsts.tolist()
    kept = inner[:1]
    for first in inner[1:]:
        if first - kept[-1] >= least and end - first >= least:
            kept.append(first)
    return np.array([*kept, end], np.int64)


def _with_inner_cuts(
    index: LaneIndex, level: StepLevel, firsts: Positions, depth: int
) -> Positions:
    """The cuts, and those within stretches that are too long to be one step."""
    lengths = np.diff(firsts)
    long = np.flatnonzero(lengths >= max(LONG_STRETCH * level.period, FEWEST_OPS))
    if depth == _DEEPEST or not long.size:
        return firsts
    longest = long[np.argsort(-lengths[long], kind="stable")[:_MOST_STRETCHES]]
    inner = [
        _cuts(
            index.lane,
            _Known(index.roles, index.launches, index.parts),
            _Place(int(firsts[place]), int(firsts[place + 1])),
            depth + 1,
        )
        for place in longest.tolist()
    ]
    return different_values(np.concatenate([firsts, *inner]))
