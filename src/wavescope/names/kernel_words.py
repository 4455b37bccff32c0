"""The words that a kernel's name is made of: what a name says is told by words, never by letters.

`fbgemm_gpu::permute_2D_lengths_kernel` holds no `gemm`, and `upsample_nearest2d` samples nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

# Each pattern on words must end soon on hostile names too.
LONGEST_WORDS = 512

_LETTERS_AND_DIGITS = re.compile(r"[A-Za-z0-9]+")
_COUNTED = re.compile(r"\d+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\d)(?=[A-Z][a-z])")


class NameWords(NamedTuple):
    """Lower-case words with a blank before, between and after them."""

    own: str
    """Of the kernel itself."""
    namespaces: str
    details: str
    """Of the template arguments that tell what the kernel was made for."""


def words_of_name(components: Sequence[str], short: str) -> NameWords:
    """The words of a kernel from its qualified name and its short name.

    A name that is no C++ one is its short name: components are empty then. Of a symbol that stays
    mangled, because it was cut off, the names in it count, from the outermost on.
    """
    if short.startswith("_Z"):
        return NameWords(spaced_words(*names_in_symbol(short)), "  ", "  ")
    readable, _, details = short.partition(" (")
    own = components[-1] if components else readable
    if own.startswith(("{lambda", "operator")) or not any(map(str.isalpha, own)):
        own = readable
    return NameWords(spaced_words(own), spaced_words(*components[:-1]), spaced_words(details))


def names_in_symbol(symbol: str) -> list[str]:
    """The names that a mangled symbol spells out, each after its length; the last may be cut."""
    found: list[str] = []
    at = 0
    while (count := _COUNTED.search(symbol, at, LONGEST_WORDS)) is not None:
        at = count.end() + int(count.group()[:4])
        found.append(symbol[count.end() : at])
    return found


def spaced_words(*texts: str) -> str:
    """The words of some texts: `topkGating_2D` is ` topk gating 2d `."""
    found: list[str] = []
    for text in texts:
        for run in _LETTERS_AND_DIGITS.findall(text[:LONGEST_WORDS].replace("MoE", "Moe")):
            found += _HUMP.sub(" ", run).lower().split()
    return f" {' '.join(found)} "
