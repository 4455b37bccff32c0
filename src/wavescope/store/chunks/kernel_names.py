"""Kernel objects as names and rows of the kernel table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import KERNELS, UNKNOWN
from wavescope.model.names.demangle import demangle, strip_kernel_suffix
from wavescope.model.source import Array
from wavescope.model.strings import StringTable
from wavescope.store.chunks.facts import Fact, integer, text
from wavescope.store.chunks.lookup import Lookup

_COUNTS = ("vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes", "kernarg_bytes")
_MOST_UNKNOWN = 10_000
_UNKNOWN_KERNEL = "(unknown kernel)"


class KernelNames:
    """The kernels that one process loaded."""

    def __init__(self, builder: TraceBuilder, process: int, kernels: Mapping[int, Fact]) -> None:
        """Add the kernels to the builder's table."""
        self._strings: StringTable = builder.strings
        self._unknown: dict[int, int] = {}
        names: dict[int, int] = {}
        rows: dict[int, int] = {}
        for place, fact in kernels.items():
            mangled = strip_kernel_suffix(text(fact, "name"))
            name = demangle(mangled) or _spelled(place)
            names[place] = self._strings.code(name)
            rows[place] = builder.row_count(KERNELS) + 1
            builder.add_row(
                KERNELS,
                process=process,
                name=name,
                mangled=mangled,
                code_object=text(fact, "code_object"),
                **{member: integer(fact, member) for member in _COUNTS},
            )
        self._names, self._rows = Lookup(names), Lookup(rows)

    def name_codes(self, objects: Array) -> Array:
        """Codes of the kernels' names; a kernel that nobody named is called by its address."""
        codes = self._names.values(objects, UNKNOWN)
        nameless = np.flatnonzero(codes == UNKNOWN)
        if len(nameless):
            distinct, places = np.unique(objects[nameless], return_inverse=True)
            found = [self._unknown_code(place) for place in distinct.tolist()]
            codes[nameless] = np.array(found, np.int64)[places]
        return codes

    def row_ids(self, objects: Array) -> Array:
        """Ids in the kernel table, unknown ones -1."""
        return self._rows.values(objects, UNKNOWN)

    def _unknown_code(self, place: int) -> int:
        if place not in self._unknown:
            if len(self._unknown) >= _MOST_UNKNOWN:
                return self._strings.code(_UNKNOWN_KERNEL)
            self._unknown[place] = self._strings.code(_spelled(place))
        return self._unknown[place]


def _spelled(place: int) -> str:
    return f"kernel at {place:#x}"
