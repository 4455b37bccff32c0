"""Classes by name: a table over the codes of names, which grows with what is met."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from wavescope.arrays.coded_columns import counted_codes, looked_up

Classes = npt.NDArray[np.uint8]

_UNSEEN = 255


class CodeClasses:
    """The class of each code; `class_of` is asked once for each code that is met.

    Several threads may ask at once: a table in use is only ever completed, never changed.
    """

    def __init__(self, class_of: Callable[[int], int]) -> None:
        self._class_of = class_of
        # The last entry answers for code -1.
        self._table: Classes = np.full(1, _UNSEEN, np.uint8)
        self._completing = threading.Lock()

    def of(self, codes: npt.NDArray[np.int32]) -> Classes:
        """The class of each of some codes."""
        table = self._with_room(int(codes.max(initial=-1)))
        found: Classes = looked_up(table, codes)
        is_new = found == _UNSEEN
        if is_new.any():
            new_codes = counted_codes(codes[is_new]).codes
            with self._completing:
                for code in new_codes.tolist():
                    if self._table[code] == _UNSEEN:
                        self._table[code] = self._class_of(code)
                table = self._table
            found[is_new] = looked_up(table, codes[is_new])
        return found

    def _with_room(self, code: int) -> Classes:
        """The table, with an entry for each code up to `code`."""
        table = self._table
        if code < len(table) - 1:
            return table
        with self._completing:
            if code >= len(self._table) - 1:
                larger = np.full(max(code + 2, 2 * len(self._table)), _UNSEEN, np.uint8)
                larger[: len(self._table) - 1] = self._table[:-1]
                larger[-1] = self._table[-1]
                self._table = larger
            return self._table
