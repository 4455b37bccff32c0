"""All that is known of one op: what it is, where it ran, what launched it."""

from __future__ import annotations

from typing import Any

import numpy as np

from wavescope.analyze.ops.op_labels import op_categories, op_labels, short_op_name
from wavescope.model.columns import CALLS, COUNTERS, LINKS, OPS
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import meaning_of, readable_name
from wavescope.view.answers.facts import (
    Fact,
    Link,
    arguments_of,
    around_facts,
    around_rows,
    enclosing_markers,
    fact,
    known,
    links_to,
    one_row,
    process_facts,
    spot_json,
    times,
)
from wavescope.view.answers.places import LaneOf, Place, nearest, rows_of_table, spot_of
from wavescope.view.opening import TraceView
from wavescope.view.parts import TraceParts, parts_of

_OF_LAUNCH = ("start_ns", "end_ns", "process", "thread")
_SHAPES = (("grid", "grid"), ("workgroup", "workgroup"))
_OF_KERNELS = (
    ("vgprs", "vector registers", ""),
    ("agprs", "accumulation registers", ""),
    ("sgprs", "scalar registers", ""),
    ("lds_bytes", "static LDS", "bytes"),
    ("scratch_bytes", "scratch per work-item", "bytes"),
    ("kernarg_bytes", "kernel arguments", "bytes"),
)


def op_details(view: TraceView, row: int) -> dict[str, Any]:
    """What is known of the op in a row."""
    parts = view.derived(parts_of)
    op = one_row(parts, OPS, row)
    start_ns, end_ns, gpu = (int(op[name][0]) for name in ("start_ns", "end_ns", "gpu"))
    trace, call, launch_id = _with_launch(view, row, int(op["id"][0]))
    whole_name = _label(trace)
    spot = spot_of(view.loaded, "ops", row, start_ns, f"queue/{gpu}/{int(op['queue'][0])}")
    facts = [
        fact("name", whole_name),
        *_kind_facts(trace, whole_name),
        *times(view, start_ns, end_ns),
        *_place_facts(view, trace),
        *_launch_facts(view, trace),
        *_size_facts(trace, end_ns - start_ns),
        *around_facts(trace, launch_id),
        *_counter_facts(parts, int(op["id"][0])),
    ]
    links, arguments = _links(view, trace, call)
    previous, following = _same_kernel(view, row, start_ns, gpu, spot.row_id)
    return {
        "title": short_op_name(trace, 0),
        "table": "ops",
        "row": row,
        "facts": facts,
        "arguments": arguments,
        "links": links,
        "previous": previous,
        "next": following,
        "start": start_ns - view.loaded.first_ns,
        "duration": end_ns - start_ns,
        **spot_json(spot),
    }


def _with_launch(view: TraceView, row: int, op_id: int) -> tuple[Trace, int, int]:
    """The op with its launch and what encloses that; row and id of the launch, -1 for none."""
    parts = view.derived(parts_of)
    ids = np.empty(0, np.int64)
    links = parts.links_of("op", np.array([op_id]))[:1]
    if len(links):
        ids = parts.table(LINKS).at(links, ("call",))["call"]
    launches, _ = parts.table(CALLS).with_ids(ids, ())
    rows = {OPS: np.array([row], np.int64), LINKS: links, **around_rows(view, launches)}
    if not len(launches):
        return parts.trace(rows), -1, -1
    return parts.trace(rows), int(launches[0]), int(ids[0])


def _label(trace: Trace) -> str:
    (text,) = op_labels(trace).texts
    return text


def _kind_facts(trace: Trace, whole_name: str) -> list[Fact]:
    found = op_categories(trace)
    meaning = meaning_of(whole_name)
    return [
        fact("readable name", readable_name(whole_name)),
        fact("category", found.labels[int(found.codes[0])]),
        fact("kind", OpKind(int(trace.op_kind[0])).name.lower().replace("_", " ")),
        *known("type", trace.strings[int(trace.ops["type"][0])]),
        *known("library", meaning.family),
        *known("note", meaning.note),
    ]


def _place_facts(view: TraceView, trace: Trace) -> list[Fact]:
    ops, agents = trace.ops, view.trace.agents
    value = {name: int(ops[name][0]) for name in ("gpu", "queue", "stream", "process", "thread")}
    facts = known("GPU", value["gpu"])
    here = np.flatnonzero(agents["gpu"] == value["gpu"])
    for name in ("model", "chip"):
        if len(here) and value["gpu"] >= 0:
            facts += known(name, trace.strings[int(agents[name][here[0]])])
    facts += known("queue", value["queue"]) + known("stream", value["stream"])
    return facts + process_facts(view.trace, value["process"], value["thread"])


def _launch_facts(view: TraceView, trace: Trace) -> list[Fact]:
    ops, facts = trace.ops, []
    for name, title in _SHAPES:
        sizes = [int(ops[f"{name}_{axis}"][0]) for axis in "xyz"]
        if sizes[0] >= 0:
            text = " x ".join(str(max(size, 1)) for size in sizes)
            facts.append(fact(title, text, "work-items"))
    facts += known("LDS", int(ops["lds_bytes"][0]), "bytes")
    facts += known("scratch", int(ops["scratch_bytes"][0]), "bytes")
    facts += _symbol_facts(view.trace, int(ops["kernel"][0]))
    facts += known("graph", int(ops["graph"][0])) + known("graph node", int(ops["graph_node"][0]))
    return facts + known("correlation", int(ops["correlation"][0]))


def _symbol_facts(trace: Trace, kernel: int) -> list[Fact]:
    """What compiler and loader know of the kernel."""
    if kernel < 0:
        return []
    kernels = trace.kernels
    places = np.flatnonzero(kernels["id"] == kernel)
    if not len(places):
        return []
    facts = []
    for name, title, unit in _OF_KERNELS:
        facts += known(title, int(kernels[name][places[0]]), unit)
    return facts + known("code object", trace.strings[int(kernels["code_object"][places[0]])])


def _size_facts(trace: Trace, duration_ns: int) -> list[Fact]:
    size = int(trace.ops["size_bytes"][0])
    if size < 0:
        return []
    facts = [fact("size", size, "bytes")]
    if duration_ns > 0:
        facts.append(fact("bandwidth", size / duration_ns, "GB/s"))
    for name, title in (("source_device", "from device"), ("target_device", "to device")):
        facts += known(title, int(trace.ops[name][0]))
    return facts


def _counter_facts(parts: TraceParts, op_id: int) -> list[Fact]:
    if not parts.source.row_count(COUNTERS):
        return []
    columns = ("name", "value")
    _, found = parts.table(COUNTERS).with_values("op", np.array([op_id]), columns)
    return [
        fact(parts.source.strings[code], value, "counter")
        for code, value in zip(found["name"].tolist(), found["value"].tolist(), strict=True)
    ]


def _links(view: TraceView, trace: Trace, call: int) -> tuple[list[Link], dict[str, Any]]:
    """The launch, what encloses it, and what the launch was given."""
    if call < 0:
        return [], {}
    calls = view.derived(parts_of).table(CALLS)
    launch = calls.at(np.array([call]), (*_OF_LAUNCH, "args"))
    start_ns, end_ns, process, thread = (int(launch[name][0]) for name in _OF_LAUNCH)
    links = links_to(view, "launch", CALLS, np.array([call]), f"calls/{process}/{thread}")
    links += enclosing_markers(view, start_ns, end_ns, process, thread)
    (text,) = trace.source.texts(launch["args"])
    return links, arguments_of(text)


def _same_kernel(
    view: TraceView, row: int, start_ns: int, gpu: int, row_id: str
) -> tuple[Link | None, Link | None]:
    """The op of the same name that ran before on that GPU, and the one after."""
    loaded = view.loaded
    own = loaded.row_by_id.get(row_id)
    if own is None:
        return None, None
    origin = Place(start_ns, 0, row)
    code = next(
        int(lane.names[index])
        for lane in own.lanes
        for index in np.flatnonzero(lane.rows == row)[:1].tolist()
    )
    found = []
    for direction in (-1, 1):
        lanes = (
            LaneOf(0, each.id, lane)
            for each in rows_of_table(loaded, "ops")
            if each.id.split("/")[1] == str(gpu)
            for lane in each.lanes
        )
        place = nearest(lanes, lambda names: names == code, origin, direction)
        found.append(None if place is None else place_link(view, "ops", place))
    return found[0], found[1]


def place_link(view: TraceView, table: str, place: Place) -> Link:
    """Where a place is, for the page."""
    return {
        "table": table,
        "row": place.number,
        "rowId": place.row_id,
        "start": place.start_ns - view.loaded.first_ns,
        "duration": place.duration_ns,
        "name": view.trace.strings[place.name],
    }
