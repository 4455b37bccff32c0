"""Which dispatches are of the kernels that a recording was asked for.

Collectors record every kernel: a pattern is Python's, on names as people read them, and neither can
be had inside of somebody else's program. What does not match is left out when records are read, and
counted as skipped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.session.facts import Fact
from wavescope.formats.session.kernel_names import KernelObjects, kernel_name, spelled_address

KERNEL_FILTER = "kernel_filter"
"""The fact of a session with the pattern."""


class KernelFilter:
    """Whether the kernels of one process match a pattern."""

    def __init__(self, pattern: re.Pattern[str], kernels: Sequence[Fact]) -> None:
        self._pattern = pattern
        self._objects = KernelObjects(kernels)
        matches = [self._matches(kernel_name(fact)) for fact in kernels]
        self._is_wanted = np.array(matches, bool)

    def wanted(self, objects: Array, starts_ns: Array) -> Array:
        """Which dispatches are of kernels that match."""
        places = self._objects.places(objects, starts_ns)
        is_known = places >= 0
        wanted = np.zeros(len(objects), bool)
        wanted[is_known] = self._is_wanted[places[is_known]]
        nameless = np.flatnonzero(~is_known)
        if len(nameless):
            distinct, inverse = np.unique(objects[nameless], return_inverse=True)
            matches = [self._matches(spelled_address(where)) for where in distinct.tolist()]
            wanted[nameless] = np.array(matches, bool)[inverse]
        return wanted

    def _matches(self, name: str) -> bool:
        return self._pattern.search(name) is not None
