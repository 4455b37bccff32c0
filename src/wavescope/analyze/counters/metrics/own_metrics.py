"""A user's own metrics, and the proof that formulas add up: names, units, and how they grow.

Two things are inferred for every part of a formula before anything is computed with it: its measure
(only equal ones may be added or compared) and its degree, how it grows with the number of
dispatches. A counter has degree 1, a fact of the chip and a ratio of counters 0. A metric of degree
0 is a ratio, which may be formed of sums; one of degree 1 is an amount for each dispatch.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from wavescope.analyze.counters.catalogue import (
    Catalogue,
    Metric,
    Panel,
    PanelRow,
    PanelTable,
    defined_metric,
)
from wavescope.analyze.counters.expression import (
    Arithmetic,
    Call,
    ChannelCounter,
    Choice,
    Expression,
    FormulaError,
    Name,
    Number,
    expression_text,
    parsed,
)
from wavescope.analyze.counters.measure import PLAIN, Measure, parsed_measure
from wavescope.analyze.counters.panels import STATISTICS
from wavescope.errors import UsageError, WavescopeError
from wavescope.model.rules_document import RulesDocument

_OWN_PANEL = 100
COUNTER_NAME = re.compile(r"(SQ|SQC|TA|TD|TCP|TCC|CPC|CPF|SPI|GRBM|GDS|GL2C)_\w+|ACCUM", re.ASCII)
"""How hardware counters are called; other names must be facts or values of the catalogue."""


def with_own_metrics(catalogue: Catalogue, document: RulesDocument) -> Catalogue:
    """The catalogue with a user's values and metrics, checked, in a table of panel 100."""
    path, content = document.path, document.content
    entries = _table(content.get("metric", {}), "metric", path)
    if not entries:
        raise UsageError(
            f"{path} defines no metrics", hint="write [metric.my_name] with unit, value, meaning"
        )
    own = {key: _own_metric(catalogue, key, entry, path) for key, entry in entries.items()}
    values = _texts(_table(content.get("value", {}), "value", path), path)
    known = next((panel.tables for panel in catalogue.panels if panel.id == _OWN_PANEL), ())
    rows = [PanelRow(str(entry.get("name", key)), key) for key, entry in entries.items()]
    table = PanelTable(
        f"{_OWN_PANEL}.{len(known) + 1}",
        str(content.get("title", Path(path).stem)),
        _columns(content.get("columns") or "range", path),
        tuple(rows),
    )
    panel = Panel(_OWN_PANEL, "own", "Own Metrics", (*known, table))
    extended = replace(
        catalogue,
        panels=(*(each for each in catalogue.panels if each.id != _OWN_PANEL), panel),
        metrics={**catalogue.metrics, **own},
        values={**catalogue.values, **values},
    )
    check_metrics(extended, own.values())
    return extended


def _table(value: object, name: str, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(
            f"'{name}' in {path} is not a table", hint="write [metric.my_name] and [value]"
        )
    return value


def _own_metric(catalogue: Catalogue, key: str, entry: object, path: str) -> Metric:
    known = catalogue.metrics.get(key)
    if not isinstance(entry, Mapping) or (known is None and not {"unit", "value"} <= set(entry)):
        raise UsageError(f"the metric '{key}' in {path} needs a unit and a value")
    try:
        return defined_metric(key, entry, known)
    except WavescopeError as error:
        raise UsageError(f"the metric '{key}' in {path}: {error}", hint=error.hint) from error


def _texts(entries: Mapping[str, Any], path: str) -> dict[str, str]:
    for name, text in entries.items():
        if not isinstance(text, str):
            raise UsageError(f"the value '{name}' in {path} is not a formula in quotes")
    return dict(entries)


def _columns(value: object, path: str) -> str:
    if value not in STATISTICS:
        raise UsageError(
            f"'columns' in {path} is not a kind of table",
            hint=f"it is one of {', '.join(STATISTICS)}",
        )
    return str(value)


def check_metrics(catalogue: Catalogue, metrics: Iterable[Metric]) -> None:
    """Raise a `FormulaError` for the first metric that does not add up."""
    for metric in metrics:
        _check_metric(catalogue, metric)


def name_kind(catalogue: Catalogue, name: str) -> Kind:
    """What a counter, launch column, fact or named value measures."""
    if name in catalogue.values:
        return kind_of(catalogue.value_expression(name), lambda inner: name_kind(catalogue, inner))
    if name == "duration":
        return Kind(parsed_measure("s"), 1)
    if name in catalogue.facts:
        return Kind(catalogue.facts[name], 0)
    if name in catalogue.launch:
        return Kind(catalogue.launch[name], 1)
    if COUNTER_NAME.fullmatch(name):
        for pattern, measure in catalogue.counter_rules:
            if pattern.search(name):
                return Kind(measure, 1)
        return Kind(PLAIN, 1)
    known = [*catalogue.values, *catalogue.facts, *catalogue.launch, "duration"]
    near = difflib.get_close_matches(name, known, 3)
    raise FormulaError(
        f"'{name}' is neither a counter nor a fact nor a value",
        hint=f"did you mean {', '.join(near)}?" if near else "docs/metrics.md lists the names",
    )


def _check_metric(catalogue: Catalogue, metric: Metric) -> None:
    try:
        _check_formulas(catalogue, metric)
    except RecursionError as error:
        raise FormulaError(f"the metric '{metric.key}': its values go in a circle") from error
    except FormulaError as error:
        raise FormulaError(f"the metric '{metric.key}': {error}", hint=error.hint) from error


def _check_formulas(catalogue: Catalogue, metric: Metric) -> None:
    unit = parsed_measure(metric.unit)
    for formula in filter(None, (metric.value, metric.peak)):
        kind = kind_of(parsed(formula), lambda name: name_kind(catalogue, name))
        if kind.measure.powers != unit.powers:
            raise FormulaError(f"'{formula}' is in {kind.measure}, its unit is {metric.unit}")


class Kind(NamedTuple):
    """What an expression measures and how it grows; a bare 0 has any degree."""

    measure: Measure
    degree: int | None


KindOf = Callable[[str], Kind]
"""The kind of a counter, fact or named value."""


def kind_of(expression: Expression, names: KindOf) -> Kind:
    """What `expression` measures, or a `FormulaError` when it does not add up."""
    if isinstance(expression, Number):
        return Kind(expression.measure, None if expression.value == 0 else 0)
    if isinstance(expression, Name):
        return names(expression.name)
    if isinstance(expression, ChannelCounter):
        return names(expression.family)
    if isinstance(expression, Arithmetic):
        return _arithmetic_kind(expression, names)
    if isinstance(expression, Call):
        return _call_kind(expression, names)
    return _choice_kind(expression, names)


def _arithmetic_kind(expression: Arithmetic, names: KindOf) -> Kind:
    left, right = kind_of(expression.left, names), kind_of(expression.right, names)
    if expression.operator in {"+", "-"}:
        return _same(left, right, expression)
    sign = 1 if expression.operator == "*" else -1
    degree = (left.degree or 0) + sign * (right.degree or 0)
    if degree not in {0, 1}:
        raise FormulaError(
            f"'{expression_text(expression)}' grows with the power {degree} of the dispatches",
            hint="divide counters by counters, or multiply them by facts of the chip",
        )
    return Kind(left.measure.times(right.measure, sign), degree)


def _call_kind(expression: Call, names: KindOf) -> Kind:
    kinds = [kind_of(argument, names) for argument in expression.arguments]
    if expression.function in {"min", "max", "mod"}:
        return _same(kinds[0], kinds[1], expression)
    if expression.function == "mean":
        return Kind(kinds[0].measure, 0)
    return kinds[0]


def _choice_kind(expression: Choice, names: KindOf) -> Kind:
    _same(kind_of(expression.left, names), kind_of(expression.right, names), expression)
    return _same(kind_of(expression.value, names), kind_of(expression.other, names), expression)


def _same(left: Kind, right: Kind, expression: Expression) -> Kind:
    text = expression_text(expression)
    if left.degree is None or right.degree is None:
        known = right if left.degree is None else left
        other = left if left.degree is None else right
        if other.measure.powers not in (PLAIN.powers, known.measure.powers):
            raise _differ(left, right, text)
        return known
    if left.measure.powers != right.measure.powers:
        raise _differ(left, right, text)
    if left.degree != right.degree:
        raise FormulaError(f"'{text}' puts an amount and a ratio together")
    return left


def _differ(left: Kind, right: Kind, text: str) -> FormulaError:
    return FormulaError(f"'{text}' puts {left.measure} and {right.measure} together")
