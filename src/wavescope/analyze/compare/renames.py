"""Kernels that have another name in the other trace, found by what they do there.

A kernel of the base that is gone and one that is new are the same work when they are of one
category and agree in most of what is known: the kernels before and after them, the operators that
launched them, the size of their launches (on the same chip), how often they ran, their family and
the words of their names. Names alone are never enough. What is left is matched in groups: several
kernels that one operator used to launch became one, or the other way round. docs/compare.md has the
weights.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from wavescope.analyze.compare.figures import Figures, TraceFigures
from wavescope.analyze.compare.operators import NO_OPERATOR, NOT_RECORDED, op_sequence
from wavescope.analyze.names.kernel_meaning import meaning_of
from wavescope.model.coded_columns import code_counts
from wavescope.model.source import Array
from wavescope.model.trace import Trace

WEIGHTS = {
    "position": 0.3,
    "operator": 0.3,
    "launch size": 0.15,
    "calls": 0.15,
    "family": 0.05,
    "name": 0.05,
}
LEAST_SCORE = 0.5
SURE_SCORE = 0.75
LEAST_EVIDENCE = 0.4
"""What position, operator or launch size must reach: names and counts alone prove nothing."""
LEAST_CALL_RATIO = 0.8
"""Kernels that ran much more often in one trace are not the same work."""
LEAST_OPERATOR_SHARE = 0.9
"""How much of its calls an operator must have launched to speak for a kernel of a group."""
_MOST_KERNELS = 200
_MOST_OPS = 200_000
_WORD = re.compile(r"[A-Za-z]+|\d+")
_LAUNCH_COLUMNS = ("grid_x", "grid_y", "grid_z", "workgroup_x", "workgroup_y", "workgroup_z")

Shares = Mapping[object, float]
Positions = Mapping[str, tuple[Shares, Shares]]


class Rename(NamedTuple):
    """Kernels of the base and what they are in the other trace; nearly always one each."""

    base: tuple[str, ...]
    new: tuple[str, ...]
    score: float
    """Agreement from 0 to 1."""
    evidence: str
    """What they agree in, such as 'position, operator'."""

    @property
    def grouping(self) -> str:
        """'renamed', or 'merged' or 'split' where there are several on one side."""
        if len(self.base) > 1:
            return "merged"
        return "split" if len(self.new) > 1 else "renamed"


def renames(base: TraceFigures, new: TraceFigures) -> list[Rename]:
    """Pairs of kernels that only one of the traces has, surest first."""
    gone = _largest(base.by_kernel, new.by_kernel)
    come = _largest(new.by_kernel, base.by_kernel)
    if not gone or not come:
        return []
    same_chip = chips_of(base.trace) == chips_of(new.trace)
    sides = _Sides(_Side(base, gone), _Side(new, come), same_chip)
    found: list[Rename] = []
    for least in (SURE_SCORE, SURE_SCORE, LEAST_SCORE):  # what is sure helps to place the rest
        found += _best_pairs(sides, found, least)
    found += _groups(sides, found)
    return sorted(found, key=lambda rename: (-rename.score, rename.base, rename.new))


def chips_of(trace: Trace) -> list[str]:
    """The chips or products of the trace's GPUs."""
    agents = trace.agents
    if not len(agents):
        return []
    pairs = zip(agents.strings("model"), agents.strings("chip"), strict=True)
    return sorted({model or chip for model, chip in pairs} - {""})


def _largest(mine: Mapping[str, Figures], others: Mapping[str, Figures]) -> list[str]:
    """The names that only `mine` has, those with most time."""
    only = [name for name in mine if name not in others]
    return sorted(only, key=lambda name: (-mine[name].total_ns, name))[:_MOST_KERNELS]


@dataclass(frozen=True)
class _Side:
    """What is known of the kernels that only one trace has."""

    figures: TraceFigures
    names: list[str]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.figures.kernel_names)}

    @cached_property
    def _triples(self) -> list[tuple[int, int, int, int]]:
        """Label before, label, label after, and how often: of the first ops of the trace."""
        figures = self.figures
        ops, labels = figures.ops, figures.kernel_of_op
        if len(labels) > _MOST_OPS:
            rows = np.arange(_MOST_OPS)
            ops, labels = ops.take(rows), labels[rows]
        sequence = op_sequence(ops, labels, len(figures.kernel_names))
        wanted = np.isin(sequence.label, [self._numbers[name] for name in self.names])
        rows3 = np.stack(
            [sequence.before[wanted], sequence.label[wanted], sequence.after[wanted]], axis=1
        )
        distinct, counts = np.unique(rows3, axis=0, return_counts=True)
        return [
            (before, label, after, count)
            for (before, label, after), count in zip(
                distinct.tolist(), counts.tolist(), strict=True
            )
        ]

    def positions(self, word_of: Mapping[str, str]) -> dict[str, tuple[Shares, Shares]]:
        """For each name what comes before it and what after it; `word_of` names known kernels."""
        names, categories = self.figures.kernel_names, self.figures.category_of_kernel
        words = [word_of.get(name, f"[{categories[name]}]") for name in names] + [""]
        counts: dict[int, tuple[Counter[object], Counter[object]]] = {}
        for before, label, after, count in self._triples:
            sides = counts.setdefault(label, (Counter(), Counter()))
            sides[0][words[before]] += count
            sides[1][words[after]] += count
        return {
            name: (_shares(counts[number][0]), _shares(counts[number][1]))
            for name in self.names
            if (number := self._numbers[name]) in counts
        }

    @cached_property
    def operators(self) -> dict[str, Shares]:
        """For each name the shares of the operators that launched it."""
        operators = self.figures.operators
        if operators is None:
            return {}
        known = [name not in (NO_OPERATOR, NOT_RECORDED) for name in operators.names]
        return self._shares_of(operators.of_op, operators.names, np.array(known)[operators.of_op])

    @cached_property
    def launch_sizes(self) -> dict[str, Shares]:
        """For each name the shares of the grid and workgroup sizes it was launched with."""
        ops = self.figures.ops
        ops.load(*_LAUNCH_COLUMNS)
        mine = np.isin(self.figures.kernel_of_op, [self._numbers[name] for name in self.names])
        rows = np.flatnonzero(mine & (ops["grid_x"] > 0))
        if not len(rows):
            return {}
        sizes = np.stack([ops[name][rows] for name in _LAUNCH_COLUMNS], axis=1)
        distinct, of_row = np.unique(sizes, axis=0, return_inverse=True)
        texts = [str(tuple(size)) for size in distinct.tolist()]
        of_op = np.zeros(len(mine), np.int64)
        of_op[rows] = of_row.reshape(-1)
        known = np.zeros(len(mine), bool)
        known[rows] = True
        return self._shares_of(of_op, texts, known)

    def _shares_of(self, of_op: Array, texts: Sequence[str], known: Array) -> dict[str, Shares]:
        """For each name how its known ops are spread over `texts`."""
        found = {}
        for name in self.names:
            mine = known & (self.figures.kernel_of_op == self._numbers[name])
            counts = code_counts(of_op[mine], len(texts))
            places = np.flatnonzero(counts).tolist()
            if places:
                found[name] = _shares(Counter({texts[i]: int(counts[i]) for i in places}))
        return found

    def category(self, name: str) -> str:
        return self.figures.category_of_kernel[name]

    def full_name(self, name: str) -> str:
        return self.figures.full_names[self._numbers[name]]


class _Sides(NamedTuple):
    """Both traces, and whether they ran on the same chips."""

    base: _Side
    new: _Side
    same_chip: bool


def _best_pairs(sides: _Sides, known: Sequence[Rename], least: float) -> list[Rename]:
    """The best partners among the kernels not yet matched, each used once."""
    base, new, _ = sides
    shared = {name: name for name in base.figures.by_kernel if name in new.figures.by_kernel}
    words_base = shared | {rename.base[0]: rename.new[0] for rename in known}
    words_new = shared | {rename.new[0]: rename.new[0] for rename in known}
    positions = base.positions(words_base), new.positions(words_new)
    gone, come = _unmatched(sides, known)
    pairs = [
        _scored(sides, positions, one, other)
        for one in gone
        for other in come
        if base.category(one) == new.category(other)
    ]
    pairs = [pair for pair in pairs if pair.score >= least and pair.evidence]
    pairs.sort(key=lambda pair: (-pair.score, pair.base, pair.new))
    chosen: list[Rename] = []
    taken: set[tuple[str, ...]] = set()
    for pair in pairs:
        if ("base", *pair.base) not in taken and ("new", *pair.new) not in taken:
            chosen.append(pair)
            taken |= {("base", *pair.base), ("new", *pair.new)}
    return chosen


def _unmatched(sides: _Sides, known: Sequence[Rename]) -> tuple[list[str], list[str]]:
    taken_base = {name for rename in known for name in rename.base}
    taken_new = {name for rename in known for name in rename.new}
    return (
        [name for name in sides.base.names if name not in taken_base],
        [name for name in sides.new.names if name not in taken_new],
    )


def _scored(sides: _Sides, positions: tuple[Positions, Positions], one: str, other: str) -> Rename:
    base, new, same_chip = sides
    calls = base.figures.by_kernel[one].calls, new.figures.by_kernel[other].calls
    full = base.full_name(one), new.full_name(other)
    families = meaning_of(full[0]).family, meaning_of(full[1]).family
    agreement = {
        "position": _position_overlap(positions[0].get(one), positions[1].get(other)),
        "operator": _overlap(base.operators.get(one), new.operators.get(other)),
        "launch size": _overlap(base.launch_sizes.get(one), new.launch_sizes.get(other))
        if same_chip
        else None,
        "calls": min(calls) / max(calls),
        "family": float(families[0] == families[1]) if all(families) else None,
        "name": _common_words(full[0], full[1]),
    }
    known = {part: value for part, value in agreement.items() if value is not None}
    weight = sum(WEIGHTS[part] for part in known)
    score = sum(WEIGHTS[part] * value for part, value in known.items()) / weight
    strong = [part for part in WEIGHTS if known.get(part, 0.0) >= LEAST_EVIDENCE]
    if not {"position", "operator", "launch size"} & set(strong) or (
        known["calls"] < LEAST_CALL_RATIO
    ):
        strong = []
    return Rename((one,), (other,), score, ", ".join(strong))


def _groups(sides: _Sides, known: Sequence[Rename]) -> list[Rename]:
    """What one operator launched of one category: several kernels in one trace, one in the other.

    They are the same work when they ran equally often in all.
    """
    clusters: dict[tuple[str, object], tuple[list[str], list[str]]] = {}
    for place, names in enumerate(_unmatched(sides, known)):
        side = sides.base if place == 0 else sides.new
        for name in names:
            operator = _only_one(side.operators.get(name))
            if operator is not None:
                key = (side.category(name), operator)
                clusters.setdefault(key, ([], []))[place].append(name)
    found = []
    for gone, come in clusters.values():
        calls = (
            sum(sides.base.figures.by_kernel[name].calls for name in gone),
            sum(sides.new.figures.by_kernel[name].calls for name in come),
        )
        if gone and come and min(len(gone), len(come)) == 1:
            ratio = min(calls) / max(calls)
            if ratio >= LEAST_CALL_RATIO:
                found.append(Rename(tuple(gone), tuple(come), ratio / 2, "operator, calls"))
    return found


def _only_one(shares: Shares | None) -> object | None:
    """What has nearly all of the shares, or None."""
    for key, share in (shares or {}).items():
        if share >= LEAST_OPERATOR_SHARE:
            return key
    return None


def _shares(counts: Counter[object]) -> Shares:
    total = sum(counts.values())
    return {key: count / total for key, count in counts.items()}


def _overlap(one: Shares | None, other: Shares | None) -> float | None:
    """How much two distributions have in common, from 0 to 1; None when one is not known."""
    if not one or not other:
        return None
    return sum(min(share, other.get(key, 0.0)) for key, share in one.items())


def _position_overlap(
    one: tuple[Shares, Shares] | None, other: tuple[Shares, Shares] | None
) -> float | None:
    """The mean of what comes before and what comes after."""
    if one is None or other is None:
        return None
    return ((_overlap(one[0], other[0]) or 0.0) + (_overlap(one[1], other[1]) or 0.0)) / 2


def _common_words(one: str, other: str) -> float:
    words = [set(_WORD.findall(text[:4096].lower())) for text in (one, other)]
    either = words[0] | words[1]
    return len(words[0] & words[1]) / len(either) if either else 0.0
