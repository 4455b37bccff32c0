"""Where formulas find their values: dispatch by dispatch, as means, or for each kernel.

Counters written in a metric's own formula come from the pass of its level counter if it has one;
named values always come from the joined passes.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from wavescope.analyze.counters.catalogue import Catalogue
from wavescope.analyze.counters.expression import ChannelCounter, Expression, Name
from wavescope.analyze.counters.expression_value import Amount, Array, evaluated
from wavescope.model.counters import ACCUMULATED, CounterTable, Floats, Integers

Marks = NDArray[np.bool_]

_NS_PER_SECOND = 1e9
DURATION = "duration"


class Aggregation(str, enum.Enum):
    """How the average column of a metric is formed."""

    RATIO_OF_SUMS = "ratio-of-sums"
    """The formula on the sums of its counters: a long dispatch weighs more than a short one."""
    MEAN_OF_RATIOS = "mean-of-ratios"
    """The mean of the formula's value in each dispatch, as ROCm Compute Profiler before 3.7."""


class NormalUnit(str, enum.Enum):
    """What an amount such as a number of requests is divided by."""

    PER_KERNEL = "per_kernel"
    PER_WAVE = "per_wave"
    PER_CYCLE = "per_cycle"
    PER_SECOND = "per_second"

    @property
    def formula(self) -> str:
        """What to divide by, as a formula."""
        return {"per_kernel": "1", "per_wave": "SQ_WAVES", "per_cycle": "gui"}.get(
            self.value, "duration"
        )

    @property
    def words(self) -> str:
        """How it reads after a unit: 'per wave'."""
        return self.value.replace("_", " ")


class Measured:
    """The counters of a workload under the names that formulas use."""

    def __init__(
        self,
        table: CounterTable,
        catalogue: Catalogue,
        aggregation: Aggregation = Aggregation.RATIO_OF_SUMS,
    ) -> None:
        self.table = table
        self.catalogue = catalogue
        self.aggregation = aggregation
        seconds = table.durations_ns / _NS_PER_SECOND
        self._duration = seconds if bool(np.isfinite(seconds).any()) else None
        self._dispatches: dict[tuple[str, bool], DispatchScope] = {}
        self._means: dict[tuple[str, bytes], MeanScope] = {}
        self._found: dict[tuple[str, str], bool] = {}

    def column(self, name: str, level: str = "") -> Floats | None:
        """The values of a counter or launch column, one for each dispatch."""
        if name == DURATION:
            return self._duration
        if level:
            found = self.table.levels.get(level, {}).get(name)
            if found is not None or name == ACCUMULATED:
                return found
        return self.table.columns.get(name)

    def fact(self, name: str) -> float | None:
        """A number of the chip in base units (clocks in cycles for each second)."""
        value = self.table.facts.get(name)
        return None if value is None else value * self.catalogue.facts[name].scale

    def missing(self, formula: str, level: str = "") -> list[str]:
        """What the workload lacks to compute `formula`, in the order of names."""
        absent = set()
        for need in self.catalogue.needs(formula):
            if isinstance(need, ChannelCounter):
                if need.family not in self.table.channels:
                    absent.add(need.family)
            elif not self._has(need, level):
                absent.add(level if need.name == ACCUMULATED else need.name)
        return sorted(absent)

    def dispatches(self, level: str = "", *, wide: bool = False) -> DispatchScope:
        """Values of each dispatch; `wide` ones can be combined with those of channels."""
        key = (level, wide)
        if key not in self._dispatches:
            self._dispatches[key] = DispatchScope(self, level, wide=wide)
        return self._dispatches[key]

    def means(self, formulas: tuple[str, ...], level: str = "") -> MeanScope:
        """Means over the dispatches that have all counters of `formulas`.

        Where no dispatch has all of them (counters were collected in turns), each counter's mean is
        over the dispatches that have it.
        """
        rows = self._complete_rows(formulas, level)
        key = (level, b"" if rows is None else rows.tobytes())
        if key not in self._means:
            self._means[key] = MeanScope(self, level, rows)
        return self._means[key]

    def _complete_rows(self, formulas: tuple[str, ...], level: str) -> Marks | None:
        complete: Marks | None = None
        for formula in formulas:
            for need in self.catalogue.needs(formula):
                if isinstance(need, ChannelCounter):
                    values = self.table.channels[need.family].sum(axis=1)
                else:
                    found = self.column(need.name, level)
                    if found is None:
                        continue
                    values = found
                if np.isnan(values.sum()):
                    known = np.isfinite(values)
                    complete = known if complete is None else complete & known
        if complete is None or not complete.any():
            return None
        return complete

    def _has(self, need: Name, level: str) -> bool:
        if need.name in self.catalogue.facts:
            return need.name in self.table.facts
        key = (need.name, level)
        if key not in self._found:
            values = self.column(need.name, level)
            self._found[key] = values is not None and bool(np.isfinite(values).any())
        return self._found[key]


class _NamedScope(ABC):
    """Names stand for columns seen in some way; what was once looked up is remembered."""

    def __init__(self, measured: Measured, level: str) -> None:
        self._measured = measured
        self._level = level
        self._known: dict[str, Amount] = {}

    def value(self, name: str) -> Amount:
        """The value of a counter, column, fact or named value; facts are single numbers."""
        if name not in self._known:
            self._known[name] = self._found(name)
        return self._known[name]

    def mean(self, expression: Expression) -> Amount:
        """The mean over dispatches; scopes of means have nothing left to do."""
        return evaluated(expression, self)

    @abstractmethod
    def channels(self, family: str) -> Array:
        """The values of a per-channel counter, the channels along the last axis."""

    @abstractmethod
    def _joined(self) -> _NamedScope:
        """The same view of the joined passes, where named values come from."""

    @abstractmethod
    def _seen(self, column: Floats) -> Amount:
        """What a column's values are in this view."""

    def _found(self, name: str) -> Amount:
        measured = self._measured
        if name in measured.catalogue.values:
            return evaluated(measured.catalogue.value_expression(name), self._joined())
        if name in measured.catalogue.facts:
            fact = measured.fact(name)
            if fact is not None:
                return fact
        else:
            column = measured.column(name, self._level)
            if column is not None:
                return self._seen(column)
        raise KeyError(f"{name} was looked up without asking whether it is there")


class DispatchScope(_NamedScope):
    """Names stand for one value in each dispatch."""

    def __init__(self, measured: Measured, level: str, *, wide: bool) -> None:
        super().__init__(measured, level)
        self._wide = wide

    def channels(self, family: str) -> Array:
        """Dispatches x channels."""
        return self._measured.table.channels[family]

    def mean(self, expression: Expression) -> Amount:
        """The mean over all dispatches, as the aggregation says."""
        if self._measured.aggregation is Aggregation.RATIO_OF_SUMS:
            return evaluated(expression, self._measured.means((), ""))
        return float(mean_of(np.asarray(evaluated(expression, self._measured.dispatches()))))

    def _joined(self) -> DispatchScope:
        return self._measured.dispatches(wide=self._wide)

    def _seen(self, column: Floats) -> Amount:
        return column[:, None] if self._wide else column


class MeanScope(_NamedScope):
    """Names stand for their mean over dispatches, so that a ratio is one of sums."""

    def __init__(self, measured: Measured, level: str, rows: Marks | None) -> None:
        super().__init__(measured, level)
        self._rows = rows

    def channels(self, family: str) -> Array:
        """One mean for each channel."""
        values = self._measured.table.channels[family]
        return mean_of(values if self._rows is None else values[self._rows])

    def _joined(self) -> MeanScope:
        return MeanScope(self._measured, "", self._rows) if self._level else self

    def _seen(self, column: Floats) -> Amount:
        return float(mean_of(column if self._rows is None else column[self._rows]))


class KernelScope(_NamedScope):
    """Names stand for their mean over the dispatches of each kernel."""

    def __init__(self, measured: Measured, level: str = "") -> None:
        super().__init__(measured, level)

    def channels(self, family: str) -> Array:
        """Kernels x channels."""
        values = self._measured.table.channels[family]
        return np.stack([self._seen(values[:, at]) for at in range(values.shape[1])], axis=1)

    def _joined(self) -> KernelScope:
        return KernelScope(self._measured) if self._level else self

    def _seen(self, column: Floats) -> Floats:
        table = self._measured.table
        return kernel_means(column, table.kernel_codes, len(table.kernel_names))


def kernel_means(values: Floats, codes: Integers, count: int) -> Floats:
    """The mean of each kernel's values; NaN is left out."""
    known = np.isfinite(values)
    totals = np.bincount(codes, weights=np.where(known, values, 0.0), minlength=count)
    counts = np.bincount(codes, weights=known.astype(np.float64), minlength=count)
    means: Floats = np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)
    return means


def spread(values: Floats) -> dict[str, Floats]:
    """Least, quartiles and greatest along the first axis; NaN is left out.

    Quartiles lie between two values in proportion, as is usual.
    """
    ordered = np.sort(values, axis=0)  # NaN comes last
    counts = np.isfinite(values).sum(axis=0)
    last = np.maximum(counts - 1, 0)
    result = {}
    for name, share in (("min", 0.0), ("q1", 0.25), ("median", 0.5), ("q3", 0.75), ("max", 1.0)):
        place = share * last
        low = np.floor(place).astype(np.int64)
        high = np.minimum(low + 1, last)
        below = np.take_along_axis(ordered, low[None, ...], axis=0)[0]
        above = np.take_along_axis(ordered, high[None, ...], axis=0)[0]
        result[name] = below + (above - below) * (place - low)
    return result


def mean_of(values: Floats) -> Floats:
    """The mean along the first axis; NaN is left out."""
    known = np.isfinite(values)
    counts = known.sum(axis=0)
    totals = np.where(known, values, 0.0).sum(axis=0)
    mean: Floats = np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)
    return mean


def deviation_of(values: Floats) -> float:
    """The sample standard deviation; NaN for fewer than two values."""
    known = values[np.isfinite(values)]
    return float(known.std(ddof=1)) if len(known) > 1 else float("nan")
