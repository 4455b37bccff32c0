"""Proves that the formulas of a catalogue add up: names, units, and how they grow."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from wavescope.analyze.counters.catalogue import Catalogue, Metric
from wavescope.analyze.counters.expression_parser import FormulaError, parsed
from wavescope.analyze.counters.expression_units import Kind, kind_of
from wavescope.analyze.counters.measure import PLAIN, parsed_measure

COUNTER_NAME = re.compile(r"(SQ|SQC|TA|TD|TCP|TCC|CPC|CPF|SPI|GRBM|GDS|GL2C)_\w+|ACCUM", re.ASCII)
"""How hardware counters are called; other names must be facts or values of the catalogue."""


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
