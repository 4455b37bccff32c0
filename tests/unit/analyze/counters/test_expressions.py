"""Formulas: grammar, units, values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.analyze.counters.catalogue import CHIPS, catalogue_for
from wavescope.analyze.counters.expression import Expression, FormulaError, expression_text, parsed
from wavescope.analyze.counters.expression_value import Amount, evaluated, zero_divisors
from wavescope.analyze.counters.measure import UnitError, parsed_measure
from wavescope.analyze.counters.metrics.own_metrics import check_metrics
from wavescope.errors import WavescopeError


class Values:
    """A scope of given values."""

    def __init__(self, **known: Amount) -> None:
        self._known = known

    def value(self, name: str) -> Amount:
        return self._known[name]

    def channels(self, family: str) -> np.ndarray:  # type: ignore[type-arg]
        return np.asarray(self._known[family])

    def mean(self, expression: Expression) -> Amount:
        return float(np.mean(evaluated(expression, self)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("100 / 5 / 4", 5),
        ("-a + 1", -3),
        ("2 * -a", -8),
        ("max(a, 7)", 7),
        ("min(a, 7)", 4),
        ("mod(17, 5)", 2),
        ("floor(7.9)", 7),
        ("round(2.5)", 2),
        ("round(3.5)", 4),
        ("1 if a > 3 else 2", 1),
        ("1 if a != 4 else 2", 2),
        ("1 if a < 3 else 2 if a == 4 else 3", 2),
        ("50[%]", 0.5),
        ("2[GB/s]", 2e9),
        ("1.5e3", 1500),
    ],
)
def test_values(text: str, value: float) -> None:
    assert evaluated(parsed(text), Values(a=4.0)) == pytest.approx(value)


def test_a_division_by_zero_has_no_value() -> None:
    scope = Values(a=np.array([1.0, 2.0]), b=np.array([0.0, 4.0]), zero=0.0)

    assert np.isnan(evaluated(parsed("a / b"), scope)).tolist() == [True, False]  # type: ignore[union-attr]
    assert math.isnan(float(np.asarray(evaluated(parsed("1 / zero"), scope))))
    assert list(map(expression_text, zero_divisors(parsed("1 / (zero + zero)"), scope))) == [
        "zero + zero"
    ]


def test_arrays_are_computed_at_once() -> None:
    scope = Values(hits=np.array([1.0, 3.0]), misses=np.array([1.0, 1.0]), c=np.ones((2, 4)))

    assert evaluated(parsed("hits / (hits + misses)"), scope).tolist() == [0.5, 0.75]  # type: ignore[union-attr]
    assert evaluated(parsed("sum(c[*])"), scope).tolist() == [4.0, 4.0]  # type: ignore[union-attr]
    assert evaluated(parsed("mean(hits)"), scope) == 2.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "ends too early"),
        ("1 +", "ends too early"),
        ("1 1", "one too many"),
        ("(1", "')' is missing"),
        ("1 if 2 else 3", "not a comparison"),
        ("foo(1)", "no function 'foo'"),
        ("max(1)", "takes 2 arguments"),
        ("__import__('os')", "cannot stand there"),
        ("a.b", "cannot stand there"),
        ("TCC_HIT[3]", "neither [channel] nor [*]"),
        ("1 if 1 < 2", "'else' is missing"),
        ("(" * 100 + "1" + ")" * 100, "nested too deeply"),
        ("-" * 100 + "1", "nested too deeply"),
        ("1" * 5000, "too long"),
    ],
)
def test_what_is_no_formula(text: str, reason: str) -> None:
    with pytest.raises(FormulaError, match="formula") as caught:
        parsed(text)
    assert reason in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_a_formula_or_a_clear_error(text: str) -> None:
    try:
        expression = parsed(text)
    except (FormulaError, UnitError):
        return
    assert expression_text(parsed(expression_text(expression))) == expression_text(expression)


_numbers = st.integers(1, 99).map(str)
_formulas = st.recursive(
    st.one_of(_numbers, st.sampled_from(["a", "b"])),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]})"),
    ),
    max_leaves=12,
)


@given(_formulas)
def test_values_are_those_of_python_arithmetic(text: str) -> None:
    expression = parsed(text)
    names = {"a": 3.0, "b": 7.0, "max": max}
    try:
        wanted = float(eval(text, {"__builtins__": {}}, names))
    except ZeroDivisionError:
        wanted = math.nan

    found = float(np.asarray(evaluated(parsed(expression_text(expression)), Values(a=3.0, b=7.0))))

    assert math.isnan(found) == math.isnan(wanted) or "max" in text
    if not math.isnan(wanted) and not math.isnan(found):
        assert found == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("chip", CHIPS)
def test_all_built_in_formulas_add_up(chip: str) -> None:
    catalogue = catalogue_for(chip)

    check_metrics(catalogue, catalogue.metrics.values())
    for panel in catalogue.panels:
        for table in panel.tables:
            for row in table.rows:
                metric = catalogue.metric_of(row)
                assert metric.meaning.endswith("."), metric.key


@pytest.mark.parametrize(
    ("unit", "value", "reason"),
    [
        ("GB/s", "TCC_REQ_sum / duration", "is in second^-1, its unit is GB/s"),
        ("%", "SQ_BUSY_CYCLES / SQ_WAVES", "is in cycle, its unit is %"),
        ("cycles", "SQ_BUSY_CYCLES + SQ_WAVES", "puts cycle and a plain number together"),
        ("1", "SQ_WAVES * SQ_WAVES", "power 2 of the dispatches"),
        ("1", "SQ_WAVES + 1", "puts an amount and a ratio together"),
        ("1", "1 / SQ_WAVES", "power -1 of the dispatches"),
        ("1", "SQ_WAVES + cu_per_gp", "'cu_per_gp' is neither"),
        ("furlong", "SQ_WAVES", "'furlong'"),
    ],
)
def test_units_and_names_are_checked(unit: str, value: str, reason: str) -> None:
    catalogue = catalogue_for("gfx942")
    metric = catalogue.metrics["l2_hit_rate"]._replace(unit=unit, value=value, peak="")

    with pytest.raises(WavescopeError) as caught:
        check_metrics(catalogue, [metric])

    assert reason in str(caught.value)


def test_units_have_a_scale() -> None:
    assert parsed_measure("GB/s").scale == 1e9
    assert (
        parsed_measure("req per second".replace(" per ", "/").replace("second", "s")).powers[1]
        == -1
    )
    assert parsed_measure("%").scale == 0.01
