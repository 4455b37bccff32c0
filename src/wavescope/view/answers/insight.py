"""Findings, steps and kernels of a whole trace, as the commands tell them, with places to go to.

Times are ns from the trace's first event on.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from wavescope.analyze.findings import evidence_of, findings_result
from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.phases import phases_of
from wavescope.analyze.steps import (
    StepOptions,
    sampled_steps_result,
    steps_result,
    with_repeating_steps,
)
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Finding, Result, ResultTable, Value
from wavescope.render.cells.columns import counted_from_start
from wavescope.render.results.json_text import json_bytes
from wavescope.view.answers.question import Answer, Asked
from wavescope.view.colouring import trace_steps
from wavescope.view.opening import TraceView
from wavescope.view.rows import op_row_id

MOST_STEPS = 20_000
"""Rows of the table of all steps; others are counted."""
Record = dict[str, Value]


def findings(asked: Asked) -> Answer:
    """What `wavescope findings --json` says, and where in the timeline each is seen (`place`)."""
    view = asked.view
    view.require_whole()
    return Answer(view.derived(_findings))


def _findings(view: TraceView) -> bytes:
    result = findings_result(view.trace)
    document = _with_offsets(view, result).to_json()
    for entry, finding in zip(document["findings"], result.findings, strict=True):
        entry["place"] = _place(view, finding)
    return json_bytes(document)


def _place(view: TraceView, finding: Finding) -> dict[str, Any] | None:
    found = evidence_of(view.trace, finding)
    if found is None:
        return None
    first_ns = view.loaded.first_ns
    row_id = "" if found.gpu is None else f"gpu/{found.gpu}"
    if found.op is not None and found.start_ns == int(view.trace.ops["start_ns"][found.op]):
        row_id = _row_of_op(view, found.op)
    return {
        "start": found.start_ns - first_ns,
        "end": found.end_ns - first_ns,
        "rowId": row_id,
        "row": found.op,
    }


def _row_of_op(view: TraceView, row: int) -> str:
    ops = view.trace.ops
    kind = OpKind(int(view.trace.op_kind[row]))
    return op_row_id(int(ops["gpu"][row]), int(ops["queue"][row]), kind)


def steps(asked: Asked) -> Answer:
    """What `wavescope steps --json` says, and of each kind a step that takes the median."""
    view = asked.view
    view.require_whole()
    return Answer(view.derived(_steps))


def _steps(view: TraceView) -> bytes:
    result = _with_offsets(view, _steps_result(view))
    medians = list(_median_steps(result))
    tables = [table.head(MOST_STEPS) if table.name == "steps" else table for table in result.tables]
    return json_bytes({**result.with_only_tables(tables).to_json(), "medians": medians})


def _steps_result(view: TraceView) -> Result:
    trace = view.trace
    if recorded(trace) is not None:
        return sampled_steps_result(trace, StepOptions())
    phases, found = trace.derived(phases_of), trace.derived(trace_steps)
    return with_repeating_steps(steps_result(found, phases.labels, phases.codes), found)


def _median_steps(result: Result) -> Iterable[dict[str, Value]]:
    """Of each kind of step on each queue the first that takes the median time, and where it is."""
    tables = {table.name: table for table in result.tables}
    if "step_kinds" not in tables:
        return
    taken = _times_by_kind(tables["steps"])
    for kind in tables["step_kinds"].records():
        steps = taken.get(_kind_of(kind), [])
        wanted = kind["median_ns"]
        if wanted is None:  # none follows another: they are judged by their spans
            wanted, steps = kind["span_median_ns"], [(row, row["span_ns"]) for row, _ in steps]
        found = next((row for row, time in steps if time == wanted), None)
        if found is not None:
            yield {
                **{name: kind[name] for name in _KEY},
                "step": found["step"],
                "start": found["start_ns"],
                "length": wanted,
                "steps": kind["steps"],
            }


_KEY = ("gpu", "queue", "process", "kind", "phase")


def _kind_of(record: Record) -> tuple[Value, ...]:
    return tuple(record[name] for name in _KEY)


def _times_by_kind(table: ResultTable) -> dict[tuple[Value, ...], list[tuple[Record, Value]]]:
    """Of each kind its steps with the time to the next one, None where another kind follows."""
    records = table.records()
    found: dict[tuple[Value, ...], list[tuple[Record, Value]]] = {}
    for record, following in zip_longest(records, records[1:]):
        key = _kind_of(record)
        time: Value = None
        if following is not None and _kind_of(following) == key:
            time = int(following["start_ns"] or 0) - int(record["start_ns"] or 0)
        found.setdefault(key, []).append((record, time))
    return found


def _with_offsets(view: TraceView, result: Result) -> Result:
    """The result with points in time from the first event on: more digits than a double holds."""
    return counted_from_start(result.with_facts({"first_timestamp_ns": view.loaded.first_ns}))
