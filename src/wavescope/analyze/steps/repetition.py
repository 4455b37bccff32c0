"""Finds what repeats in a sequence of labels, whatever it is: layers, decode steps, training steps.

Each label has a random 64-bit number; the sum of a stretch's numbers (modulo 2**64) is the
*signature* of what the stretch holds, whatever the order. With running sums the signature of any
stretch is one subtraction. Between two neighbouring occurrences of one label lies a stretch; when
the next such stretch has the same signature, the sequence repeats there. The signature of a whole
period does not depend on where the period is cut, so all labels that occur once in a period
give the same one: it stands for the repetition itself. All labels together are one pass over the
sequence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array

Signatures = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]

FEWEST_REPEATS = 3
_SAMPLED_CHUNKS = 4
_CHUNK = 4_096
_MOST_LABELS = 1_024
_MOST_SIGNATURES_PER_LABEL = 8


@dataclass
class Repetition:
    """Stretches of `period` ops with the same content, one right after another."""

    signature: int
    period: int
    covered_ops: int = 0
    """About how many ops lie in such stretches."""
    anchors: list[int] = field(default_factory=list)
    """Labels that occur exactly once in every period."""


@dataclass(frozen=True)
class LabelPositions:
    """Where each label occurs, in ascending order."""

    order: Positions
    bounds: Positions

    @classmethod
    def of(cls, labels: Array) -> LabelPositions:
        order = np.argsort(labels, kind="stable")
        counts = np.bincount(labels)
        return cls(order, np.concatenate(([0], np.cumsum(counts))))

    def of_label(self, label: int) -> Positions:
        return self.order[self.bounds[label] : self.bounds[label + 1]]

    @property
    def counts(self) -> Positions:
        return np.diff(self.bounds)


def running_signatures(labels: Array) -> Signatures:
    """One more than labels: [j] - [i] is the signature of the stretch from i to before j."""
    numbers = _label_numbers(int(labels.max(initial=0)) + 1)
    sums = np.empty(len(labels) + 1, np.uint64)
    sums[0] = 0
    np.cumsum(numbers[labels], out=sums[1:])
    return sums


def _label_numbers(count: int) -> Signatures:
    """Numbers that look random and are the same in every run (splitmix64)."""
    with np.errstate(over="ignore"):
        mixed = (np.arange(count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: Signatures = mixed ^ (mixed >> np.uint64(31))
    return result


def told_apart(signatures: Signatures, classes: Positions) -> Signatures:
    """Signatures that differ also where only the classes (small numbers) do."""
    lowest = int(classes.min(initial=0))
    numbers = _label_numbers(int(classes.max(initial=0)) - lowest + 1)
    apart: Signatures = signatures + numbers[classes - lowest]
    return apart


def repetitions(positions: LabelPositions, sums: Signatures) -> list[Repetition]:
    """What repeats at least three times in a row, the one that covers most ops first."""
    found: dict[int, Repetition] = {}
    counts = positions.counts
    often = np.flatnonzero(counts >= FEWEST_REPEATS)
    if often.size > _MOST_LABELS:
        often = often[np.argsort(counts[often], kind="stable")[-_MOST_LABELS:]]
    for label in often.tolist():
        for signature, period, covered in _repeated(positions.of_label(label), sums):
            repetition = found.setdefault(signature, Repetition(signature, period))
            repetition.covered_ops = max(repetition.covered_ops, covered)
            repetition.anchors.append(label)
    return sorted(found.values(), key=lambda r: (-r.covered_ops, r.period))


def _repeated(where: Positions, sums: Signatures) -> Iterator[tuple[int, int, int]]:
    """Signature, period and ops covered of the stretches between occurrences that repeat."""
    chunks = _chunks(where)
    signatures, lengths = [], []
    for chunk in chunks:
        stretches = sums[chunk[1:]] - sums[chunk[:-1]]
        again = np.flatnonzero(stretches[1:] == stretches[:-1])
        signatures.append(stretches[again])
        lengths.append(chunk[again + 1] - chunk[again])
    scale = where.size / sum(chunk.size for chunk in chunks)
    distinct, first, counts = np.unique(
        np.concatenate(signatures), return_index=True, return_counts=True
    )
    periods = np.concatenate(lengths)[first]
    covered = (counts + 1) * periods * scale
    for index in np.argsort(-covered, kind="stable")[:_MOST_SIGNATURES_PER_LABEL].tolist():
        if counts[index] >= FEWEST_REPEATS - 1:
            yield int(distinct[index]), int(periods[index]), int(covered[index])


def _chunks(where: Positions) -> list[Positions]:
    """All of it, or a few chunks spread over it: what repeats often shows in each of them."""
    if where.size <= _SAMPLED_CHUNKS * _CHUNK:
        return [where]
    firsts = np.linspace(0, where.size - _CHUNK, _SAMPLED_CHUNKS).astype(np.int64).tolist()
    return [where[first : first + _CHUNK] for first in firsts]
