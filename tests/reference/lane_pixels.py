"""What a timeline draws, by looking at every range for every pixel."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple


class Drawn(NamedTuple):
    """A range [start, end) of a lane, with its class."""

    start: int
    end: int
    class_: int


Pixel = tuple[int, int]


def pixels_of(scale: float, first: int, count: int, first_ns: int) -> list[Pixel]:
    """Where each pixel begins and ends."""
    found = []
    for number in range(first, first + count):
        start = math.floor(number * scale)
        end = max(math.floor((number + 1) * scale), start + 1)
        found.append((start + first_ns, end + first_ns))
    return found


def time_in(ranges: Sequence[Drawn], pixel: Pixel) -> int:
    """How long the ranges run in a pixel, one by one."""
    return sum(max(0, min(each.end, pixel[1]) - max(each.start, pixel[0])) for each in ranges)


def stretches(ranges: Sequence[Drawn]) -> Iterator[Drawn]:
    """The ranges without their overlaps."""
    until: int | None = None
    for start, end, _ in sorted(ranges):
        if until is not None and end <= until:
            continue
        yield Drawn(start if until is None else max(start, until), end, 0)
        until = end


def exact_shares(ranges: Sequence[Drawn], pixels: Sequence[Pixel]) -> dict[int, list[Fraction]]:
    """For each class of which 255ths of each pixel it has; where ranges overlap in proportion."""
    classes = sorted({each.class_ for each in ranges})
    by_class = {number: [r for r in ranges if r.class_ == number] for number in classes}
    united = list(stretches(ranges))
    found: dict[int, list[Fraction]] = {number: [] for number in classes}
    for pixel in pixels:
        total = time_in(ranges, pixel)
        covered = time_in(united, pixel)
        for number, members in by_class.items():
            part = Fraction(time_in(members, pixel), total) if total else Fraction(0)
            found[number].append(255 * part * covered / (pixel[1] - pixel[0]))
    return {number: values for number, values in found.items() if any(values)}


def exact_means(
    times: Sequence[int], values: Sequence[float], end: int, pixels: Sequence[Pixel]
) -> list[float]:
    """The mean of what is known of a value in each pixel, NaN where nothing is."""
    found = []
    ends = [*times[1:], max(end, times[-1])] if times else []
    for begins, stops in pixels:
        known, weighted = 0, Fraction(0)
        for start, stop, value in zip(times, ends, values, strict=True):
            duration = max(0, min(stop, stops) - max(start, begins))
            if duration and not math.isnan(value):
                known += duration
                weighted += Fraction(value) * duration
        found.append(float(weighted / known) if known else math.nan)
    return found
