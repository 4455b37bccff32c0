"""Reads the facts of a process: JSON lines that say what the numbers in its records stand for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from wavescope.formats.session.clock import ClockPair

Fact = dict[str, Any]

_LONGEST_LINE_BYTES = 4 << 20
_MOST_NOTES = 1000


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
