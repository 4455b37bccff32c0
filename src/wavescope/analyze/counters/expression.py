"""The parts of a metric formula, as the parser gives them.

A formula is arithmetic on counters (`SQ_WAVES`, `TCC_HIT[channel]`), facts of the chip
(`cu_per_gpu`) and named values (`gui`); docs/metrics.md describes the language.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple, TypeAlias

from wavescope.analyze.counters.measure import PLAIN, Measure, parsed_measure
from wavescope.errors import WavescopeError

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


MOST_CHARACTERS = 4000
_DEEPEST = 50
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<unit>\[[^\[\]]{0,40}\])|(?P<mark>==|!=|<=|>=|[-+*/(),<>]))",
    re.ASCII,
)
_COMPARISONS = {"==", "!=", "<=", ">=", "<", ">"}
_ZERO = Number(0.0, PLAIN, "0")


class FormulaError(WavescopeError):
    """A formula does not follow the grammar or does not add up."""


@functools.lru_cache(maxsize=8192)
def parsed(text: str) -> Expression:
    """The expression that `text` writes down."""
    if len(text) > MOST_CHARACTERS:
        raise FormulaError(f"a formula of {len(text)} characters is too long")
    parser = _Parser(text)
    expression = parser.choice()
    parser.require_end()
    return expression


class _Parser:
    """Recursive descent over the tokens of one formula."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def choice(self) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error("it is nested too deeply")
        value = self._sum()
        if self._take("if"):
            left = self._sum()
            operator = self._next()
            if operator not in _COMPARISONS:
                raise self._error(f"'{operator}' is not a comparison")
            right = self._sum()
            self._require("else")
            value = Choice(value, operator, left, right, self.choice())
        self._depth -= 1
        return value

    def require_end(self) -> None:
        if self._at < len(self._tokens):
            raise self._error(f"'{self._tokens[self._at]}' is one too many")

    def _sum(self) -> Expression:
        left = self._product()
        while self._peek() in {"+", "-"}:
            left = Arithmetic(self._next(), left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._factor()
        while self._peek() in {"*", "/"}:
            left = Arithmetic(self._next(), left, self._factor())
        return left

    def _factor(self) -> Expression:
        token = self._next()
        if token == "-":  # noqa: S105  a sign, no password
            self._depth += 1
            if self._depth > _DEEPEST:
                raise self._error("it is nested too deeply")
            factor = Arithmetic("-", _ZERO, self._factor())
            self._depth -= 1
            return factor
        if token == "(":  # noqa: S105
            inner = self.choice()
            self._require(")")
            return inner
        if token[0].isdigit():
            return self._number(token)
        if not (token[0].isalpha() or token[0] == "_"):
            raise self._error(f"'{token}' is out of place")
        return self._call(token) if self._peek() == "(" else self._name(token)

    def _number(self, token: str) -> Number:
        if not self._peek().startswith("["):
            return Number(float(token), PLAIN, token)
        unit = self._next()
        return Number(float(token), parsed_measure(unit[1:-1]), token + unit)

    def _call(self, name: str) -> Call:
        if name not in FUNCTIONS:
            raise self._error(f"there is no function '{name}' ({', '.join(FUNCTIONS)})")
        self._require("(")
        arguments = [self.choice()]
        while self._take(","):
            arguments.append(self.choice())
        self._require(")")
        if len(arguments) != FUNCTIONS[name]:
            raise self._error(f"{name} takes {FUNCTIONS[name]} arguments, not {len(arguments)}")
        return Call(name, tuple(arguments))

    def _name(self, name: str) -> Expression:
        if not self._peek().startswith("["):
            return Name(name)
        which = self._next()[1:-1].strip()
        if which not in {ALL_CHANNELS, EACH_CHANNEL}:
            raise self._error(f"'[{which}]' is neither [channel] nor [*]")
        return ChannelCounter(name, which)

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise self._error("it ends too early")
        self._at += 1
        return token

    def _take(self, token: str) -> bool:
        if self._peek() != token:
            return False
        self._at += 1
        return True

    def _require(self, token: str) -> None:
        if not self._take(token):
            raise self._error(f"'{token}' is missing before '{self._peek() or 'the end'}'")

    def _error(self, reason: str) -> FormulaError:
        return FormulaError(
            f"the formula '{self._text}' cannot be read: {reason}",
            hint="docs/metrics.md describes formulas",
        )


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise FormulaError(
                f"the formula '{text}' cannot be read: "
                f"'{text[at:].strip()[:10]}' cannot stand there",
                hint="docs/metrics.md describes formulas",
            )
        found.append(match.group().strip())
        at = match.end()
    return found
