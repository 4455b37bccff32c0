"""Computes the statistics of single metrics, and says why one has no value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from wavescope.analyze.counters.catalogue import Metric
from wavescope.analyze.counters.expression import Expression, Name, expression_text, parsed
from wavescope.analyze.counters.expression_value import Amount, Scope, evaluated, zero_divisors
from wavescope.analyze.counters.measure import parsed_measure
from wavescope.analyze.counters.measured import (
    Aggregation,
    KernelScope,
    Measured,
    NormalUnit,
    deviation_of,
    mean_of,
    spread,
)
from wavescope.model.counters import Floats

_MOST_NAMED = 3


@dataclass
class MetricValue:
    """Statistics by name; those without a value are None, and `reason` says why."""

    statistics: dict[str, float | None] = field(default_factory=dict)
    reason: str = ""


class MetricValues:
    """Computes metrics over all dispatches of a workload."""

    def __init__(self, measured: Measured, normal_unit: NormalUnit) -> None:
        self.measured = measured
        self.normal_unit = normal_unit

    def unit_of(self, metric: Metric) -> str:
        """The unit as people read it: 'req per wave'."""
        return f"{metric.unit} {self.normal_unit.words}" if metric.normalised else metric.unit

    def unavailable(self, metric: Metric) -> str:
        """Why the metric cannot be computed at all, or nothing."""
        catalogue = self.measured.catalogue
        if metric.key in catalogue.not_counted:
            return f"N/A: {catalogue.chip} does not count it"
        missing = self.measured.missing(metric.value, metric.level_pass)
        if metric.normalised:
            missing += self.measured.missing(self.normal_unit.formula)
        lacking = catalogue.lacked(missing)
        if lacking:
            return f"N/A: {catalogue.chip} has no {', '.join(lacking)}"
        return needs_text(missing)

    def single(self, metric: Metric, *, rounded: bool = False) -> MetricValue:
        """The average."""
        reason = self.unavailable(metric)
        if reason:
            return MetricValue({"avg": None}, reason)
        value = self._average(metric)
        if rounded and math.isfinite(value):
            value = float(np.rint(value))
        return self._with_reason(metric, {"avg": _finite(value)}, ("avg",))

    def ranged(self, metric: Metric, *, deviation: bool = False) -> MetricValue:
        """Average, least and greatest; also the standard deviation if asked."""
        names = ("avg", "std", "min", "max") if deviation else ("avg", "min", "max")
        reason = self.unavailable(metric)
        if reason:
            return MetricValue(dict.fromkeys(names), reason)
        values = np.atleast_1d(np.asarray(self.of_dispatches(metric)))
        known = values[np.isfinite(values)]
        statistics: dict[str, float | None] = {
            "avg": _finite(self._average(metric)),
            "min": float(known.min()) if len(known) else None,
            "max": float(known.max()) if len(known) else None,
        }
        if deviation:
            statistics["std"] = _finite(deviation_of(values))
        return self._with_reason(metric, {name: statistics[name] for name in names}, ("avg",))

    def with_peak(self, metric: Metric) -> MetricValue:
        """Average, peak, and the share of it in percent."""
        value = self.single(metric)
        peak = None
        if not metric.peak:
            value.reason = value.reason or "N/A: it has no peak"
        else:
            missing = self.measured.missing(metric.peak)
            if missing:
                value.reason = value.reason or "peak " + needs_text(missing)
            else:
                scope = self.measured.means((metric.peak,))
                peak = _finite(float(np.asarray(self._scaled(metric, metric.peak, scope))))
        average = value.statistics["avg"]
        share = 100 * average / peak if average is not None and peak else None
        value.statistics |= {"peak": peak, "percent_of_peak": share}
        return value

    def boxed(self, metric: Metric) -> MetricValue:
        """Least, quartiles and greatest of the dispatches."""
        reason = self.unavailable(metric)
        if reason:
            return MetricValue(dict.fromkeys(("min", "q1", "median", "q3", "max")), reason)
        values = np.atleast_1d(np.asarray(self.of_dispatches(metric)))
        found = {name: _finite(float(value)) for name, value in spread(values).items()}
        return self._with_reason(metric, found, ("median",))

    def channel_spread(self, metric: Metric) -> dict[str, Floats]:
        """Least, quartiles and greatest of the dispatches for each channel."""
        return spread(np.asarray(self.of_dispatches(metric, wide=True)))

    def channel_average(self, metric: Metric) -> Floats:
        """The average of each channel."""
        if self.measured.aggregation is Aggregation.MEAN_OF_RATIOS:
            return mean_of(np.asarray(self.of_dispatches(metric, wide=True)))
        return np.asarray(self._of_means(metric))

    def of_dispatches(self, metric: Metric, *, wide: bool = False) -> Amount:
        """The metric's value in each dispatch."""
        scope = self.measured.dispatches(metric.level_pass, wide=wide)
        return self._normalised(metric, scope, self.measured.dispatches(wide=wide))

    def of_kernels(self, metric: Metric) -> Floats:
        """The metric's value for each kernel, in the order of the workload's names."""
        count = len(self.measured.table.kernel_names)
        if self.unavailable(metric):
            return np.full(count, np.nan)
        level = KernelScope(self.measured, metric.level_pass)
        value = self._normalised(metric, level, KernelScope(self.measured))
        return np.broadcast_to(np.asarray(value, dtype=np.float64), (count,))

    def _average(self, metric: Metric) -> float:
        if self.measured.aggregation is Aggregation.MEAN_OF_RATIOS:
            values = np.atleast_1d(np.asarray(self.of_dispatches(metric)))
            return float(mean_of(values))
        return float(np.asarray(self._of_means(metric)))

    def _of_means(self, metric: Metric) -> Amount:
        formulas = (
            (metric.value, self.normal_unit.formula) if metric.normalised else (metric.value,)
        )
        level = metric.level_pass
        plain = self.measured.means(formulas) if level else None
        scope = self.measured.means(formulas, level)
        return self._normalised(metric, scope, plain or scope)

    def _normalised(self, metric: Metric, scope: Scope, plain: Scope) -> Amount:
        value = self._scaled(metric, metric.value, scope)
        if not metric.normalised or self.normal_unit is NormalUnit.PER_KERNEL:
            return value
        divisor = np.asarray(evaluated(parsed(self.normal_unit.formula), plain))
        return value / np.where(divisor == 0, np.nan, divisor)

    def _scaled(self, metric: Metric, formula: str, scope: Scope) -> Amount:
        return evaluated(parsed(formula), scope) / parsed_measure(metric.unit).scale

    def _with_reason(
        self, metric: Metric, statistics: dict[str, float | None], telling: tuple[str, ...]
    ) -> MetricValue:
        if any(statistics[name] is None for name in telling):
            return MetricValue(statistics, self._why_undefined(metric))
        if statistics.get("min", 0.0) is None:
            return MetricValue(statistics, "N/A: no dispatch by itself has all of its counters")
        if statistics.get("std", 0.0) is None:
            return MetricValue(statistics, "N/A: a deviation needs two dispatches")
        return MetricValue(statistics)

    def _why_undefined(self, metric: Metric) -> str:
        scope = self.measured.dispatches(metric.level_pass)
        zeros: list[Expression] = zero_divisors(parsed(metric.value), scope)
        if zeros:
            return f"N/A: {self._spelled(zeros[0])} is 0"
        if metric.normalised:
            return f"N/A: {self.normal_unit.formula} is 0"
        return "N/A: no dispatch has all of its counters"

    def _spelled(self, expression: Expression) -> str:
        """The formula as text; a named value as what it stands for."""
        values = self.measured.catalogue.values
        if isinstance(expression, Name) and expression.name in values:
            return values[expression.name]
        return expression_text(expression)


def needs_text(missing: list[str]) -> str:
    """'N/A: needs A, B and 3 more' for what is missing; nothing when all is there."""
    if not missing:
        return ""
    named = ", ".join(missing[:_MOST_NAMED])
    more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
    return f"N/A: needs {named}{more}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


ABOVE_PERCENT = 101.0
"""A share above this is impossible; up to it the passes may disagree by noise."""
DOUBTFUL = "doubtful: beyond what is physically possible"
_OF_DISPATCHES = ("avg", "min", "max", "value")


def is_possible(metric: Metric, statistics: Mapping[str, float | None]) -> bool:
    """Whether all statistics of a metric lie within its limits."""
    share = statistics.get("percent_of_peak")
    if share is not None and share > ABOVE_PERCENT:
        return False
    if not metric.is_share:
        return True
    values = [statistics.get(name) for name in _OF_DISPATCHES]
    return all(value is None or 100 - ABOVE_PERCENT <= value <= ABOVE_PERCENT for value in values)
