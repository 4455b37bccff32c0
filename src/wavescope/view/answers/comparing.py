"""Several traces beside each other: what they can be aligned by, and which kernels differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_labels import label_of_drawn
from wavescope.arrays.coded_columns import distinct
from wavescope.errors import UsageError
from wavescope.render.results.json_text import json_bytes
from wavescope.units import counted
from wavescope.view.answers.question import Answer, Asked, meant_name
from wavescope.view.colouring import changes_of, trace_steps
from wavescope.view.opening import TraceView

Times = npt.NDArray[np.int64]

MOST_NAMES = 500
MOST_STEPS = 2_000
MOST_KERNELS = 1_000


def alignments(asked: Asked) -> Answer:
    """Times, from each trace's first event, that stand for the same in all traces.

    Without parameters the markers that all have, with how often all have them and when first;
    `by=step` for the steps by number; `marker=NAME&number=N` for the N-th such marker.
    """
    for view in asked.views:
        view.require_whole()
    if "marker" in asked.parameters:
        return Answer(json_bytes(_of_marker(asked, asked.text("marker"), asked.integer("number"))))
    if asked.text("by", "") == "step":
        return Answer(json_bytes({"steps": _steps(asked.views)}))
    start = [0] * len(asked.views)
    return Answer(json_bytes({"start": start, "markers": _markers(asked.views)}))


def _of_marker(asked: Asked, name: str, number: int) -> dict[str, object]:
    """The `number`-th marker of that name, from 1 on."""
    name = meant_name(name, asked.view.derived(marker_starts))
    found = [view.derived(marker_starts).get(name, ()) for view in asked.views]
    count = min(len(starts) for starts in found)
    if count == 0:
        raise UsageError(f"not all traces have a marker '{name[:80]}'")
    if not 1 <= number <= count:
        raise UsageError(f"not all traces have more than {counted(count, 'marker')} '{name[:80]}'")
    at = _from_first(asked.views, [starts[number - 1] for starts in found])
    return {"name": name, "count": count, "at": at}


def _markers(views: Sequence[TraceView]) -> list[dict[str, object]]:
    """Markers that all traces have, in the order in which the first trace has them."""
    found = [view.derived(marker_starts) for view in views]
    common = [name for name in found[0] if all(name in starts for starts in found)]
    common.sort(key=lambda name: int(found[0][name][0]))
    return [
        {
            "name": name,
            "count": min(len(starts[name]) for starts in found),
            "at": _from_first(views, [starts[name][0] for starts in found]),
        }
        for name in common[:MOST_NAMES]
    ]


def _steps(views: Sequence[TraceView]) -> list[dict[str, object]]:
    """Steps by number, from 1 on, as far as all traces have them."""
    found = [view.derived(step_starts) for view in views]
    count = min(MOST_STEPS, *(len(starts) for starts in found))
    return [
        {
            "name": f"step {number + 1}",
            "at": _from_first(views, [starts[number] for starts in found]),
        }
        for number in range(count)
    ]


def _from_first(views: Sequence[TraceView], times: Sequence[int]) -> list[int]:
    return [int(at) - view.loaded.first_ns for view, at in zip(views, times, strict=True)]


def marker_starts(view: TraceView) -> dict[str, Times]:
    """When the markers of each name begin, in order."""
    rows = (row for row in view.loaded.rows if row.table == "markers")
    lanes = [lane for row in rows for lane in row.lanes if len(lane)]
    if not lanes:
        return {}
    names = np.concatenate([lane.names for lane in lanes])
    starts = np.concatenate([lane.starts for lane in lanes])
    order = np.lexsort((starts, names))
    codes, firsts = np.unique(names[order], return_index=True)
    parts = np.split(starts[order], firsts[1:])
    return {
        view.trace.strings[code]: part for code, part in zip(codes.tolist(), parts, strict=True)
    }


def step_starts(view: TraceView) -> Times:
    """When the steps begin on the queue that has most of them, by their first op."""
    of_lane = view.trace.derived(trace_steps).of_lane
    if not of_lane:
        return np.empty(0, np.int64)
    return max(of_lane, key=len).start_ns


class Instance(NamedTuple):
    """One op as an example of its kernel."""

    row: int
    row_id: str
    start_ns: int
    duration_ns: int
    of_how_many: int


def differences(asked: Asked) -> Answer:
    """The table `kernels` of `wavescope compare`, with a word and an example in each trace."""
    view = asked.view
    changes = changes_of(view)
    other = view.compared_with
    assert other is not None  # or there would be no changes
    base, new = sorted((view, other), key=lambda each: each.number)
    examples = [_examples(each) for each in (base, new)]
    rows = [
        {
            **record,
            "change": changes.of_new.get(str(record["name"]), "gone"),
            "at": [
                _place(base, examples[0], str(record["base_name"] or record["name"])),
                _place(new, examples[1], str(record["name"])),
            ],
        }
        for record in changes.table.records()[:MOST_KERNELS]
    ]
    answer = {"base": base.number, "new": new.number, "rows": rows}
    return Answer(json_bytes({**answer, "total": len(changes.table.rows)}))


def _place(
    view: TraceView, examples: dict[str, Instance], names: str
) -> dict[str, int | str] | None:
    """Where an example of a kernel, or of one of several that are one in the other, is drawn."""
    found = [examples[name] for name in (names, *names.split(" + ")) if name in examples]
    if not found:
        return None
    at = found[0]
    return {
        "table": "ops",
        "row": at.row,
        "rowId": at.row_id,
        "start": at.start_ns - view.loaded.first_ns,
        "duration": at.duration_ns,
    }


def _examples(view: TraceView) -> dict[str, Instance]:
    return view.derived(_middle_instances)


def _middle_instances(view: TraceView) -> dict[str, Instance]:
    """By kernel as listed the op in the middle of its ops on the lane with most of them.

    The first op of a kernel often waits for its code: it would be a bad example.
    """
    listed = changes_of(view).listed
    strings = view.trace.strings
    found: dict[str, Instance] = {}
    for row in view.loaded.rows:
        for lane in row.lanes if row.table == "ops" else ():
            codes, of_range = distinct(lane.names)
            order = np.argsort(of_range, kind="stable")
            edges = np.searchsorted(of_range[order], np.arange(len(codes) + 1))
            for code, first, end in zip(
                codes, edges[:-1].tolist(), edges[1:].tolist(), strict=True
            ):
                name = listed(label_of_drawn(strings[code]))
                known = found.get(name)
                if known is None or known.of_how_many < end - first:
                    at = int(order[(first + end) // 2])
                    found[name] = Instance(
                        int(lane.rows[at]),
                        row.id,
                        int(lane.starts[at]),
                        int(lane.lengths[at]),
                        end - first,
                    )
    return found
