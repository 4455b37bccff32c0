"""The kinds of steps in a lane, and how much each looks like prefill (above 0) or decode (below 0).

Steps of one kind hold the same kernels, launched about as large. What a kind looks like is read off
one of its steps, so that ten thousand equal decode steps cost no more than one.

A score adds up signs, each a logarithm of odds: what kernel names say, for how many tokens the
tiles of matrix kernels are made, how many rows normalizations work on, how large the same kernels
are launched compared with other steps, whether a step is a graph replay, whether it repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.phases.name_signs import LabelSigns, Strengths
from wavescope.analyze.steps import LaneSteps
from wavescope.arrays import Array

Numbers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StepKinds:
    """The kinds, and the ops of one step of each."""

    of_step: Numbers
    counts: Numbers
    longest_run: Numbers
    """How many steps of the kind follow one another."""
    ops: Numbers
    """Positions in the lane of the ops looked at."""
    kind_of_op: Numbers

    def __len__(self) -> int:
        return int(self.counts.size)


def step_kinds(steps: LaneSteps, sizes: Reals) -> StepKinds:
    """The kinds of steps; `sizes` are the log2 launch sizes of all ops, NaN where unknown."""
    keys = steps.told_apart_by(_size_class(steps, sizes))
    _, of_step, counts = np.unique(keys, return_inverse=True, return_counts=True)
    chosen = _middle_steps(of_step, counts)
    lengths = steps.op_counts[chosen]
    kind_of_op = np.repeat(np.arange(counts.size), lengths)
    offsets = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    ops = np.repeat(steps.firsts[chosen], lengths) + offsets
    return StepKinds(of_step, counts, _longest_runs(of_step, counts.size), ops, kind_of_op)


def _size_class(steps: LaneSteps, sizes: Reals) -> Numbers:
    """Steps whose launches are twice as large are of another class.

    Where launch sizes are unknown, steps that take twice as long are.
    """
    known = ~np.isnan(sizes)
    firsts = steps.firsts[:-1]
    counts = np.add.reduceat(known, firsts, dtype=np.int64)
    totals = np.add.reduceat(np.where(known, sizes, 0.0), firsts)
    by_size = np.rint(totals / np.maximum(counts, 1))
    busy_ns = steps.busy_ns
    by_time = np.rint(np.log2(np.maximum(busy_ns, 1))) + 1_000
    result: Numbers = np.where(2 * counts >= steps.op_counts, by_size, by_time).astype(np.int64)
    return result


def _middle_steps(of_step: Numbers, counts: Numbers) -> Numbers:
    """Of each kind the step in the middle: neither warm-up nor the end."""
    order = np.argsort(of_step, kind="stable")
    middle: Numbers = order[np.cumsum(counts) - counts + counts // 2]
    return middle


def _longest_runs(of_step: Numbers, kind_count: int) -> Numbers:
    changes = np.flatnonzero(np.diff(of_step)) + 1
    firsts = np.concatenate(([0], changes))
    lengths = np.diff(np.append(firsts, of_step.size))
    longest = np.zeros(kind_count, np.int64)
    np.maximum.at(longest, of_step[firsts], lengths)
    return longest


NAMED_SHARE = 0.01
"""Kernels with a phase in their name count fully from this share of a step's time on."""
TILED_SHARE = 0.05
LOG2_TOKENS = 7.3
"""160 tokens: decode steps seldom have more, prefill steps seldom fewer."""
SURE_TOKENS = 1.0
"""Of the sign of tokens: from 640 rows on. Engines decode up to some 512 sequences at once."""
SINGLE_TOKENS = -0.6
"""Of the sign of tokens: up to 70 rows, fewer than an image or a text of one piece has."""
LEAST_SCALE_GAP = 1.5
SURE_SCALE_GAP = 4.0
"""In powers of two: launches of one kernel in two kinds of steps differ by at least so much."""
FEWEST_COMMON_LABELS = 2
MIXED_SHARE = 0.25
"""Of a step's launches of attention: so many of either phase, and prompts and single tokens are in
one batch. Their times say little, since a prompt's attention takes far longer."""
UNEVEN = 3.0
"""In powers of two: by how much the largest of the launches of a kernel exceed the smallest."""
UNEVEN_SHARE = 0.02
"""So many at either end do not count."""
HIDDEN_SHARE = 0.25
"""Of a step's launches: if so many have names that say nothing, what differs may be among them."""
SEVERAL_SHARE = 0.25
"""Of the launches of these kernels: so many are of either step."""
TRAINING_SHARE = 0.01
GRAPHS_OF_A_STEP = 4
REPEATED_RUN = 4
LONG_RUN = 8
"""So many equal steps in a row are seldom prompts or parts of one."""


@dataclass(frozen=True)
class KindScores:
    """For each kind of step its score and what it consists of."""

    signs: dict[str, Reals]
    mixed: npt.NDArray[np.bool_]
    """Attention of both phases in one step: prompts and single tokens in one batch."""
    uneven: npt.NDArray[np.bool_]
    """Work for very different numbers of tokens, as in steps that could not be told apart, or names
    that hide whether it is so."""
    several: npt.NDArray[np.bool_]
    """Names that say nothing, of kernels launched for very different numbers of tokens: prompts and
    tokens in turn may look like one step."""
    nameless: npt.NDArray[np.bool_]
    """Names that say nothing, and no kernel of a language model among the others."""
    training: npt.NDArray[np.bool_]
    serving: npt.NDArray[np.bool_]
    """Whether the kind holds a kernel of a language model."""
    few_tokens: npt.NDArray[np.bool_]
    """Whether normalizations work on so few rows that they are single tokens."""

    @property
    def total(self) -> Reals:
        total: Reals = np.sum(list(self.signs.values()), axis=0)
        return total

    def part(self, kinds: slice) -> KindScores:
        """The scores of some of the kinds."""
        return KindScores(
            {name: values[kinds] for name, values in self.signs.items()},
            self.mixed[kinds],
            self.uneven[kinds],
            self.several[kinds],
            self.nameless[kinds],
            self.training[kinds],
            self.serving[kinds],
            self.few_tokens[kinds],
        )


@dataclass(frozen=True)
class KindOps:
    """The ops of one step of each kind, with what scores need of them."""

    kind_of_op: Numbers
    step_counts: Numbers
    longest_run: Numbers
    labels: Array
    duration_ns: Numbers
    sizes: Reals
    groups: Reals
    launched_together: Numbers
    """How many ops in a row the launch of each caused: more than one for graphs."""

    @classmethod
    def of(
        cls, steps: LaneSteps, kinds: StepKinds, sizes: Reals, groups: Reals, launches: Numbers
    ) -> KindOps:
        """`sizes` are of all ops of the lane, `groups` of those looked at."""
        lane, ops = steps.lane, kinds.ops
        launch_firsts = np.concatenate(([0], np.flatnonzero(np.diff(launches)) + 1))
        lengths = np.diff(np.append(launch_firsts, launches.size))
        launch_of_op = np.searchsorted(launch_firsts, ops, side="right") - 1
        durations = lane.ends[ops] - lane.starts[ops]
        return cls(
            kinds.kind_of_op,
            kinds.counts,
            kinds.longest_run,
            lane.labels[ops],
            durations,
            sizes[ops],
            groups,
            lengths[launch_of_op],
        )

    @classmethod
    def joined(cls, parts: Sequence[KindOps]) -> KindOps:
        """The kinds of several lanes one after another, so that they are compared."""
        before = np.cumsum([0, *(len(part) for part in parts[:-1])]).tolist()
        shifted = [part.kind_of_op + shift for part, shift in zip(parts, before, strict=True)]
        return cls(
            np.concatenate(shifted),
            np.concatenate([part.step_counts for part in parts]),
            np.concatenate([part.longest_run for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.duration_ns for part in parts]),
            np.concatenate([part.sizes for part in parts]),
            np.concatenate([part.groups for part in parts]),
            np.concatenate([part.launched_together for part in parts]),
        )

    def __len__(self) -> int:
        return int(self.longest_run.size)

    @property
    def op_counts(self) -> Numbers:
        """How many ops a step of each kind has."""
        return np.bincount(self.kind_of_op, minlength=len(self))

    def summed(self, values: Array) -> Reals:
        """The sum of the ops' values for each kind."""
        sums = np.bincount(self.kind_of_op, weights=values, minlength=len(self))
        return sums.astype(np.float64, copy=False)


def kind_scores(ops: KindOps, signs: LabelSigns, strengths: Strengths) -> KindScores:
    """The scores of all kinds of a lane."""
    labels, duration = ops.labels, ops.duration_ns
    counted = duration * ~signs.communication[labels]
    total = np.maximum(ops.summed(counted), 1.0)
    prefill = ops.summed(duration * signs.prefill[labels])
    decode = ops.summed(duration * signs.decode[labels])
    many = ops.summed(duration * signs.many_tokens[labels])
    few = ops.summed(duration * signs.few_tokens[labels])
    attention = signs.attention[labels]
    prefill_attention = ops.summed(attention & (signs.prefill[labels] > 0))
    decode_attention = ops.summed(attention & (signs.decode[labels] > 0))
    names = _balance(prefill, decode, total, NAMED_SHARE)
    tiles = _balance(many, few, total, TILED_SHARE)
    tokens, scale = _tokens_sign(ops, signs), _scale_sign(ops)
    hidden = ops.summed(signs.unknown[labels]) > HIDDEN_SHARE * ops.op_counts
    serving = ops.summed(signs.language_model[labels]) > 0
    # Prompts one after another repeat as well.
    may_be_decode = (names <= 0) & (tiles <= 0) & (tokens <= 0)
    # As do batches of some hundred single tokens.
    may_be_either = (ops.longest_run >= LONG_RUN) & (tokens > 0) & (tokens < SURE_TOKENS)
    tiles, tokens = (
        np.where(may_be_either, np.minimum(sign, 0.0), sign) for sign in (tiles, tokens)
    )
    return KindScores(
        signs={
            "names": strengths.names * names,
            "tiles": strengths.tiles * tiles,
            "tokens": strengths.tokens * tokens,
            "scale": strengths.scale * scale,
            "graph": strengths.graph * _graph_sign(ops, scale),
            "repeats": _signs(
                -strengths.repeats, (ops.longest_run >= REPEATED_RUN) & may_be_decode
            ),
        },
        mixed=np.minimum(prefill_attention, decode_attention)
        >= np.maximum(MIXED_SHARE * (prefill_attention + decode_attention), 1),
        uneven=_is_uneven(ops, signs.attention, UNEVEN_SHARE)
        | ((prefill_attention > 0) & (decode_attention > 0))
        | hidden,
        several=hidden & _is_uneven(ops, signs.unknown, SEVERAL_SHARE),
        nameless=hidden & ~serving,
        training=_training(ops, ops.summed(duration * signs.training[labels]) / total),
        serving=serving,
        few_tokens=tokens <= SINGLE_TOKENS,
    )


def _signs(strength: float, holds: npt.NDArray[np.bool_]) -> Reals:
    """The strength where something holds, else 0."""
    return np.where(holds, np.float64(strength), np.float64(0.0))


def _balance(for_prefill: Reals, for_decode: Reals, total: Reals, full_share: float) -> Reals:
    """From -1 to 1 which of both is larger, less where both are a small share of the total."""
    both = for_prefill + for_decode
    damped = np.minimum(both / total / full_share, 1.0)
    balance: Reals = damped * (for_prefill - for_decode) / np.maximum(both, 1e-9)
    return balance


def _is_uneven(ops: KindOps, wanted: npt.NDArray[np.bool_], share: float) -> npt.NDArray[np.bool_]:
    """Whether more than `share` of the launches of the same wanted kernel are far larger than as
    many others, or take far longer where launch sizes are unknown."""
    chosen = np.flatnonzero(wanted[ops.labels])
    sizes = ops.sizes[chosen]
    lengths = np.log2(np.maximum(ops.duration_ns[chosen], 1))
    values = np.where(np.isnan(sizes), lengths, sizes)
    kinds = ops.kind_of_op[chosen]
    label_count = int(ops.labels.max(initial=0)) + 1
    pairs = kinds * label_count + ops.labels[chosen]
    distinct, pair_of_op = np.unique(pairs, return_inverse=True)
    from_median = values - _quantiles(values, pair_of_op, distinct.size, 0.5)[pair_of_op]
    highest = _quantiles(from_median, kinds, len(ops), 1 - share)
    return highest - _quantiles(from_median, kinds, len(ops), share) >= UNEVEN


def _training(ops: KindOps, share: Reals) -> npt.NDArray[np.bool_]:
    """Which kinds are training: all of them where most ops are, since nobody serves meanwhile."""
    training = share > TRAINING_SHARE
    op_counts = ops.step_counts * ops.op_counts
    mostly = 2 * int(op_counts[training].sum()) > int(op_counts.sum())
    return training | mostly


def _graph_sign(ops: KindOps, scale: Reals) -> Reals:
    """Replays of graphs are decode; where they are most of the steps, the others are prefill.

    A step is a replay if most of it is one launch or a few: graphs of single layers serve prompts
    as well. Where large and small steps are replayed alike, their size says more.
    """
    in_large_graph = (ops.launched_together > 1) & (
        GRAPHS_OF_A_STEP * ops.launched_together >= ops.op_counts[ops.kind_of_op]
    )
    replayed = 2 * ops.summed(in_large_graph) > ops.op_counts
    replayed_steps = int(ops.step_counts[replayed].sum())
    mostly = 2 * replayed_steps > int(ops.step_counts.sum())
    return np.where(replayed, np.where(scale > 0, 0.0, -1.0), float(mostly))


def _tokens_sign(ops: KindOps, signs: LabelSigns) -> Reals:
    """How many rows normalizations work on, or lookups of embeddings where there are none.

    The upper quartile counts: of a prompt, engines normalize its last token alone before the head.
    """
    normalized = _rows_sign(ops, signs.row_per_group[ops.labels])
    # A lookup of few rows may be that of the last tokens of prompts.
    looked_up = np.maximum(_rows_sign(ops, signs.row_lookup[ops.labels]), 0.0)
    return np.where(normalized != 0, normalized, looked_up)


def _rows_sign(ops: KindOps, chosen: npt.NDArray[np.bool_]) -> Reals:
    usable = chosen & ~np.isnan(ops.groups)
    rows = _quantiles(ops.groups[usable], ops.kind_of_op[usable], len(ops), 0.75)
    sign: Reals = np.where(ops.summed(usable) > 0, np.clip((rows - LOG2_TOKENS) / 2, -1, 1), 0.0)
    return sign


def _scale_sign(ops: KindOps) -> Reals:
    """Which kinds launch the same kernels larger, or run them longer where sizes are unknown."""
    scale, common = _relative_scale(ops, ops.sizes)
    if not common.any():
        scale, common = _relative_scale(ops, np.log2(np.maximum(ops.duration_ns, 1)))
    comparable = np.flatnonzero(common >= FEWEST_COMMON_LABELS)
    result = np.zeros(len(ops))
    if comparable.size < 2:
        return result
    ordered = np.sort(scale[comparable])
    gaps = np.diff(ordered)
    widest = int(np.argmax(gaps))
    if gaps[widest] < LEAST_SCALE_GAP:
        return result
    middle = (ordered[widest] + ordered[widest + 1]) / 2
    sureness = min(1.0, float(gaps[widest]) / SURE_SCALE_GAP)
    result[comparable] = np.where(scale[comparable] > middle, sureness, -sureness)
    return result


def _relative_scale(ops: KindOps, values: Reals) -> tuple[Reals, Numbers]:
    """For each kind how far its ops lie above the least that their label has in any kind, and how
    many of its labels another kind has too.

    The upper quartile of the ops with such labels counts: kernels of a fixed size, and those that
    only similar kinds share, say nothing.
    """
    known = np.flatnonzero(~np.isnan(values))
    label_count = int(ops.labels.max(initial=0)) + 1
    kind_of_op, labels = ops.kind_of_op[known], ops.labels[known]
    distinct, pair_of_op = np.unique(kind_of_op * label_count + labels, return_inverse=True)
    means = np.bincount(pair_of_op, weights=values[known]) / np.bincount(pair_of_op)
    label_of_pair = distinct % label_count
    least = np.full(label_count, np.inf)
    np.minimum.at(least, label_of_pair, means)
    shared = np.bincount(label_of_pair, minlength=label_count)[label_of_pair] > 1
    common = np.bincount((distinct // label_count)[shared], minlength=len(ops))
    comparable = shared[pair_of_op]
    above = (means - least[label_of_pair])[pair_of_op][comparable]
    return _quantiles(above, kind_of_op[comparable], len(ops), 0.75), common


def _quantiles(values: Reals, groups: Numbers, group_count: int, share: float) -> Reals:
    """Of each group the value below which that share of its values lies, 0 without any."""
    counts = np.bincount(groups, minlength=group_count)
    ordered = np.append(values[np.lexsort((values, groups))], 0.0)
    places = np.cumsum(counts) - counts + (share * counts).astype(np.int64)
    return np.where(counts > 0, ordered[np.minimum(places, values.size)], 0.0)
