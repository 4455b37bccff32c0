"""Reads the facts of a process: JSON lines that say what the numbers in its records stand for.

Among them are readings of the clocks. GPU ticks as nanoseconds are linear between two readings of
both clocks, in exact integers. Before the first reading and after the last, the rate of the last
second (or of all there is) is continued: two readings close together may be some hundred
nanoseconds off, and a rate taken from them would carry that far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from wavescope.arrays import Array
from wavescope.formats.session.plain_file import opened_plain

_RATE_NS = 1_000_000_000
_LARGEST = (1 << 63) - 1
_EXACT_BITS = 62

Int64s = npt.NDArray[np.int64]
Fact = dict[str, Any]

_LONGEST_LINE_BYTES = 4 << 20
_MOST_NOTES = 1000
_LATEST_SLICE_NS = 1 << 62


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
    categories: dict[tuple[str, int], str] = field(default_factory=dict)
    """Names of marker categories by domain and number."""
    clocks: dict[int, list[ClockPair]] = field(default_factory=dict)
    clock_rates: dict[int, int] = field(default_factory=dict)
    """Ticks per second by GPU, about."""
    labels: list[Fact] = field(default_factory=list)
    costs: list[Fact] = field(default_factory=list)
    runtimes: list[Fact] = field(default_factory=list)
    slices: list[tuple[int, int]] = field(default_factory=list)
    """Starts and ends of the times at which every kernel was recorded."""
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
    with (
        suppress(FileNotFoundError),
        opened_plain(path) as descriptor,
        open(descriptor, "rb", closefd=False) as file,
    ):
        while line := file.readline(_LONGEST_LINE_BYTES):
            written = line.strip(b"\0")  # space that was never filled, or whose facts were cut off
            if not written.endswith(b"\n"):
                facts.torn = bool(written)
                return
            yield written


def _take(facts: Facts, fact: Fact) -> bool:
    """Put `fact` where it belongs; False when a member that it needs is missing."""
    kind = fact.get("fact")
    take = _TAKERS.get(kind) if isinstance(kind, str) else None
    return take is None or take(facts, fact)


def _take_process(facts: Facts, fact: Fact) -> bool:
    facts.process.update(fact)
    return True


def _take_end(facts: Facts, fact: Fact) -> bool:
    facts.end = fact
    return True


def _take_thread(facts: Facts, fact: Fact) -> bool:
    facts.threads[integer(fact, "thread")] = text(fact, "name")
    return True


def _take_category(facts: Facts, fact: Fact) -> bool:
    if name := text(fact, "name"):
        facts.categories[text(fact, "domain"), integer(fact, "category")] = name
    return True


def _take_note(facts: Facts, fact: Fact) -> bool:
    if text(fact, "text") and len(facts.notes) < _MOST_NOTES:
        facts.notes.append((text(fact, "text"), max(1, integer(fact, "count", 1))))
    return True


def _take_kernel(facts: Facts, fact: Fact) -> bool:
    if address(fact, "object") < 0:
        return False
    facts.kernels.append(fact)
    return True


def _take_slice(facts: Facts, fact: Fact) -> bool:
    start_ns, end_ns = integer(fact, "start_ns"), integer(fact, "end_ns")
    if not 0 <= start_ns <= end_ns < _LATEST_SLICE_NS:
        return False
    facts.slices.append((start_ns, end_ns))
    return True


def _take_clock(facts: Facts, fact: Fact) -> bool:
    gpu, ticks, ns = (address(fact, member) for member in ("gpu", "ticks", "ns"))
    if min(gpu, ticks, ns) < 0:
        return False
    facts.clocks.setdefault(gpu, []).append(ClockPair(ticks, ns))
    if (rate := integer(fact, "ticks_per_second")) > 0:
        facts.clock_rates[gpu] = rate
    return True


def _numbered(table: str, member: str) -> _Taker:
    """Takes facts by a number of theirs; the last one counts."""

    def take(facts: Facts, fact: Fact) -> bool:
        number = address(fact, member)
        if number >= 0:
            getattr(facts, table)[number] = fact
        return number >= 0

    return take


def _listed(table: str) -> _Taker:
    """Takes all facts, in the order they were written."""

    def take(facts: Facts, fact: Fact) -> bool:
        getattr(facts, table).append(fact)
        return True

    return take


_Taker = Callable[[Facts, Fact], bool]
_TAKERS: dict[str, _Taker] = {
    "process": _take_process,
    "agent": _numbered("agents", "gpu"),
    "queue": _numbered("queues", "queue"),
    "kernel": _take_kernel,
    "function": _numbered("functions", "function"),
    "thread": _take_thread,
    "category": _take_category,
    "label": _listed("labels"),
    "clock": _take_clock,
    "runtime": _listed("runtimes"),
    "slice": _take_slice,
    "note": _take_note,
    "cost": _listed("costs"),
    "end": _take_end,
}
"""By kind of fact, in the order of native/format/chunk_format.h; others are skipped."""
