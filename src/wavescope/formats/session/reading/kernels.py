"""Kernel objects as names and rows of the kernel table, and which of them were asked for.

An object's address may be given out again after its code was unloaded: then the time of the op
tells which kernel it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.session.reading.bounded_match import is_quick, matches
from wavescope.formats.session.reading.facts import Fact, address, integer, text
from wavescope.formats.session.record_file import Lookup
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import KERNELS, UNKNOWN
from wavescope.model.progress import Notes
from wavescope.model.strings import StringTable
from wavescope.names.demangle import demangle, strip_kernel_suffix

_COUNTS = ("vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes", "kernarg_bytes")
_BY_LAUNCH = ("lds_bytes", "scratch_bytes")
_MOST_UNKNOWN = 10_000
_UNKNOWN_KERNEL = "(unknown kernel)"


class KernelObjects:
    """Which of a process's kernels an op ran, by the object it names and its time."""

    def __init__(self, kernels: Sequence[Fact]) -> None:
        found: dict[int, list[tuple[int, int]]] = {}
        for place, fact in enumerate(kernels):
            since_ns = max(0, integer(fact, "ns", 0))
            found.setdefault(address(fact, "object"), []).append((since_ns, place))
        self._places = Lookup({where: first[0][1] for where, first in found.items()})
        self._reused = {where: sorted(all_) for where, all_ in found.items() if len(all_) > 1}

    def places(self, objects: Array, starts_ns: Array) -> Array:
        """Places among the kernels, unknown ones -1."""
        places = self._places.values(objects, UNKNOWN)
        for where, found in self._reused.items():
            mine = objects == where
            if mine.any():
                times = np.array([ns for ns, _ in found], np.int64)
                latest = np.searchsorted(times, starts_ns[mine], side="right") - 1
                candidates = np.array([place for _, place in found], np.int64)
                places[mine] = candidates[np.maximum(latest, 0)]
        return places

    def values(
        self, objects: Array, starts_ns: Array, by_place: Array, of_unknown: Callable[[int], int]
    ) -> Array:
        """What `by_place` says of each op's kernel, and `of_unknown` of objects nobody named."""
        places = self.places(objects, starts_ns)
        is_known = places >= 0
        values = np.empty(len(objects), by_place.dtype)
        values[is_known] = by_place[places[is_known]]
        nameless = np.flatnonzero(~is_known)
        if len(nameless):
            distinct, inverse = np.unique(objects[nameless], return_inverse=True)
            found = [of_unknown(where) for where in distinct.tolist()]
            values[nameless] = np.array(found, by_place.dtype)[inverse]
        return values


def kernel_name(fact: Fact) -> str:
    """The whole readable name of a kernel, or its address."""
    mangled = strip_kernel_suffix(text(fact, "name"))
    return demangle(mangled) or spelled_address(address(fact, "object"))


def spelled_address(where: int) -> str:
    """What a kernel is called that nobody named."""
    return f"kernel at {where:#x}"


class KernelNames:
    """The kernels that one process loaded, as rows of the kernel table."""

    def __init__(self, builder: TraceBuilder, process: int, kernels: Sequence[Fact]) -> None:
        """Add the kernels to the builder's table."""
        self._strings: StringTable = builder.strings
        self._unknown: dict[int, int] = {}
        self._first_row = builder.row_count(KERNELS) + 1
        self._objects = KernelObjects(kernels)
        self._by_launch = {
            member: np.array([integer(fact, member) for fact in kernels], np.int64)
            for member in _BY_LAUNCH
        }
        codes = [self._add(builder, process, fact) for fact in kernels]
        self._name_codes = np.array(codes, np.int64)

    def _add(self, builder: TraceBuilder, process: int, fact: Fact) -> int:
        name = kernel_name(fact)
        builder.add_row(
            KERNELS,
            process=process,
            name=name,
            mangled=strip_kernel_suffix(text(fact, "name")),
            code_object=text(fact, "code_object"),
            **{member: integer(fact, member) for member in _COUNTS},
        )
        return self._strings.code(name)

    def name_codes(self, objects: Array, starts_ns: Array) -> Array:
        """Codes of the kernels' names; a kernel that nobody named is called by its address."""
        return self._objects.values(objects, starts_ns, self._name_codes, self._unknown_code)

    def row_ids(self, objects: Array, starts_ns: Array) -> Array:
        """Ids in the kernel table, unknown ones -1."""
        places = self._objects.places(objects, starts_ns)
        return np.where(places >= 0, places + self._first_row, UNKNOWN)

    def counts(self, member: str, objects: Array, starts_ns: Array) -> Array:
        """A number that facts give of each op's kernel, unknown ones -1."""
        by_place = self._by_launch[member]
        return self._objects.values(objects, starts_ns, by_place, lambda _: UNKNOWN)

    def _unknown_code(self, where: int) -> int:
        if where not in self._unknown:
            if len(self._unknown) >= _MOST_UNKNOWN:
                return self._strings.code(_UNKNOWN_KERNEL)
            self._unknown[where] = self._strings.code(spelled_address(where))
        return self._unknown[where]


def kernel_filter(
    pattern: re.Pattern[str] | None, kernels: Sequence[Fact], notes: Notes
) -> KernelFilter | None:
    """What keeps the kernels of one process that match; None where all are kept."""
    if pattern is None:
        return None
    names = [kernel_name(fact) for fact in kernels]
    is_wanted = matches(pattern, [*names, spelled_address(0)])
    if is_wanted is None:
        notes.add("the pattern of kernels takes too long to match: all are shown")
        return None
    *named, unnamed = is_wanted
    return KernelFilter(pattern, kernels, named, unnamed_are_wanted=unnamed)


class KernelFilter:
    """Whether the kernels of one process match a pattern.

    Collectors record every kernel: a pattern is Python's, on names as people read them, and neither
    can be had inside of somebody else's program. What does not match is left out when records are
    read, and counted as skipped.
    """

    def __init__(
        self,
        pattern: re.Pattern[str],
        kernels: Sequence[Fact],
        is_wanted: Sequence[bool],
        *,
        unnamed_are_wanted: bool,
    ) -> None:
        """`is_wanted` is of each kernel; those without a name are all alike to slow patterns."""
        self._pattern = pattern if is_quick(pattern) else None
        self._unnamed_are_wanted = unnamed_are_wanted
        self._objects = KernelObjects(kernels)
        self._is_wanted = np.array(is_wanted, bool)

    def wanted(self, objects: Array, starts_ns: Array) -> Array:
        """Which dispatches are of kernels that match."""
        return self._objects.values(
            objects, starts_ns, self._is_wanted, lambda where: self._matches(spelled_address(where))
        )

    def _matches(self, name: str) -> bool:
        if self._pattern is None:
            return self._unnamed_are_wanted
        return self._pattern.search(name) is not None
