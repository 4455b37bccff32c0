"""Boards and their published peaks, and which board a GPU of a trace is."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from wavescope.model.chips.chip_table import Product, chips, table

_WORD = re.compile(r"[A-Za-z0-9]+", re.ASCII)
_LONGEST_NAME = 200
_AMD_WAVE = 64
_GIB = 1 << 30
_MEMORY_LEAST, _MEMORY_MOST = 0.9, 1.05
"""How much of its nominal memory a GPU may report: firmware and ECC take some of it."""


@dataclass(frozen=True)
class Board:
    """One product; `tflops` are dense matrix peaks by data type."""

    name: str
    names: tuple[str, ...]
    tflops: Mapping[str, float] = field(default_factory=dict)
    memory_gb_per_s: float = 0.0
    units: int = 0
    memory_gib: int = 0

    @property
    def is_amd(self) -> bool:
        """Whether it is one of AMD's, which `chips()` describes."""
        return self.name in _products()

    def is_called(self, words: frozenset[str]) -> bool:
        """Whether all words of its name are among those of a GPU's name."""
        return all(word.casefold() in words for word in self.names)

    def has_memory(self, memory_bytes: int) -> bool:
        """Whether a GPU with so much memory can be this board."""
        if not self.memory_gib:
            return True
        share = memory_bytes / (self.memory_gib * _GIB)
        return _MEMORY_LEAST <= share <= _MEMORY_MOST


def find_board(
    model: str, unit_count: int = 0, memory_bytes: int = 0, wave_size: int = 0
) -> Board | None:
    """The board that a GPU is, by its name, or without one by its sizes; None where unsure.

    A GPU with fewer compute units than its board is a part of it, whose peaks are not published.
    """
    words = frozenset(word.casefold() for word in _WORD.findall(model[:_LONGEST_NAME]))
    if words:
        found = next((each for each in boards() if each.is_called(words)), None)
        fits = found is not None and (memory_bytes <= 0 or found.has_memory(memory_bytes))
        called = [found] if found is not None and fits else []
    else:
        called = [each for each in boards() if each.memory_gib and each.units]
        if wave_size != _AMD_WAVE or memory_bytes <= 0:
            return None
        called = [each for each in called if each.is_amd and each.has_memory(memory_bytes)]
        if unit_count <= 0:
            return None
    whole = [
        each for each in called if unit_count <= 0 or not each.units or each.units == unit_count
    ]
    return whole[0] if len(whole) == 1 else None


@functools.cache
def boards() -> tuple[Board, ...]:
    """All boards, in the order of the table."""
    return tuple(_board(row) for row in table("boards.toml")["board"])


def _board(row: dict[str, Any]) -> Board:
    product = _products().get(row["name"])
    if product is not None:
        row = {"units": product.cus, "memory_gb_per_s": product.memory_gb_per_s} | row
    return Board(
        **row | {"names": tuple(row["names"]), "tflops": MappingProxyType(dict(row["tflops"]))}
    )


@functools.cache
def _products() -> Mapping[str, Product]:
    """AMD's boards by name; the newest chip's entry counts."""
    return {product.name: product for chip in chips().values() for product in chip.products}
