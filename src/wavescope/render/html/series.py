"""Which colour a class of ops has: the same in every page, whatever classes a trace holds.

Colours are numbered variables of the style sheet; they differ in lightness too, so that they can be
told apart without seeing hues.
"""

from __future__ import annotations

from collections.abc import Sequence

_KNOWN = {
    "GEMM": 0,
    "attention": 1,
    "MoE": 2,
    "normalization": 3,
    "elementwise": 4,
    "reduction": 5,
    "quantization": 6,
    "sampling": 7,
    "copy/fill": 8,
    "communication": 9,
    "other": 10,
    "prefill": 1,
    "decode": 0,
    "mixed": 2,
    "shared": 3,
    "unclassified": 10,
    "outside": 10,
    "all ops": 0,
    "timed": 3,
    "skipped": 10,
    "lost": 7,
    "not accounted for": 11,
}
_FREE = (11, 12, 13, 4, 5, 6, 7, 2, 3)


def series_of(labels: Sequence[str]) -> list[int]:
    """The number of the colour of each label; unknown ones take turns with what is left."""
    taken = {_KNOWN[label] for label in labels if label in _KNOWN}
    free = [number for number in _FREE if number not in taken] or list(_FREE)
    unknown = [label for label in labels if label not in _KNOWN]
    given = {label: free[place % len(free)] for place, label in enumerate(unknown)}
    return [_KNOWN.get(label, given.get(label, 10)) for label in labels]
