"""What is known of some kernels of a trace beyond their names: neighbours, operators, launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wavescope.analyze.compare.figures import TraceFigures
from wavescope.analyze.compare.operators import NO_OPERATOR, NOT_RECORDED, op_sequence
from wavescope.arrays import Array
from wavescope.names.kernel_meaning import meaning_of

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
        known = np.array([name not in (NO_OPERATOR, NOT_RECORDED) for name in operators.names])
        row = self._row_of_label[self.figures.kernel_of_op]
        mine = np.flatnonzero((row >= 0) & known[operators.of_op])
        return self._shares(row[mine], operators.of_op[mine], operators.names)

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
