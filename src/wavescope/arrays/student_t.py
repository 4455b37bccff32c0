"""Student's t distribution, for any positive number of degrees of freedom.

The probability beyond t comes from the incomplete beta function, evaluated as a continued fraction
(Lentz's method); the quantile inverts it with Newton's method between bounds. Both hold to about
twelve digits.
"""

from __future__ import annotations

import math
from functools import lru_cache

_SMALLEST = 1e-300
_PRECISION = 1e-15
_MOST_TERMS = 2_000
_MOST_STEPS = 200


def two_sided_p(t: float, degrees: float) -> float:
    """The probability that a value lies at least as far from 0 as `t` does."""
    if math.isnan(t):
        return 1.0
    if math.isinf(t):
        return 0.0
    whole = degrees + t * t
    return _incomplete_beta(degrees / 2, 0.5, degrees / whole, t * t / whole)


@lru_cache(maxsize=1024)
def quantile(probability: float, degrees: float) -> float:
    """The value that is not exceeded with `probability`, which lies between 0 and 1."""
    if probability == 0.5:
        return 0.0
    if probability < 0.5:
        return -quantile(1 - probability, degrees)
    beyond = 2 * (1 - probability)
    low, high = 0.0, 1.0
    while two_sided_p(high, degrees) > beyond:
        low, high = high, 2 * high
    value = (low + high) / 2
    for _ in range(_MOST_STEPS):
        excess = two_sided_p(value, degrees) - beyond
        low, high = (value, high) if excess > 0 else (low, value)
        # Newton's step where it stays between the bounds, else half way.
        following = value + excess / (2 * _density(value, degrees))
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - value) <= _PRECISION * value:
            return following
        value = following
    return value


def _density(t: float, degrees: float) -> float:
    scale = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)
    exponent = scale - (degrees + 1) / 2 * math.log1p(t * t / degrees)
    return math.exp(exponent) / math.sqrt(degrees * math.pi)


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """The regularized incomplete beta function at x, where `rest` is 1 - x to full precision."""
    if x <= 0 or rest <= 0:
        return float(x > 0)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    )
    # The fraction converges fast on one side of the mean; the other follows by symmetry.
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1 - front * _beta_fraction(b, a, rest) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    # A sum of 1 and something is 0 or far larger than the smallest number that stands for 0.
    numerator = 1.0
    denominator = 1 / ((1 - (a + b) * x / (a + 1)) or _SMALLEST)
    value = denominator
    for m in range(1, _MOST_TERMS):
        place = a + 2 * m
        even = m * (b - m) * x / ((place - 1) * place)
        odd = -(a + m) * (a + b + m) * x / (place * (place + 1))
        denominator = 1 / ((1 + even * denominator) or _SMALLEST)
        numerator = (1 + even / numerator) or _SMALLEST
        value *= numerator * denominator
        denominator = 1 / ((1 + odd * denominator) or _SMALLEST)
        numerator = (1 + odd / numerator) or _SMALLEST
        change = numerator * denominator
        value *= change
        if abs(change - 1) < _PRECISION:
            break
    return value
