"""Computes formulas over many dispatches, kernels or channels at once.

A division by zero has no value (NaN), never an infinite one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wavescope.analyze.counters.expression import (
    ALL_CHANNELS,
    Arithmetic,
    Call,
    ChannelCounter,
    Choice,
    Expression,
    Name,
    Number,
    parts,
)

Array = NDArray[np.float64]
Amount: TypeAlias = float | Array


class Scope(Protocol):
    """Where the values of names come from."""

    def value(self, name: str) -> Amount:
        """The value of a counter, fact or named value."""

    def channels(self, family: str) -> Array:
        """The values of a per-channel counter, the channels along the last axis."""

    def mean(self, expression: Expression) -> Amount:
        """The mean of an expression over all dispatches."""


_COMPARE: dict[str, Callable[[Amount, Amount], object]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def evaluated(expression: Expression, scope: Scope) -> Amount:
    """The value of `expression`; not a number where it is undefined."""
    if isinstance(expression, Name):
        return scope.value(expression.name)
    if isinstance(expression, Number):
        return expression.value * expression.measure.scale
    if isinstance(expression, Arithmetic):
        left, right = evaluated(expression.left, scope), evaluated(expression.right, scope)
        return _arithmetic(expression.operator, left, right)
    if isinstance(expression, ChannelCounter):
        return scope.channels(expression.family)
    if isinstance(expression, Choice):
        return _chosen(expression, scope)
    return _called(expression, scope)


def zero_divisors(expression: Expression, scope: Scope) -> list[Expression]:
    """The divisors inside `expression` that are zero: why it has no value."""
    found = [at for part in parts(expression) for at in zero_divisors(part, scope)]
    if isinstance(expression, Arithmetic) and expression.operator == "/" and not found:
        right = np.asarray(evaluated(expression.right, scope))
        if right.size and bool((right == 0).all()):
            found.append(expression.right)
    return found


def _arithmetic(operator: str, left: Amount, right: Amount) -> Amount:
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    if isinstance(right, float):
        return left / right if right else left * math.nan
    return left / np.where(right == 0, np.nan, right)


def _chosen(expression: Choice, scope: Scope) -> Amount:
    left, right = evaluated(expression.left, scope), evaluated(expression.right, scope)
    holds = _COMPARE[expression.operator](left, right)
    value, other = evaluated(expression.value, scope), evaluated(expression.other, scope)
    if isinstance(holds, np.ndarray):
        return np.where(holds, value, other)
    return value if holds else other


def _called(expression: Call, scope: Scope) -> Amount:
    function, arguments = expression.function, expression.arguments
    if function == "mean":
        return scope.mean(arguments[0])
    values = [evaluated(argument, scope) for argument in arguments]
    if function == "sum":
        return _channel_sum(arguments[0], values[0])
    if function == "round":
        return _rounded(values[0])
    if function == "floor":
        return _plain(np.floor(values[0]))
    if function == "mod":
        divisor = np.where(np.equal(values[1], 0), np.nan, values[1])
        return _plain(np.mod(values[0], divisor))
    operation = np.minimum if function == "min" else np.maximum
    return _plain(operation(values[0], values[1]))


def _channel_sum(expression: Expression, value: Amount) -> Amount:
    if isinstance(expression, ChannelCounter) and expression.which == ALL_CHANNELS:
        return _plain(np.asarray(value).sum(axis=-1))
    return value


def _rounded(value: Amount) -> Amount:
    """To the nearest whole number, halves to the even one."""
    return _plain(np.rint(value))


def _plain(value: object) -> Amount:
    """A Python number for a single value: arithmetic on it is faster."""
    array = np.asarray(value, dtype=np.float64)
    return float(array) if array.ndim == 0 else array
