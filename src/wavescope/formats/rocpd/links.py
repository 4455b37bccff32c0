"""Which call caused which op in a rocpd file: both carry the same correlation id."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from wavescope.formats.rocpd.part import DISPATCHES, MEMORY_COPIES, REGIONS, Part
from wavescope.formats.sqlite.lookup import ValueByKey
from wavescope.formats.sqlite.rows import Field, Given, Reading, kept
from wavescope.model.columns import CALLS, OPS, UNKNOWN

_CALLS_PER_PASS = 4_000_000


def read_links(part: Part, reading: Reading) -> Iterator[Given]:
    """Pairs of call and op; calls too many to be held at once are taken in several passes."""
    passes = part.source.largest_id(part.table(REGIONS)) // _CALLS_PER_PASS + 1
    for number in range(passes):
        call_of = _call_of_correlation(part, number, passes)
        if not len(call_of):
            continue
        for table in (DISPATCHES, MEMORY_COPIES):
            for given in _with_correlation(part, table, reading):
                calls = call_of.find(given["correlation"])
                ids = given["id"] + part.first_id[OPS.name, table]
                yield kept({"call": calls, "op": ids}, calls != UNKNOWN)


def _call_of_correlation(part: Part, number: int, passes: int) -> ValueByKey:
    """The calls of one pass by their correlation id."""
    correlations: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
    calls: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
    for given in _with_correlation(part, REGIONS, Reading()):
        correlation = given["correlation"]
        is_mine = (correlation > 0) & (correlation % passes == number)
        is_mine &= ~part.is_marker(given["event"])
        correlations.append(correlation[is_mine])
        calls.append(given["id"][is_mine] + part.first_id[CALLS.name, REGIONS])
    return ValueByKey(np.concatenate(correlations), np.concatenate(calls))


def _with_correlation(part: Part, table: str, reading: Reading) -> Iterator[Given]:
    for given in part.read(table, {"event": Field("event_id")}, reading):
        yield {**given, "correlation": part.event_values(given["event"], "stack_id")}
