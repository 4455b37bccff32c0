"""GPU work of a rocpd file: dispatches, copies, counter values, and the calls that caused it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from wavescope.formats.rocpd.part import (
    COUNTER_NAMES,
    COUNTER_VALUES,
    DISPATCHES,
    KERNEL_SYMBOLS,
    MEMORY_COPIES,
    REGIONS,
    Part,
    text,
    whole,
)
from wavescope.formats.rocprofv3 import copy_type
from wavescope.formats.sqlite.lookup import ValueByKey
from wavescope.formats.sqlite.rows import Field, FieldKind, Given, Reading, kept
from wavescope.model.columns import CALLS, COUNTERS, KERNELS, OPS, UNKNOWN
from wavescope.model.op_kinds import KERNEL_TYPE

_DISPATCH_FIELDS = {
    "sequence": Field("dispatch_id", missing=0),
    "stream": Field("stream_id"),
    "lds_bytes": Field("group_segment_size"),
    "scratch_bytes": Field("private_segment_size"),
    "graph": Field("graph_exec_id"),
    "graph_node": Field("graph_node_id"),
    **{f"grid_{axis}": Field(f"grid_size_{axis}") for axis in "xyz"},
    **{f"workgroup_{axis}": Field(f"workgroup_size_{axis}") for axis in "xyz"},
}
_COPY_FIELDS = {"stream": Field("stream_id"), "size_bytes": Field("size")}
_NO_GPU = "ran on an agent that the file does not describe as a GPU"
_CALLS_PER_PASS = 4_000_000


def read_dispatches(part: Part, reading: Reading) -> Iterator[Given]:
    """The kernels that a process ran."""
    strings = part.source.strings
    fields = _wanted(_DISPATCH_FIELDS, reading) | _shared_fields(reading)
    if reading.wants("gpu"):
        fields["agent"] = Field("agent_id")
    if reading.wants("name", "kernel"):
        fields["symbol"] = Field("kernel_id")
    for given in part.read(DISPATCHES, fields, reading):
        _resolve_shared(part, given, DISPATCHES)
        if "agent" in given:
            given["gpu"] = part.gpus.find(given["agent"])
            reading.tally[_NO_GPU] += int((given["gpu"] == UNKNOWN).sum())
        if "symbol" in given:
            given["name"] = part.kernel_names.find(given["symbol"])
            given["kernel"] = shifted(given["symbol"], part.first_id[KERNELS.name, KERNEL_SYMBOLS])
            unnamed = int((given["name"] == UNKNOWN).sum())
            reading.tally["name a kernel that is not in the file: shown as empty"] += unnamed
        given["type"] = np.full(len(given["id"]), strings.code(KERNEL_TYPE))
        yield given


def read_copies(part: Part, reading: Reading) -> Iterator[Given]:
    """The memory copies that a process made; a copy counts for the GPU it writes to, if any."""
    fields = _wanted(_COPY_FIELDS, reading) | _shared_fields(reading)
    if reading.wants("gpu", "source_device", "target_device"):
        fields |= {"from": Field("src_agent_id"), "to": Field("dst_agent_id")}
    if reading.wants("type"):
        fields["direction"] = Field("name_id", FieldKind.STRING_ID)
    types = ValueByKey.of({})
    for given in part.read(MEMORY_COPIES, fields, reading):
        _resolve_shared(part, given, MEMORY_COPIES)
        given["name"] = np.full(len(given["id"]), part.source.strings.code(""))
        if "from" in given:
            given["source_device"] = part.gpus.find(given["from"])
            given["target_device"] = target = part.gpus.find(given["to"])
            given["gpu"] = np.where(target == UNKNOWN, given["source_device"], target)
        if "direction" in given:
            types = _with_copy_types(part, types, given["direction"])
            given["type"] = types.find(given["direction"].astype(np.int64))
        yield given


def read_counters(part: Part, reading: Reading) -> Iterator[Given]:
    """Counter values by op and counter, summed over the parts of the GPU that counted."""
    source = part.source
    table = part.table(COUNTER_VALUES)
    if not source.largest_id(table):
        return
    op_of_event = _op_of_event(part)
    names = ValueByKey.of(
        {
            whole(own_id): source.strings.code(text(name))
            for own_id, name in part.rows(COUNTER_NAMES, "id", "name")
        }
    )
    fields = {
        "event": Field("event_id"),
        "counter": Field("pmc_id"),
        "value": Field("value", FieldKind.REAL, float("nan")),
    }
    rest: Given = {}
    for given in source.read_rows(table, fields, reading):
        found = {
            "op": op_of_event.find(given["event"]),
            "name": names.find(given["counter"]),
            "value": given["value"],
        }
        is_known = found["op"] != UNKNOWN
        reading.tally["belong to no kernel in the file: skipped"] += int((~is_known).sum())
        values = _summed(_appended(rest, kept(found, is_known)))
        # The next rows may add to the last op of these.
        is_done = values["op"] != (values["op"][-1] if len(values["op"]) else UNKNOWN)
        yield {name: array[is_done] for name, array in values.items()}
        rest = {name: array[~is_done] for name, array in values.items()}
    if rest:
        yield rest


def shifted(ids: npt.NDArray[np.int64], first_id: int) -> npt.NDArray[np.int64]:
    """Ids of one process as ids of the trace; unknown ones stay unknown."""
    return np.where(ids == UNKNOWN, UNKNOWN, ids + first_id)


def _wanted(fields: dict[str, Field], reading: Reading) -> dict[str, Field]:
    return {name: field for name, field in fields.items() if reading.wants(name)}


def _shared_fields(reading: Reading) -> dict[str, Field]:
    """What both kinds of ops need to find their process, thread and correlation."""
    fields = {
        "process": Field("pid"),
        "thread": Field("tid"),
        "queue": Field("queue_id"),
        "correlation": Field("event_id"),
    }
    return _wanted(fields, reading)


def _resolve_shared(part: Part, given: Given, table: str) -> None:
    """Replaces ids of the file by what they stand for in the trace."""
    given["id"] = given["id"] + part.first_id[OPS.name, table]
    if "process" in given:
        given["process"] = part.process_numbers.find(given["process"])
    if "thread" in given:
        given["thread"] = part.threads.find(given["thread"])
    if "queue" in given:
        given["queue"] = shifted(given["queue"], part.first_queue)
    if "correlation" in given:
        given["correlation"] = part.event_values(given["correlation"], "stack_id")


def _with_copy_types(
    part: Part, types: ValueByKey, directions: npt.NDArray[np.int32]
) -> ValueByKey:
    """`types` with the op type of every direction's code."""
    strings = part.source.strings
    known = dict(zip(types.keys.tolist(), types.values.tolist(), strict=True))
    for code in np.unique(directions).tolist():
        if code not in known:
            known[code] = strings.code(copy_type(strings[code]))
    return ValueByKey.of(known)


def _op_of_event(part: Part) -> ValueByKey:
    """The op id of each dispatch by its event."""
    events, ops = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for given in part.read(DISPATCHES, {"event": Field("event_id")}, Reading()):
        has_event = given["event"] != UNKNOWN
        events.append(given["event"][has_event])
        ops.append(given["id"][has_event] + part.first_id[OPS.name, DISPATCHES])
    return ValueByKey(np.concatenate(events), np.concatenate(ops))


def _appended(rest: Given, found: Given) -> Given:
    if not rest:
        return found
    return {name: np.concatenate((rest[name], found[name])) for name in found}


def _summed(found: Given) -> Given:
    """One row per op and counter, in op order."""
    if not len(found["op"]):
        return found
    order = np.lexsort((found["name"], found["op"]))
    op, name, value = (found[column][order] for column in COUNTERS.column_names)
    is_first = np.append(True, (op[1:] != op[:-1]) | (name[1:] != name[:-1]))
    starts = np.flatnonzero(is_first)
    return {"op": op[starts], "name": name[starts], "value": np.add.reduceat(value, starts)}


def read_links(part: Part, reading: Reading) -> Iterator[Given]:
    """Pairs of call and op; calls too many to be held at once are taken in several passes."""
    call_count = min(part.source.largest_id(part.table(REGIONS)), part.source.most_rows)
    passes = call_count // _CALLS_PER_PASS + 1
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
