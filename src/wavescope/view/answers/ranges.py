"""What a window of time holds: the tables that commands give for the same window.

`summary`, `phases` and `findings` with `--start` and `--end` say the same; nothing is computed in
another way here.
"""

from __future__ import annotations

import gc
from dataclasses import replace

from wavescope.analyze.findings import idle_result
from wavescope.analyze.phases import phases_result
from wavescope.analyze.summary import summarize
from wavescope.errors import UsageError
from wavescope.model.result import Result
from wavescope.model.selection import Selection
from wavescope.model.trace import Trace
from wavescope.render.results.json_text import json_bytes
from wavescope.view.answers.question import Answer, Asked
from wavescope.view.opening import TraceView
from wavescope.view.parts import parts_of, window_part

_SHOWN_OF_PHASES = ("phases", "phase_kernels", "phase_segments")
_PARTS = ("summary", "phases", "idle")
_MANY_OPS = 200_000


def range_(asked: Asked) -> Answer:
    """The result of the window [start, end), in ns from the first event on.

    `parts` names what is wanted: `summary`, `phases`, `idle`; everything by default.
    """
    view = asked.view
    wanted = asked.text("parts", ",".join(_PARTS)).split(",")
    unknown = [name for name in wanted if name not in _PARTS]
    if unknown:
        raise UsageError(f"there is no part '{unknown[0]}' of a range: {', '.join(_PARTS)}")
    result = range_result(view, *asked.window_ns, wanted)
    return Answer(json_bytes(result.to_json()))


def range_result(
    view: TraceView, start_ns: int, end_ns: int, wanted: list[str] | tuple[str, ...] = _PARTS
) -> Result:
    """The same as a result, of points in time as the trace has them."""
    with view.turn:
        part = window_part(view.derived(parts_of), start_ns, end_ns)
        result = Result("Range")
        for name in wanted:
            result = _with_part(result, name, part)
        is_large = len(part.ops) > _MANY_OPS
    if is_large:
        # What analyses derive of a part refers to the part: it would stay for a while.
        del part
        gc.collect()
    selection = Selection(start=str(start_ns), end=str(end_ns))
    return result.with_origin(lambda: view.loaded.first_ns).with_facts(selection.facts)


def _with_part(result: Result, name: str, part: Trace) -> Result:
    if name == "summary":
        found = summarize(part)
        return replace(found, tables=[*found.tables, *result.tables])
    if not len(part.ops):
        return result
    if name == "phases":
        found = phases_result(part)
        shown = [table for table in found.tables if table.name in _SHOWN_OF_PHASES]
        return result.with_tables(*shown)
    return result.with_tables(*idle_result(part).tables)
