"""Parses metric formulas: a grammar of a few lines, nothing is ever executed.

choice     = sum ["if" sum comparison sum "else" choice]
sum        = product {("+" | "-") product}
product    = factor {("*" | "/") factor}
factor     = "-" factor | "(" choice ")" | number ["[" unit "]"]
           | function "(" choice {"," choice} ")" | name ["[" ("*" | "channel") "]"]
"""

from __future__ import annotations

import functools
import re

from wavescope.analyze.counters.expression import (
    ALL_CHANNELS,
    EACH_CHANNEL,
    FUNCTIONS,
    Arithmetic,
    Call,
    ChannelCounter,
    Choice,
    Expression,
    Name,
    Number,
)
from wavescope.analyze.counters.measure import PLAIN, parsed_measure
from wavescope.errors import WavescopeError

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
                raise self._error(f"'{operator}' is no comparison")
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
                f"the formula '{text}' cannot be read: '{text[at:].strip()[:10]}' is no part of it",
                hint="docs/metrics.md describes formulas",
            )
        found.append(match.group().strip())
        at = match.end()
    return found
