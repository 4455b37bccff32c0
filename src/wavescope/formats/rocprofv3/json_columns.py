"""Columns out of parsed JSON records: numbers and texts at a path, whatever the records hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.model.columns import UNKNOWN


def values(records: Sequence[Any], *path: str) -> list[Any]:
    """What lies at `path` in each record, None where a step of it is missing."""
    found: list[Any] = list(records)
    for name in path:
        found = _members(found, name)
    return found


def integers(records: Sequence[Any], *path: str) -> npt.NDArray[np.int64]:
    """The integers at `path`, -1 where there is none or it does not fit 64 bits."""
    found = values(records, *path)
    types = set(map(type, found))
    if types == {int}:
        try:
            return np.array(found, np.int64)
        except OverflowError:
            pass
    if int not in types:
        return np.full(len(found), UNKNOWN, np.int64)
    return np.fromiter((_integer(item) for item in found), np.int64, len(found))


def texts(records: Sequence[Any], *path: str) -> list[str]:
    """The strings at `path`, empty where there is none."""
    return [item if isinstance(item, str) else "" for item in values(records, *path)]


def _members(items: list[Any], name: str) -> list[Any]:
    try:
        return [item[name] for item in items]
    except (KeyError, TypeError, IndexError):
        return [item.get(name) if isinstance(item, dict) else None for item in items]


def _integer(item: Any) -> int:
    if type(item) is int and -(1 << 63) <= item < 1 << 63:
        return item
    return UNKNOWN
