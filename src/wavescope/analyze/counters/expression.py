"""The parts of a metric formula, as the parser gives them.

A formula is arithmetic on counters (`SQ_WAVES`, `TCC_HIT[channel]`), facts of the chip
(`cu_per_gpu`) and named values (`gui`); docs/metrics.md describes the language.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple, TypeAlias

from wavescope.analyze.counters.measure import Measure

ALL_CHANNELS = "*"
EACH_CHANNEL = "channel"


class Number(NamedTuple):
    """A literal; `512[FLOP]` has a unit."""

    value: float
    measure: Measure
    text: str


class Name(NamedTuple):
    """A counter, launch column, fact or named value."""

    name: str


class ChannelCounter(NamedTuple):
    """A counter of each L2 channel; `which` says whether all or the row's own are meant."""

    family: str
    which: str


class Arithmetic(NamedTuple):
    """`left operator right`, the operator being one of + - * /."""

    operator: str
    left: Expression
    right: Expression


class Call(NamedTuple):
    """A function of `FUNCTIONS` on its arguments."""

    function: str
    arguments: tuple[Expression, ...]


class Choice(NamedTuple):
    """`value if left operator right else other`."""

    value: Expression
    operator: str
    left: Expression
    right: Expression
    other: Expression


Expression: TypeAlias = Number | Name | ChannelCounter | Arithmetic | Call | Choice

FUNCTIONS: dict[str, int] = {
    "min": 2,
    "max": 2,
    "mod": 2,
    "round": 1,
    "floor": 1,
    "mean": 1,
    "sum": 1,
}
"""Functions and how many arguments each takes."""

_RANK = {"+": 1, "-": 1, "*": 2, "/": 2}


def parts(expression: Expression) -> tuple[Expression, ...]:
    """The direct operands."""
    if isinstance(expression, Arithmetic):
        return (expression.left, expression.right)
    if isinstance(expression, Call):
        return expression.arguments
    if isinstance(expression, Choice):
        return (expression.value, expression.left, expression.right, expression.other)
    return ()


def walked(expression: Expression) -> Iterator[Expression]:
    """The expression and everything inside it."""
    yield expression
    for part in parts(expression):
        yield from walked(part)


def without_terms(expression: Expression, names: Collection[str]) -> Expression:
    """The expression without the names that are mere terms of its sums."""
    if not isinstance(expression, Arithmetic):
        return expression
    left, right = (without_terms(part, names) for part in parts(expression))
    if expression.operator == "+":
        if isinstance(left, Name) and left.name in names:
            return right
        if isinstance(right, Name) and right.name in names:
            return left
    return Arithmetic(expression.operator, left, right)


def expression_text(expression: Expression, rank: int = 0) -> str:
    """The formula as text, with no more parentheses than it needs."""
    if isinstance(expression, Number):
        return expression.text
    if isinstance(expression, Name):
        return expression.name
    if isinstance(expression, ChannelCounter):
        return f"{expression.family}[{expression.which}]"
    if isinstance(expression, Call):
        return f"{expression.function}({', '.join(map(expression_text, expression.arguments))})"
    if isinstance(expression, Choice):
        value, left, right, other = map(expression_text, parts(expression))
        text = f"{value} if {left} {expression.operator} {right} else {other}"
        return f"({text})" if rank else text
    own = _RANK[expression.operator]
    left = expression_text(expression.left, own)
    right = expression_text(expression.right, own + 1)
    text = f"{left} {expression.operator} {right}"
    return f"({text})" if own < rank else text
