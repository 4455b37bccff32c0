"""Kernels that have another name in the other trace, found by what they do there.

A kernel of the base that is gone and one that is new are the same work when they are of one
category (where their names tell one) and agree in most of what is known: the kernels before and
after them, the operators that launched them, the functor and types of PyTorch's templates, the size
of their launches (on the same chip), how often they ran, their family and the words of their names.
Words alone are never enough. What is left is matched in groups: several kernels that one operator
used to launch became one, or the other way round. docs/compare.md has the weights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.calls.outermost import op_sequence
from wavescope.analyze.compare.figures import (
    WITHOUT_OPERATOR,
    FigureOptions,
    Figures,
    TraceFigures,
)
from wavescope.arrays import Array
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import OTHER, meaning_of

FloatArray = npt.NDArray[np.float64]
SharesByText = Mapping[str, FloatArray]
"""By text the share of each kernel's ops that it has: 0 to 1."""

_MOST_OPS = 200_000
_MOST_TEXTS = 1_024
_LAUNCH_COLUMNS = ("grid_x", "grid_y", "grid_z", "workgroup_x", "workgroup_y", "workgroup_z")
_NOTHING = ""
_MIX = np.uint64(0x9E3779B97F4A7C15)


class KernelProfiles:
    """The kernels `names` of a trace; neighbours and launches of its first ops only."""

    def __init__(self, figures: TraceFigures, names: Sequence[str]) -> None:
        self.figures = figures
        self.names = list(names)
        places = {name: place for place, name in enumerate(figures.kernel_names)}
        self._labels = [places[name] for name in names]
        self._row_of_label = np.full(len(places), -1, np.int64)
        self._row_of_label[self._labels] = np.arange(len(self.names))

    @cached_property
    def calls(self) -> list[int]:
        return [self.figures.by_kernel[name].calls for name in self.names]

    @cached_property
    def categories(self) -> list[str]:
        return [self.figures.category_of_kernel[name] for name in self.names]

    @cached_property
    def full_names(self) -> list[str]:
        return [self.figures.full_names[label] for label in self._labels]

    @cached_property
    def families(self) -> list[str]:
        return [meaning_of(name).family for name in self.full_names]

    def neighbours(self, word_of: Mapping[str, str]) -> tuple[SharesByText, SharesByText]:
        """What runs before and after each; kernels not in `word_of` are told by category."""
        names, categories = self.figures.kernel_names, self.figures.category_of_kernel
        words = [word_of.get(name, f"[{categories[name]}]") for name in names]
        number: dict[str, int] = {}
        for word in (*words, _NOTHING):
            number.setdefault(word, len(number))
        # The last entry answers for -1: nothing ran before or after.
        of_label = np.array([number[word] for word in (*words, _NOTHING)], np.int64)
        rows, before, after = self._neighbours
        texts = list(number)
        return self._shares(rows, of_label[before], texts), self._shares(
            rows, of_label[after], texts
        )

    @cached_property
    def _neighbours(self) -> tuple[Array, Array, Array]:
        """For ops of these kernels the kernel's place, and the labels before and after it."""
        figures = self.figures
        ops, labels = figures.ops, figures.kernel_of_op
        if len(labels) > _MOST_OPS:
            first = np.arange(_MOST_OPS)
            ops, labels = ops.take(first), labels[first]
        sequence = op_sequence(ops, labels, len(figures.kernel_names))
        row = self._row_of_label[sequence.label]
        mine = np.flatnonzero(row >= 0)
        return row[mine], sequence.before[mine], sequence.after[mine]

    @cached_property
    def operators(self) -> SharesByText:
        """The operators that launched each; empty when the trace knows none."""
        operators = self.figures.operators
        if operators is None:
            return {}
        known = np.array([name not in WITHOUT_OPERATOR for name in operators.names])
        row = self._row_of_label[self.figures.kernel_of_op]
        mine = np.flatnonzero((row >= 0) & known[operators.of_op])
        return self._shares(row[mine], operators.of_op[mine], operators.names)

    @cached_property
    def roles(self) -> SharesByText:
        """What each computes, where its name tells that."""
        found: dict[str, FloatArray] = {}
        for row, name in enumerate(self.names):
            calls = self.figures.role_calls.get(name, {})
            for role, count in calls.items():
                column = found.setdefault(role, np.zeros(len(self.names)))
                column[row] = count / sum(calls.values())
        return found

    @cached_property
    def launch_sizes(self) -> SharesByText:
        """The grids and workgroups they were launched with."""
        ops = self.figures.ops
        ops.load(*_LAUNCH_COLUMNS)
        row = self._row_of_label[self.figures.kernel_of_op[:_MOST_OPS]]
        mine = np.flatnonzero((row >= 0) & (ops["grid_x"][:_MOST_OPS] > 0))
        keys = np.zeros(len(mine), np.uint64)
        for name in _LAUNCH_COLUMNS:
            keys = (keys ^ ops[name][mine].astype(np.int64).view(np.uint64)) * _MIX
            keys ^= keys >> np.uint64(29)
        found, size = np.unique(keys, return_inverse=True)
        return self._shares(row[mine], size.reshape(-1), [str(key) for key in found.tolist()])

    def _shares(self, rows: Array, columns: Array, texts: Sequence[str]) -> SharesByText:
        """The share of each kernel's ops (`rows`) that each of the most frequent texts has."""
        whole = np.bincount(rows, minlength=len(self.names))
        totals = np.bincount(columns, minlength=len(texts))
        frequent = np.argsort(-totals, kind="stable")[:_MOST_TEXTS]
        frequent = frequent[totals[frequent] > 0]
        place = np.full(len(texts), -1, np.int64)
        place[frequent] = np.arange(len(frequent))
        kept = np.flatnonzero(place[columns] >= 0)
        cells = rows[kept] * len(frequent) + place[columns[kept]]
        counts = np.bincount(cells, minlength=len(self.names) * len(frequent))
        shares = counts.reshape(len(self.names), -1) / np.maximum(whole, 1)[:, None]
        return {texts[column]: shares[:, at] for at, column in enumerate(frequent.tolist())}


def common_shares(mine: SharesByText, others: SharesByText, shape: tuple[int, int]) -> FloatArray:
    """What the distributions of each two kernels have in common; NaN where one is not known.

    `shape` is how many kernels there are on each side.
    """
    common = np.zeros(shape)
    for text, shares in mine.items():
        if text in others:
            common += np.minimum(shares[:, None], others[text][None, :])
    known = _known(mine, shape[0])[:, None] & _known(others, shape[1])[None, :]
    return np.where(known, common, np.nan)


def _known(shares: SharesByText, count: int) -> npt.NDArray[np.bool_]:
    known = np.zeros(count, bool)
    for column in shares.values():
        known |= column > 0
    return known


WEIGHTS = {
    "position": 0.3,
    "operator": 0.3,
    "role": 0.3,
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
LEAST_COMMON_ROLES = 0.9
"""Kernels of one short name are the same when so much of their calls does the same work."""
_PROOF = ("position", "operator", "role", "launch size")
_MOST_KERNELS = 200
_LONGEST_COMPARED = 4_096
_WORD = re.compile(r"[A-Za-z]+|\d+")

Agreement = npt.NDArray[np.float64]
"""For each kernel of the base and each new one a number from 0 to 1; NaN where it is not known."""


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


def renamed_between(base: Trace, new: Trace, options: FigureOptions) -> list[Rename]:
    """What kernels of one trace are called in another."""
    return renames(TraceFigures(base, options), TraceFigures(new, options))


def renames(base: TraceFigures, new: TraceFigures) -> list[Rename]:
    """Pairs of kernels that only one of the traces has, surest first."""
    gone = _largest(base.by_kernel, new.by_kernel)
    come = _largest(new.by_kernel, base.by_kernel)
    if not gone or not come:
        return []
    candidates = _Candidates(KernelProfiles(base, gone), KernelProfiles(new, come))
    found: list[Rename] = []
    for least in (SURE_SCORE, SURE_SCORE, LEAST_SCORE):  # what is sure helps to place the rest
        found += candidates.best_pairs(found, least)
    found += _groups(candidates.base, candidates.new, found)
    return sorted(found, key=lambda rename: (-rename.score, rename.base, rename.new))


def told_apart(figures: Sequence[TraceFigures]) -> list[TraceFigures]:
    """The same figures, with kernels of one short name apart where they do other work.

    Templates serve other functors and types on other chips and in other versions: a short name
    that both traces have is then not the same kernel.
    """
    first, *others = (each.role_calls for each in figures)
    names = frozenset(
        name
        for other in others
        for name in first.keys() & other.keys()
        if _common_roles(first[name], other[name]) < LEAST_COMMON_ROLES
    )
    if not names:
        return list(figures)
    return [TraceFigures(each.trace, replace(each.options, told_by_role=names)) for each in figures]


def _common_roles(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    sums = sum(one.values()), sum(other.values())
    return sum(min(one[role] / sums[0], other[role] / sums[1]) for role in one if role in other)


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


class _Candidates:
    """The kernels that only one trace has, and how far each two of them agree."""

    def __init__(self, base: KernelProfiles, new: KernelProfiles) -> None:
        self.base, self.new = base, new
        calls = np.array(base.calls)[:, None], np.array(new.calls)[None, :]
        ratio: Agreement = np.minimum(*calls) / np.maximum(*calls)
        categories = np.array(base.categories)[:, None], np.array(new.categories)[None, :]
        # A name that says nothing of what the kernel is rules nothing out.
        unknown = (categories[0] == OTHER) | (categories[1] == OTHER)
        same_category = (categories[0] == categories[1]) | unknown
        self._possible = same_category & (ratio >= LEAST_CALL_RATIO)
        self._agreement = {
            "operator": common_shares(base.operators, new.operators, ratio.shape),
            "role": common_shares(base.roles, new.roles, ratio.shape),
            "calls": ratio,
            "family": _same_family(base, new),
            "name": self._common_words(),
        }
        if chips_of(base.figures.trace) == chips_of(new.figures.trace):
            sizes = base.launch_sizes, new.launch_sizes
            self._agreement["launch size"] = common_shares(*sizes, ratio.shape)

    def best_pairs(self, known: Sequence[Rename], least: float) -> list[Rename]:
        """The best partners among the kernels not yet matched, each used once."""
        agreement = {**self._agreement, "position": self._positions(known)}
        parts = [part for part in WEIGHTS if part in agreement]
        values = np.stack([agreement[part] for part in parts])
        weights = np.array([WEIGHTS[part] for part in parts])[:, None, None] * ~np.isnan(values)
        score = np.nansum(weights * values, axis=0) / weights.sum(axis=0)
        reached = np.nan_to_num(values) >= LEAST_EVIDENCE
        is_proof = np.array([part in _PROOF for part in parts])
        allowed = self._possible & (score >= least) & reached[is_proof].any(axis=0)
        for rename in known:
            allowed[[self.base.names.index(name) for name in rename.base]] = False
            allowed[:, [self.new.names.index(name) for name in rename.new]] = False
        return [
            Rename(
                (self.base.names[row],),
                (self.new.names[column],),
                float(score[row, column]),
                ", ".join(part for place, part in enumerate(parts) if reached[place, row, column]),
            )
            for row, column in _each_once(np.where(allowed, score, -1.0))
        ]

    def _positions(self, known: Sequence[Rename]) -> Agreement:
        """The mean agreement of what runs before and what runs after.

        Kernels are told by name where both traces have them or they are matched, else by category.
        """
        of_base, of_new = self.base.figures.by_kernel, self.new.figures.by_kernel
        shared = {name: name for name in of_base if name in of_new}
        words_base = shared | {rename.base[0]: rename.new[0] for rename in known}
        words_new = shared | {rename.new[0]: rename.new[0] for rename in known}
        sides = [
            common_shares(mine, others, self._possible.shape)
            for mine, others in zip(
                self.base.neighbours(words_base), self.new.neighbours(words_new), strict=True
            )
        ]
        return (sides[0] + sides[1]) / 2

    def _common_words(self) -> Agreement:
        words = [
            [frozenset(_WORD.findall(text[:_LONGEST_COMPARED].lower())) for text in texts]
            for texts in (self.base.full_names, self.new.full_names)
        ]
        found: Agreement = np.zeros(self._possible.shape)
        for row, column in np.argwhere(self._possible).tolist():
            one, other = words[0][row], words[1][column]
            found[row, column] = len(one & other) / len(one | other) if one | other else 0.0
        return found


def _same_family(base: KernelProfiles, new: KernelProfiles) -> Agreement:
    one, other = np.array(base.families)[:, None], np.array(new.families)[None, :]
    same = np.where(one == other, 1.0, 0.0)
    return np.where((one == "") | (other == ""), np.nan, same)


def _each_once(score: Agreement) -> Iterator[tuple[int, int]]:
    """Row and column of the best score, then of the best in other rows and columns, and so on."""
    order = np.argsort(-score, axis=None, kind="stable")
    rows, columns = np.unravel_index(order, score.shape)
    used_rows: set[int] = set()
    used_columns: set[int] = set()
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        if score[row, column] < 0:
            return
        if row not in used_rows and column not in used_columns:
            used_rows.add(row)
            used_columns.add(column)
            yield row, column


def _groups(base: KernelProfiles, new: KernelProfiles, known: Sequence[Rename]) -> list[Rename]:
    """What one operator launched of one category: several kernels in one trace, one in the other.

    They are the same work when they ran equally often in all.
    """
    matched = (
        {name for rename in known for name in rename.base},
        {name for rename in known for name in rename.new},
    )
    clusters: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
    for place, side in enumerate((base, new)):
        shares = side.operators
        for row, name in enumerate(side.names):
            for operator in shares if name not in matched[place] else ():
                if shares[operator][row] >= LEAST_OPERATOR_SHARE:
                    key = (side.categories[row], operator)
                    clusters.setdefault(key, ([], []))[place].append(row)
    found = []
    for gone, come in clusters.values():
        if gone and come and min(len(gone), len(come)) == 1:
            calls = sum(base.calls[row] for row in gone), sum(new.calls[row] for row in come)
            ratio = min(calls) / max(calls)
            if ratio >= LEAST_CALL_RATIO:
                names = tuple(base.names[i] for i in gone), tuple(new.names[i] for i in come)
                found.append(Rename(*names, ratio / 2, "operator, calls"))
    return found
