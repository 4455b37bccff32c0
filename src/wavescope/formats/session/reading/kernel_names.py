"""Kernel objects as names and rows of the kernel table.

An object's address may be given out again after its code was unloaded: then the time of the op
tells which kernel it was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.arrays.array_types import Array
from wavescope.formats.session.reading.facts import Fact, address, integer, text
from wavescope.formats.session.record_file import Lookup
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import KERNELS, UNKNOWN
from wavescope.model.strings import StringTable
from wavescope.names.demangle import demangle, strip_kernel_suffix

_COUNTS = ("vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes", "kernarg_bytes")
_MOST_UNKNOWN = 10_000
_UNKNOWN_KERNEL = "(unknown kernel)"


class KernelNames:
    """The kernels that one process loaded."""

    def __init__(self, builder: TraceBuilder, process: int, kernels: Sequence[Fact]) -> None:
        """Add the kernels to the builder's table."""
        self._strings: StringTable = builder.strings
        self._unknown: dict[int, int] = {}
        self._first_row = builder.row_count(KERNELS) + 1
        self._name_codes = np.empty(len(kernels), np.int64)
        rows: dict[int, list[tuple[int, int]]] = {}
        for place, fact in enumerate(kernels):
            where = address(fact, "object")
            self._name_codes[place] = self._add(builder, process, fact, where)
            rows.setdefault(where, []).append((max(0, integer(fact, "ns", 0)), place))
        self._places = Lookup({where: found[0][1] for where, found in rows.items()})
        self._reused = {where: sorted(found) for where, found in rows.items() if len(found) > 1}

    def _add(self, builder: TraceBuilder, process: int, fact: Fact, where: int) -> int:
        mangled = strip_kernel_suffix(text(fact, "name"))
        name = demangle(mangled) or _spelled(where)
        builder.add_row(
            KERNELS,
            process=process,
            name=name,
            mangled=mangled,
            code_object=text(fact, "code_object"),
            **{member: integer(fact, member) for member in _COUNTS},
        )
        return self._strings.code(name)

    def name_codes(self, objects: Array, starts_ns: Array) -> Array:
        """Codes of the kernels' names; a kernel that nobody named is called by its address."""
        places = self._places_of(objects, starts_ns)
        codes = np.full(len(objects), UNKNOWN, np.int64)
        is_known = places >= 0
        codes[is_known] = self._name_codes[places[is_known]]
        nameless = np.flatnonzero(~is_known)
        if len(nameless):
            distinct, inverse = np.unique(objects[nameless], return_inverse=True)
            found = [self._unknown_code(where) for where in distinct.tolist()]
            codes[nameless] = np.array(found, np.int64)[inverse]
        return codes

    def row_ids(self, objects: Array, starts_ns: Array) -> Array:
        """Ids in the kernel table, unknown ones -1."""
        places = self._places_of(objects, starts_ns)
        return np.where(places >= 0, places + self._first_row, UNKNOWN)

    def _places_of(self, objects: Array, starts_ns: Array) -> Array:
        places = self._places.values(objects, UNKNOWN)
        for where, found in self._reused.items():
            mine = objects == where
            if mine.any():
                times = np.array([ns for ns, _ in found], np.int64)
                latest = np.searchsorted(times, starts_ns[mine], side="right") - 1
                candidates = np.array([place for _, place in found], np.int64)
                places[mine] = candidates[np.maximum(latest, 0)]
        return places

    def _unknown_code(self, where: int) -> int:
        if where not in self._unknown:
            if len(self._unknown) >= _MOST_UNKNOWN:
                return self._strings.code(_UNKNOWN_KERNEL)
            self._unknown[where] = self._strings.code(_spelled(where))
        return self._unknown[where]


def _spelled(where: int) -> str:
    return f"kernel at {where:#x}"
