"""The question `traces`: what is shown, how much of it is read, and which rows it has."""

from __future__ import annotations

from typing import Any

from wavescope.render.results.json_text import json_bytes
from wavescope.units import count_text
from wavescope.view.answers.question import Answer, Asked
from wavescope.view.colouring import colourings_for
from wavescope.view.opening import Loaded, TraceView
from wavescope.view.rows import Row, RowKind

_NESTED = (RowKind.MARKERS, RowKind.CALLS)
_LONGEST_LABEL = 200
_COUNTED_AS = {
    RowKind.GPU: ("op", "ops"),
    RowKind.QUEUE: ("op", "ops"),
    RowKind.COPIES: ("copy or fill", "copies and fills"),
    RowKind.MARKERS: ("marker", "markers"),
    RowKind.CALLS: ("call", "calls"),
}


def traces(asked: Asked) -> Answer:
    """All opened traces as they are known at this moment."""
    found = [_trace(view, view.loaded) for view in asked.views]
    return Answer(json_bytes({"traces": found}))


def _trace(view: TraceView, loaded: Loaded) -> dict[str, Any]:
    return {
        "trace": view.number,
        "label": view.label,
        "file": view.trace.path,
        "format": view.trace.format,
        "first_ns": str(loaded.first_ns),
        "span_ns": loaded.span_ns,
        "version": loaded.version,
        "share": loaded.share,
        "is_whole": loaded.is_whole,
        "problem": loaded.problem,
        "notes": list(view.notes(loaded)),
        "rows": [_row(row, loaded.first_ns) for row in loaded.rows],
        "colourings": [{"id": each.id, "title": each.title} for each in colourings_for(view)],
    }


def _row(row: Row, first_ns: int) -> dict[str, Any]:
    return {
        "id": row.id,
        "kind": row.kind.value,
        "label": row.label[:_LONGEST_LABEL],
        "detail": _detail(row),
        "parent": row.parent,
        "depth": row.depth,
        "planes": row.depth if row.kind in _NESTED else 1,
        "count": row.count,
        "unit": row.unit,
        "isFolded": row.is_folded,
        "recorded": _recorded(row, first_ns),
        "table": row.table,
    }


def _detail(row: Row) -> str:
    """What stands below the label."""
    if row.kind not in _COUNTED_AS:
        return row.unit
    one, many = _COUNTED_AS[row.kind]
    return f"{count_text(row.count)} {one if row.count == 1 else many}"


def _recorded(row: Row, first_ns: int) -> dict[str, list[int]] | None:
    if row.recorded is None:
        return None
    slices = row.recorded
    return {"start": (slices.starts - first_ns).tolist(), "end": (slices.ends - first_ns).tolist()}
