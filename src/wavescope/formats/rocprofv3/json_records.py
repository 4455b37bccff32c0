"""The records of one process in a rocprofv3 JSON file, turned into rows block by block.

Columns are numbers and texts at a path, whatever the records hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from wavescope.arrays import Array
from wavescope.formats.rocprofv3.json_blocks import JsonBlocks
from wavescope.formats.rocprofv3.kinds import OWN_MEMBER, api_of_kind, copy_gpus, copy_type
from wavescope.formats.rocprofv3.own_export import MarkerFacts
from wavescope.formats.rocprofv3.rows import CounterRows, Rocprofv3Rows, looked_up
from wavescope.model.columns import UNKNOWN
from wavescope.model.op_kinds import KERNEL_TYPE

_CALL_SECTIONS = {
    "hip_api": True,
    "hsa_api": True,
    "rccl_api": True,
    "rocdecode_api": True,
    "rocjpeg_api": True,
    "host_api": True,
    "ompt": True,
    "memory_allocation": False,
    "scratch_memory": False,
}
"""Sections that hold host calls, and whether ops can be theirs."""

_COMMON_FIELDS = frozenset(
    {
        "size",
        "kind",
        "operation",
        "thread_id",
        "correlation_id",
        "start_timestamp",
        "end_timestamp",
        "stream_id",
        "retval",
    }
)
_LARGEST_CODE = (1 << 31) - 1
_MARK = "roctxMarkA"
_PLAIN_ARGUMENT = "text"
"""The only argument of calls whose arguments are plain text, as wavescope exports them."""
CounterReading = Callable[[Sequence[Any]], list[tuple[int, str, float]]]
"""What a dispatch counted: handles of counters, what their names get behind them, and values."""


def values(records: Sequence[Any], *path: str) -> list[Any]:
    """What lies at `path` in each record, None where a step of it is missing."""
    found: list[Any] = list(records)
    for name in path:
        found = _members(found, name)
    return found


_STATED = ("category", "domain")


def integers(records: Sequence[Any], *path: str) -> npt.NDArray[np.int64]:
    """The integers at `path`, -1 where there is none or it does not fit 64 bits."""
    found = values(records, *path)
    types = set(map(type, found))
    if types == {int}:
        try:
            return np.array(found, np.int64)
        except OverflowError:
            pass
    if int not in types:
        return np.full(len(found), UNKNOWN, np.int64)
    return np.fromiter((_integer(item) for item in found), np.int64, len(found))


def texts(records: Sequence[Any], *path: str) -> list[str]:
    """The strings at `path`, empty where there is none."""
    return [item if isinstance(item, str) else "" for item in values(records, *path)]


def _members(items: list[Any], name: str) -> list[Any]:
    try:
        return [item[name] for item in items]
    except (KeyError, TypeError, IndexError):
        return [item.get(name) if isinstance(item, dict) else None for item in items]


def _integer(item: Any) -> int:
    if type(item) is int and -(1 << 63) <= item < 1 << 63:
        return item
    return UNKNOWN


def _return_codes(records: Sequence[Any]) -> npt.NDArray[np.int64]:
    """What calls returned: a number, or in an object under the name of its type.

    What does not fit a code, such as the address of a registered binary, is none.
    """
    returned = values(records, "retval")
    found = [
        next(iter(each.values()), None) if isinstance(each, dict) else each for each in returned
    ]
    codes = np.fromiter(map(_integer, found), np.int64, len(found))
    return np.where(abs(codes) <= _LARGEST_CODE, codes, UNKNOWN)


class RecordReader:
    """Reads sections of records; the entry fills in what agents and kernels are called."""

    def __init__(self, rows: Rocprofv3Rows, process: int, counted: CounterReading) -> None:
        self._rows = rows
        self._process = process
        self._counted = counted
        self._strings = rows.builder.strings
        self.gpu_of_agent: dict[int, int] = {}
        self.counter_names: dict[int, str] = {}
        self.kernel_rows: dict[int, int] = {}
        self.kernel_names: dict[int, int] = {}
        self._kinds: list[tuple[str, list[Any]]] = []
        self._marker_texts: dict[int, int] = {}
        self._marker_facts = MarkerFacts(self._strings)
        self._stated_calls: dict[tuple[str, str], tuple[str, str]] = {}
        """Category and domain by kind and operation, in our own exports."""
        self._counters = CounterRows(rows, process)

    def set_operations(self, kinds: Any) -> None:
        """Take strings.buffer_records: what kinds and operations are called."""
        for item in kinds if isinstance(kinds, list) else []:
            operations = item.get("operations") if isinstance(item, dict) else None
            kind = item.get("kind") if isinstance(item, dict) else None
            self._kinds.append(
                (
                    kind if isinstance(kind, str) else "",
                    operations if isinstance(operations, list) else [],
                )
            )
            self._state_calls(
                *self._kinds[-1], item.get(OWN_MEMBER) if isinstance(item, dict) else None
            )

    def _state_calls(self, kind: str, operations: list[Any], stated: Any) -> None:
        """Take what an own export says calls were, in lists as long as that of operations."""
        for operation, call in zip(
            operations, stated if isinstance(stated, list) else [], strict=False
        ):
            if isinstance(operation, str) and isinstance(call, list) and len(call) == len(_STATED):
                category, domain = (each if isinstance(each, str) else "" for each in call)
                self._stated_calls[kind, operation] = category, domain

    def add_marker_texts(self, block: list[Any]) -> None:
        """Take some of strings.marker_api: texts by correlation id."""
        codes = self._strings.codes(texts(block, "value")).tolist()
        keys = integers(block, "key").tolist()
        self._marker_texts.update(zip(keys, codes, strict=True))
        self._marker_facts.add(keys, values(block, OWN_MEMBER))

    def read(self, section: str, cursor: JsonBlocks) -> None:
        """Read the array of records at the cursor."""
        for block in cursor.blocks():
            records = [record for record in block if isinstance(record, dict)]
            if not records:
                continue
            if section == "kernel_dispatch":
                self._kernels(records)
            elif section == "memory_copy":
                self._copies(records)
            elif section == "marker_api":
                self._markers(records)
            elif section == "counter_collection":
                self._counter_collection(records)
            elif section in _CALL_SECTIONS:
                self._calls(section, records)
            else:
                self._rows.builder.notes.add(f"{section} records, which are not read", len(records))

    def finish(self) -> None:
        """Give the counters to the ops they belong to."""
        self._counters.finish()

    def _common(self, records: list[Any]) -> dict[str, Array]:
        return {
            "start_ns": integers(records, "start_timestamp"),
            "end_ns": integers(records, "end_timestamp"),
            "thread": integers(records, "thread_id"),
            "correlation": integers(records, "correlation_id", "internal"),
        }

    def _kernels(self, records: list[Any]) -> None:
        columns = self._dispatch_columns(values(records, "dispatch_info"))
        columns.update(self._common(records), stream=integers(records, "stream_id", "handle"))
        ids, kept = self._rows.add_ops(self._process, columns)
        self._counters.add_dispatches(columns["sequence"][kept], ids)

    def _dispatch_columns(self, infos: list[Any]) -> dict[str, Array]:
        kernel_ids = integers(infos, "kernel_id")
        names = looked_up(kernel_ids, self.kernel_names)
        unnamed = names < 0
        if unnamed.any():
            self._rows.builder.notes.add(
                "ops of kernels that the file does not name", int(unnamed.sum())
            )
            names[unnamed] = self._strings.codes(
                [f"unknown kernel {number}" for number in kernel_ids[unnamed].tolist()]
            )
        gpus = looked_up(integers(infos, "agent_id", "handle"), self.gpu_of_agent, 0)
        queues = integers(infos, "queue_id", "handle")
        columns = {
            "gpu": gpus,
            "queue": self._rows.queues(self._process, gpus, queues),
            "sequence": integers(infos, "dispatch_id"),
            "name": names,
            "type": np.full(len(infos), self._strings.code(KERNEL_TYPE)),
            "kernel": looked_up(kernel_ids, self.kernel_rows),
            "lds_bytes": integers(infos, "group_segment_size"),
            "scratch_bytes": integers(infos, "private_segment_size"),
        }
        for axis in "xyz":
            # No launch has a size of zero: writers put it where they do not know.
            for column, field in (("grid", "grid_size"), ("workgroup", "workgroup_size")):
                sizes = integers(infos, field, axis)
                columns[f"{column}_{axis}"] = np.where(sizes > 0, sizes, -1)
        return columns

    def _copies(self, records: list[Any]) -> None:
        directions = self._operations("memory_copy", records)
        types = [copy_type(direction) for _, direction in directions]
        sources, targets = (
            looked_up(integers(records, field, "handle"), self.gpu_of_agent)
            for field in ("src_agent_id", "dst_agent_id")
        )
        stated = looked_up(integers(records, "agent_id", "handle"), self.gpu_of_agent)
        gpus = np.where(stated >= 0, stated, copy_gpus(types, sources, targets))
        self._rows.builder.notes.add(
            "copies of which no GPU is known, counted for GPU 0", int((gpus < 0).sum())
        )
        columns = {
            "gpu": np.maximum(gpus, 0),
            "queue": integers(records, "queue_id", "handle"),
            "name": self._strings.codes(texts(records, "name")),
            "type": self._strings.codes(types),
            "stream": integers(records, "stream_id", "handle"),
            "size_bytes": integers(records, "bytes"),
            "source_device": sources,
            "target_device": targets,
            **self._common(records),
        }
        self._rows.add_ops(self._process, columns)

    def _markers(self, records: list[Any]) -> None:
        operations = [operation for _, operation in self._operations("marker_api", records)]
        columns = self._common(records)
        keys = columns.pop("correlation")
        columns |= self._marker_facts.columns(keys, self._process, columns["thread"])
        names = looked_up(keys, self._marker_texts)
        silent = names < 0
        if silent.any():
            names[silent] = self._strings.codes(
                [operations[index] for index in np.flatnonzero(silent).tolist()]
            )
        is_mark = np.array([operation == _MARK for operation in operations])
        self._rows.add_markers(self._process, {**columns, "name": names}, is_mark)

    def _calls(self, section: str, records: list[Any]) -> None:
        operations = self._operations(section, records)
        stated = [
            self._stated_calls.get(each) or (each[0], api_of_kind(each[0])) for each in operations
        ]
        columns = {
            **self._common(records),
            "name": self._strings.codes([operation for _, operation in operations]),
            "category": self._strings.codes([category for category, _ in stated]),
            "domain": self._strings.codes([domain for _, domain in stated]),
            "stream": integers(records, "stream_id", "handle"),
            "return_code": _return_codes(records),
        }
        if not _COMMON_FIELDS.issuperset(set().union(*records)):
            columns["args"] = self._rows.builder.add_texts([_args(record) for record in records])
        causes_ops = _CALL_SECTIONS[section]
        self._rows.add_calls(self._process, columns, causes_ops=causes_ops)

    def _counter_collection(self, records: list[Any]) -> None:
        dispatches = values(records, "dispatch_data")
        columns = self._dispatch_columns(values(dispatches, "dispatch_info"))
        columns.update(
            self._common(dispatches),
            thread=integers(records, "thread_id"),
            stream=integers(records, "stream_id", "handle"),
        )
        self._counters.add_ops(columns)
        for record, dispatch in zip(records, columns["sequence"].tolist(), strict=True):
            given = record.get("records")
            counted = self._counted(given if isinstance(given, list) else [])
            names = [
                self.counter_names.get(handle, f"counter {handle}") + place
                for handle, place, _ in counted
            ]
            self._counters.add_values(dispatch, names, [value for _, _, value in counted])

    def _operations(self, section: str, records: list[Any]) -> list[tuple[str, str]]:
        """Kind and operation of each record as text."""
        known: dict[tuple[Any, Any], tuple[str, str]] = {}
        found = []
        for pair in zip(values(records, "kind"), values(records, "operation"), strict=True):
            key = pair if all(isinstance(part, (int, str)) for part in pair) else (-1, -1)
            if key not in known:
                known[key] = self._operation(section, *key)
            found.append(known[key])
        return found

    def _operation(self, section: str, kind: int | str, operation: int | str) -> tuple[str, str]:
        names: tuple[str, list[Any]] = (str(kind), [])
        if isinstance(kind, int):
            names = self._kinds[kind] if 0 <= kind < len(self._kinds) else (section.upper(), [])
        kind_name, operations = names
        if isinstance(operation, int):
            is_known = 0 <= operation < len(operations) and isinstance(operations[operation], str)
            operation = operations[operation] if is_known else f"{section} operation {operation}"
        return kind_name, operation


def _args(record: dict[str, Any]) -> bytes:
    """What a record holds beyond the fields that all have: a JSON object, or plain text."""
    rest: dict[str, Any] = {}
    for name, value in record.items():
        if name == "args":
            rest.update(_named_args(value))
        elif name not in _COMMON_FIELDS:
            is_handle = isinstance(value, dict) and set(value) == {"handle"}
            rest[name] = value["handle"] if is_handle else value
    if set(rest) == {_PLAIN_ARGUMENT} and isinstance(rest[_PLAIN_ARGUMENT], str):
        return str(rest[_PLAIN_ARGUMENT]).encode("utf-8", "replace")
    return orjson.dumps(rest) if rest else b""


def _named_args(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    named = {}
    for position, item in enumerate(value if isinstance(value, list) else []):
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            named[item["name"]] = item.get("value")
        else:
            named[f"arg{position}"] = item
    return named
