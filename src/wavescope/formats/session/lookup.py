"""From 64-bit keys to values, for whole columns at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wavescope.arrays import Array


class Lookup:
    """A mapping of unsigned 64-bit keys to signed values, as two sorted arrays."""

    def __init__(self, values: Mapping[int, int]) -> None:
        self._values = dict(values)
        keys = np.fromiter(self._values.keys(), np.uint64, len(self._values))
        found = np.fromiter(self._values.values(), np.int64, len(self._values))
        order = np.argsort(keys)
        self._sorted_keys, self._sorted_values = keys[order], found[order]

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: int, missing: int) -> int:
        """The value of one key, or `missing`."""
        return self._values.get(key, missing)

    def values(self, keys: Array, missing: int) -> Array:
        """The values of `keys`, `missing` where there is none."""
        if not len(self._sorted_keys):
            return np.full(len(keys), missing, np.int64)
        wanted = keys.astype(np.uint64, copy=False)
        places = np.searchsorted(self._sorted_keys, wanted)
        places[places == len(self._sorted_keys)] = 0
        return np.where(self._sorted_keys[places] == wanted, self._sorted_values[places], missing)

    def has(self, keys: Array) -> Array:
        """Whether each of `keys` is known."""
        return self.values(keys, -1) >= 0
