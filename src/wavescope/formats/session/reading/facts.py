"""Reads the facts of a process: JSON lines that say what the numbers in its records stand for.

Among them are readings of the clocks. GPU ticks as nanoseconds are linear between two readings of
both clocks, in exact integers. Before the first reading and after the last, the rate of the last
second (or of all there is) is continued: two readings close together may be some hundred
nanoseconds off, and a rate taken from them would carry that far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from wavescope.arrays.array_types import Array
from wavescope.formats.session.record_file import Lookup
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import KERNELS, UNKNOWN
from wavescope.model.strings import StringTable
from wavescope.names.demangle import demangle, strip_kernel_suffix

_RATE_NS = 1_000_000_000
_LARGEST = (1 << 63) - 1
_EXACT_BITS = 62

Int64s = npt.NDArray[np.int64]
Fact = dict[str, Any]

_LONGEST_LINE_BYTES = 4 << 20
_MOST_NOTES = 1000
_COUNTS = ("vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes", "kernarg_bytes")
_MOST_UNKNOWN = 10_000
_UNKNOWN_KERNEL = "(unknown kernel)"


@dataclass(frozen=True)
class ClockPair:
    """Both clocks read at the same moment."""

    ticks: int
    ns: int


class TickClock:
    """Converts the ticks of one GPU."""

    def __init__(self, pairs: Sequence[ClockPair], ticks_per_second: int = 0) -> None:
        """`ticks_per_second` serves where there is a single pair; see `works`."""
        kept = _in_order(pairs)
        self.dropped = len(pairs) - len(kept)
        """Pairs of clocks that went backwards or stood still."""
        self.pairs = kept
        if len(kept) == 1 and ticks_per_second > 0:
            kept = _in_order((kept[0], _a_second_later(kept[0], ticks_per_second)))
        self.works = len(kept) > 1
        """Whether there is enough to convert at all."""
        if self.works:
            self._set_segments(kept)

    def _set_segments(self, pairs: Sequence[ClockPair]) -> None:
        ticks = np.array([pair.ticks for pair in pairs], np.int64)
        ns = np.array([pair.ns for pair in pairs], np.int64)
        first = _far_index(ns, 0)
        last = _far_index(ns, len(ns) - 1)
        # Segment 0 lies before the first pair, the last one after the last pair.
        self._edges = ticks
        self._base_ticks = np.concatenate((ticks[:1], ticks))
        self._base_ns = np.concatenate((ns[:1], ns))
        self._rate_ticks = np.concatenate(
            ([ticks[first] - ticks[0]], np.diff(ticks), [ticks[-1] - ticks[last]])
        )
        self._rate_ns = np.concatenate(([ns[first] - ns[0]], np.diff(ns), [ns[-1] - ns[last]]))

    def ns_of(self, ticks: Array) -> Int64s:
        """Nanoseconds of `ticks`, rounded down to whole ones and kept within 0 and 2^63 - 1."""
        assert self.works
        values = ticks.astype(np.int64)
        segment = np.searchsorted(self._edges, values, side="right")
        distance = values - self._base_ticks[segment]
        passed = _scaled(distance, self._rate_ns[segment], self._rate_ticks[segment])
        base = self._base_ns[segment]
        result = base + passed
        beyond = (passed > 0) & (result < base)
        result[beyond] = _LARGEST
        within: Int64s = np.maximum(result, 0)
        return within


def _in_order(pairs: Sequence[ClockPair]) -> list[ClockPair]:
    """The pairs as they were read, without those that go backwards in either clock."""
    kept: list[ClockPair] = []
    for pair in pairs:
        is_sane = 0 <= pair.ticks <= _LARGEST and 0 <= pair.ns <= _LARGEST
        if is_sane and (not kept or (pair.ticks > kept[-1].ticks and pair.ns > kept[-1].ns)):
            kept.append(pair)
    return kept


def _a_second_later(pair: ClockPair, ticks_per_second: int) -> ClockPair:
    return ClockPair(pair.ticks + ticks_per_second, pair.ns + _RATE_NS)


def _far_index(ns: Int64s, end: int) -> int:
    """The nearest pair that is a second away from pair `end` (0 or the last), or the other end."""
    if end == 0:
        wanted = min(int(ns[0]) + _RATE_NS, _LARGEST)
        return min(int(np.searchsorted(ns, wanted)), len(ns) - 1)
    wanted = max(int(ns[-1]) - _RATE_NS, 0)
    return max(int(np.searchsorted(ns, wanted, side="right")) - 1, 0)


def _scaled(distance: Int64s, multiplier: Int64s, divisor: Int64s) -> Int64s:
    """floor(distance * multiplier / divisor) without overflow; results beyond int64 are its ends.

    Long division: the distance is taken a few bits at a time from the top, as many as fit beside
    the remainder.
    """
    if not len(distance):
        return distance
    size = np.abs(distance)
    largest = int(size.max()) * int(multiplier.max())
    if largest <= _LARGEST:
        quotient: Int64s = distance * multiplier // divisor
        return quotient
    whole, part = np.divmod(multiplier, divisor)
    if int(size.max()) * (int(whole.max()) + 1) > _LARGEST or int(divisor.max()).bit_length() > 60:
        return _scaled_by_python(distance, multiplier, divisor)
    step_bits = _EXACT_BITS - int(divisor.max()).bit_length()
    bits = int(size.max()).bit_length()
    quotient, remainder = np.zeros_like(size), np.zeros_like(size)
    for low in range(-(-bits // step_bits) * step_bits - step_bits, -1, -step_bits):
        digits = (size >> low) & ((1 << step_bits) - 1)
        more, remainder = np.divmod((remainder << step_bits) + digits * part, divisor)
        quotient = (quotient << step_bits) + more
    quotient += size * whole
    rounded_up = quotient + (remainder > 0)
    return np.where(distance >= 0, quotient, -rounded_up)


def _scaled_by_python(distance: Int64s, multiplier: Int64s, divisor: Int64s) -> Int64s:
    """The same with Python's integers: only for clocks that no machine has."""
    exact = (
        max(-_LARGEST, min(_LARGEST, x * m // d))
        for x, m, d in zip(distance.tolist(), multiplier.tolist(), divisor.tolist(), strict=True)
    )
    return np.fromiter(exact, np.int64, len(distance))


@dataclass
class Facts:
    """Everything a process said about itself; of repeated facts the last one counts."""

    process: Fact = field(default_factory=dict)
    agents: dict[int, Fact] = field(default_factory=dict)
    queues: dict[int, Fact] = field(default_factory=dict)
    kernels: list[Fact] = field(default_factory=list)
    """In the order they were written: an object may be given out again."""
    functions: dict[int, Fact] = field(default_factory=dict)
    threads: dict[int, str] = field(default_factory=dict)
    clocks: dict[int, list[ClockPair]] = field(default_factory=dict)
    clock_rates: dict[int, int] = field(default_factory=dict)
    """Ticks per second by GPU, about."""
    labels: list[Fact] = field(default_factory=list)
    costs: list[Fact] = field(default_factory=list)
    runtimes: list[Fact] = field(default_factory=list)
    notes: list[tuple[str, int]] = field(default_factory=list)
    end: Fact | None = None
    """Absent when the process was killed or still runs."""
    damaged_lines: int = 0
    torn: bool = False
    """Whether the last line was cut off."""


def read_facts(path: Path) -> Facts:
    """The facts in `path`; lines that are no facts are counted and left out."""
    facts = Facts()
    for line in _lines(path, facts):
        try:
            fact = orjson.loads(line)
        except orjson.JSONDecodeError:
            facts.damaged_lines += 1
            continue
        if not isinstance(fact, dict) or not _take(facts, fact):
            facts.damaged_lines += 1
    return facts


def integer(fact: Fact, member: str, missing: int = -1) -> int:
    """A member that is an integer within 64 bits, or `missing`."""
    return _number(fact.get(member), -(1 << 63), 1 << 63, missing)


def address(fact: Fact, member: str) -> int:
    """A member that is an unsigned 64-bit number, or -1."""
    return _number(fact.get(member), 0, 1 << 64, -1)


def _number(value: object, low: int, high: int, missing: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        return missing
    return value if low <= value < high else missing


def text(fact: Fact, member: str) -> str:
    """A member that is text, or nothing."""
    value = fact.get(member)
    return value if isinstance(value, str) else ""


def words(fact: Fact, member: str) -> list[str]:
    """A member that is a list of text."""
    value = fact.get(member)
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def _lines(path: Path, facts: Facts) -> Iterator[bytes]:
    if not path.is_file():
        return
    with path.open("rb") as file:
        while line := file.readline(_LONGEST_LINE_BYTES):
            written = line.strip(b"\0")  # space that was never filled, or whose facts were cut off
            if not written.endswith(b"\n"):
                facts.torn = bool(written)
                return
            yield written


def _take(facts: Facts, fact: Fact) -> bool:
    """Put `fact` where it belongs; False when a member that it needs is missing."""
    kind = fact.get("fact")
    if kind == "process":
        facts.process.update(fact)
    elif kind == "clock":
        return _take_clock(facts, fact)
    elif kind in _LISTS:
        return _take_listed(facts, kind, fact)
    elif kind == "note":
        if text(fact, "text") and len(facts.notes) < _MOST_NOTES:
            facts.notes.append((text(fact, "text"), max(1, integer(fact, "count", 1))))
    elif kind == "end":
        facts.end = fact
    elif kind == "thread":
        facts.threads[integer(fact, "thread")] = text(fact, "name")
    elif kind in _TABLES:
        table, member = _TABLES[kind]
        key = address(fact, member)
        if key < 0:
            return False
        getattr(facts, table)[key] = fact
    return True


_TABLES = {
    "agent": ("agents", "gpu"),
    "queue": ("queues", "queue"),
    "function": ("functions", "function"),
}


_LISTS = {"runtime": "runtimes", "label": "labels", "cost": "costs", "kernel": "kernels"}


def _take_listed(facts: Facts, kind: str, fact: Fact) -> bool:
    if kind == "kernel" and address(fact, "object") < 0:
        return False
    getattr(facts, _LISTS[kind]).append(fact)
    return True


def _take_clock(facts: Facts, fact: Fact) -> bool:
    gpu, ticks, ns = (address(fact, member) for member in ("gpu", "ticks", "ns"))
    if min(gpu, ticks, ns) < 0:
        return False
    facts.clocks.setdefault(gpu, []).append(ClockPair(ticks, ns))
    if (rate := integer(fact, "ticks_per_second")) > 0:
        facts.clock_rates[gpu] = rate
    return True


class KernelNames:
    """The kernels that one process loaded: kernel objects as names and rows of the kernel table.

    An object's address may be given out again after its code was unloaded: then the time of the op
    tells which kernel it was.
    """

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
