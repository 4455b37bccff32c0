"""Which category calls of a name have: lanes hold names alone, colours follow the category."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays.coded_columns import looked_up

Codes = npt.NDArray[np.int32]

_UNSEEN = -2


class NamedCategories(NamedTuple):
    """Names of calls and the category of each, as codes in the trace's strings."""

    names: Codes
    categories: Codes


class CallCategories:
    """Filled while calls are read; of a name with several categories the first one counts."""

    def __init__(self, known: NamedCategories | None = None) -> None:
        # The last entry answers for code -1, a call without a name.
        self._of_name: Codes = np.full(1, _UNSEEN, np.int32)
        self._adding = threading.Lock()
        if known is not None:
            self.add(known.names, known.categories)

    def add(self, names: Codes, categories: Codes) -> None:
        """Take in the columns `name` and `category` of some calls."""
        with self._adding:
            needed = int(names.max(initial=-1)) + 2
            if needed > len(self._of_name):
                larger = np.full(max(needed, 2 * len(self._of_name)), _UNSEEN, np.int32)
                larger[: len(self._of_name) - 1] = self._of_name[:-1]
                larger[-1] = self._of_name[-1]
                self._of_name = larger
            is_new = looked_up(self._of_name, names) == _UNSEEN
            if is_new.any():
                # Of several the one that is written last stays: the first, in this order.
                self._of_name[names[is_new][::-1]] = categories[is_new][::-1]

    def of(self, name: int) -> int:
        """The code of the category of calls with that name; -1 where there are none so far."""
        table = self._of_name
        return max(-1, int(table[name])) if name < len(table) - 1 else -1

    @property
    def known(self) -> NamedCategories:
        """All names so far, to be kept with what was read."""
        table = self._of_name
        codes = np.append(np.arange(len(table) - 1, dtype=np.int32), np.int32(-1))
        seen = table != _UNSEEN
        return NamedCategories(codes[seen], table[seen])
