"""Checks what a formula measures before anything is computed with it.

Two things are inferred for every part: its measure (only equal ones may be added or compared) and
its degree: how it grows with the number of dispatches. A counter has degree 1, a fact of the chip
and a ratio of counters 0. A metric of degree 0 is a ratio, which may be formed of sums; one of
degree 1 is an amount for each dispatch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

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
)
from wavescope.analyze.counters.measure import PLAIN, Measure


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
