"""Ops, calls and markers by their name: how many, how long, when, and the next one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wavescope.arrays.groups import group_sums
from wavescope.errors import UsageError
from wavescope.names.kernel_names import short_name
from wavescope.render.results.json_text import json_bytes
from wavescope.view.answers.name_matcher import NameMatcher
from wavescope.view.answers.places import LaneOf, Place, nearest, rows_of_table
from wavescope.view.answers.question import Answer, Asked
from wavescope.view.opening import Loaded, TraceView

TABLES = ("ops", "calls", "markers")
MOST_BINS = 16_384
_SHOWN_NAMES = 200
_FIRST, _LAST = -(2**63), 2**63 - 1


@dataclass
class _Searched:
    """What searches of a trace share: the names in use, and who matches them."""

    matcher: NameMatcher = field(default_factory=NameMatcher)
    version: int = -1
    used: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    names: list[list[str]] = field(default_factory=list)
    hits: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)


def search(asked: Asked) -> Answer:
    """How many ranges have a name with `pattern` in it, and where they are.

    `bins` parts of the whole span count those that begin in them; `by_name` has those with most
    time.
    """
    view, loaded = asked.view, asked.view.loaded
    bin_count = asked.integer("bins", 1_000)
    if not 1 <= bin_count <= MOST_BINS:
        raise UsageError(f"there can be 1 to {MOST_BINS:,} bins")
    tables = _tables(asked)
    codes = _matching(view, loaded, asked.text("pattern"))
    size = int(codes.max(initial=-1)) + 1
    place_of = np.full(size + 1, len(codes), np.int64)
    place_of[codes] = np.arange(len(codes))
    found = _Found(place_of, np.zeros(bin_count, np.int64), [0] * len(codes), [0] * len(codes))
    for of in _lanes(loaded, tables):
        found.add(of, loaded)
    order = sorted(range(len(codes)), key=lambda n: (-found.totals[n], -found.counts[n], n))
    strings = view.trace.strings
    return Answer(
        json_bytes(
            {
                "count": sum(found.counts),
                "duration_ns": sum(found.totals),
                "name_count": sum(count > 0 for count in found.counts),
                "by_name": [
                    {
                        "code": int(codes[n]),
                        "name": strings[int(codes[n])],
                        "short": short_name(strings[int(codes[n])]),
                        "count": found.counts[n],
                        "duration_ns": found.totals[n],
                    }
                    for n in order[:_SHOWN_NAMES]
                    if found.counts[n]
                ],
                "bins": found.bins,
                "codes": codes,
                "is_whole": loaded.is_whole,
            }
        )
    )


def search_next(asked: Asked) -> Answer:
    """The hit that begins next after `after` (`direction` -1: the last one before), or nothing.

    `table` and `row` tell a hit that begins then: of several that begin together the next is meant.
    """
    view, loaded = asked.view, asked.view.loaded
    direction = asked.integer("direction", 1)
    if direction not in (1, -1):
        raise UsageError("the direction is 1 or -1")
    tables = _tables(asked)
    codes = _matching(view, loaded, asked.text("pattern"))
    is_hit = np.zeros(int(codes.max(initial=-1)) + 2, bool)
    is_hit[codes] = True

    def hits(names: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        return is_hit[np.minimum(names, len(is_hit) - 1)]

    place = nearest(_lanes(loaded, tables), hits, _origin(asked, loaded, direction), direction)
    if place is None:
        return Answer(json_bytes({}))
    return Answer(
        json_bytes(
            {
                "table": TABLES[place.table],
                "row": place.number,
                "rowId": place.row_id,
                "start": place.start_ns - loaded.first_ns,
                "duration": place.duration_ns,
                "name": view.trace.strings[place.name],
            }
        )
    )


def _origin(asked: Asked, loaded: Loaded, direction: int) -> Place:
    """Behind it (or before it) the next hit is looked for."""
    after = loaded.first_ns + asked.integer("after")
    if "row" in asked.parameters:
        table = asked.text("table")
        if table not in TABLES:
            raise UsageError(f"there is no table '{table}': {', '.join(TABLES)}")
        return Place(after, TABLES.index(table), asked.integer("row"))
    # Without a row all that begins at that time counts as seen.
    return Place(after, len(TABLES) if direction > 0 else -1, 0)


@dataclass
class _Found:
    """What was found so far."""

    place_of_code: npt.NDArray[np.int64]
    """Of each code the place among the hits; behind all others is the one of no hit."""
    bins: npt.NDArray[np.int64]
    counts: list[int]
    totals: list[int]

    def add(self, of: LaneOf, loaded: Loaded) -> None:
        """Count the hits of a lane."""
        lane, last = of.lane, len(self.place_of_code) - 1
        if not last:
            return
        places = self.place_of_code[np.minimum(lane.names, last)]
        indices = np.flatnonzero(places < len(self.counts))
        if not len(indices):
            return
        hit_places = places[indices]
        counts = np.bincount(hit_places, minlength=len(self.counts)).tolist()
        totals = group_sums(hit_places, lane.lengths[indices], len(self.counts))
        self.counts = [a + b for a, b in zip(self.counts, counts, strict=True)]
        self.totals = [a + b for a, b in zip(self.totals, totals, strict=True)]
        edges = bin_edges(loaded, len(self.bins))
        starts = lane.starts[indices]
        self.bins += np.diff(np.searchsorted(starts, edges))


def bin_edges(loaded: Loaded, bins: int) -> npt.NDArray[np.int64]:
    """The times between equal parts of the span; what begins at its very end is in the last."""
    parts = [loaded.first_ns + loaded.span_ns * number // bins for number in range(bins)]
    return np.array([*parts, _LAST], np.int64)


def _lanes(loaded: Loaded, tables: tuple[str, ...]) -> Iterator[LaneOf]:
    return (
        LaneOf(TABLES.index(table), row.id, lane)
        for table in tables
        for row in rows_of_table(loaded, table)
        for lane in row.lanes
    )


def _tables(asked: Asked) -> tuple[str, ...]:
    wanted = asked.text("tables", ",".join(TABLES)).split(",")
    for table in wanted:
        if table not in TABLES:
            raise UsageError(f"there is no table '{table}': {', '.join(TABLES)}")
    return tuple(table for table in TABLES if table in wanted)


def _matching(view: TraceView, loaded: Loaded, pattern: str) -> npt.NDArray[np.int64]:
    """The codes of the names in which the pattern is found, whole or as they are shown."""
    shared = view.derived(_searched)
    if shared.version != loaded.version:
        used = _used_codes(loaded)
        if not np.array_equal(used, shared.used):
            strings = view.trace.strings
            shared.names = [_spellings(strings[code]) for code in used.tolist()]
            shared.used, shared.hits = used, {}
        shared.version = loaded.version
    if pattern not in shared.hits:
        found = shared.matcher.matching(pattern, shared.names)
        if len(shared.hits) > 100:
            shared.hits.clear()
        shared.hits[pattern] = shared.used[np.array(found, np.intp)]
    return shared.hits[pattern]


def _searched(_: TraceView) -> _Searched:
    return _Searched()


def _spellings(name: str) -> list[str]:
    short = short_name(name)
    return [name] if short == name else [name, short]


def _used_codes(loaded: Loaded) -> npt.NDArray[np.int64]:
    """The codes of all names that ranges have."""
    is_used = np.zeros(1, bool)
    for of in _lanes(loaded, TABLES):
        largest = int(of.lane.names.max(initial=-1))
        if largest >= len(is_used):
            is_used = np.concatenate((is_used, np.zeros(largest + 1 - len(is_used), bool)))
        is_used[of.lane.names[of.lane.names >= 0]] = True
    return np.flatnonzero(is_used).astype(np.int64)
