"""Chrome trace events as rows of a trace: GPU work, host calls and markers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.coded_columns import different_values
from wavescope.formats.chrome.categories import ROLES, WORK_ITEM_LAUNCHES, Role, op_type
from wavescope.formats.chrome.event_batch import GRID_IS_TEXT, EventRows, json_object, whole_number
from wavescope.formats.chrome.links import ExternalIds, KeyedLinks, Links, OpCauses
from wavescope.formats.chrome.processes import Reading, Writer
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import CALLS, KERNELS, LINKS, MARKERS, OPS, UNKNOWN
from wavescope.model.op_kinds import KERNEL_TYPE, MARKER_TYPE, OpKind, kind_of_type
from wavescope.model.progress import NO_LAUNCH
from wavescope.model.source import Batch
from wavescope.model.strings import StringTable

_WAITING_BYTES = 32 << 20
_LARGEST_GRID = 1 << 40
_LARGEST_BLOCK = 1 << 20
_INT32_LIMIT = 1 << 31
_AXES = ("x", "y", "z")
_UNSTATED_CATEGORY = "call"
"""What our own exporter writes for calls without a category."""


class OpRows:
    """Collects ops, and adds them to the trace once the calls that caused them are known.

    Until then `waiting` holds them, with the grid as written and, in the columns process and
    thread, the key code and number of the track that the event lies on.
    """

    def __init__(
        self, path: Path, reading: Reading, links: KeyedLinks, external_ids: ExternalIds
    ) -> None:
        self._reading = reading
        self._links = links
        self._external_ids = external_ids
        self._types = _OpTypes(reading.builder.strings)
        self._kernels = _KernelSymbols(reading.builder)
        self.waiting = TraceBuilder(str(path), "", memory_limit_bytes=_WAITING_BYTES)
        self._in_work_items: list[Array] = []
        """Whether the grid of each op is written in work-items."""
        self._submitters: list[Array] = []
        """Process and thread that submitted each op, of our own exports."""

    def close(self) -> None:
        self.waiting.close()

    def add(self, rows: EventRows, roles: npt.NDArray[np.int8]) -> range:
        """Ops whose numbers are in args or in the names of their processes; the ids they got.

        `roles` are the rows'.
        """
        if not len(rows):
            return range(0)
        reading = self._reading
        numbers, texts = reading.numbers, reading.texts
        named = numbers if (roles == Role.OP).all() else _first_known(reading.gpus, numbers)
        names = texts.strings[rows["name"]]
        types = self._types.codes(
            texts.strings[rows["category"]], names, texts.strings[rows["kind"]]
        )
        by_process = np.flatnonzero(roles == Role.BY_PROCESS)
        types[by_process] = self._stated_types(rows.args[by_process], names[by_process])
        queues = (rows["stream"], rows["queue"])
        if reading.writer is Writer.WAVESCOPE:
            queues = queues[::-1]
        columns: dict[str, Array] = {
            "gpu": _as_gpu_numbers(_first_known(rows["device"], named[rows["process"]])),
            "queue": _first_known(*queues, numbers[rows["thread"]]),
            "name": _without_repeated_types(names, types),
            "type": types,
            "kernel": self._kernels.ids(names, rows["registers"]),
            "process": rows["process"],
            "thread": numbers[rows["thread"]],
            **_launch_columns(rows),
        }
        in_work_items = (rows["flags"] & GRID_IS_TEXT) != 0
        if reading.own is not None:
            columns |= reading.own.op_columns(rows)
            self._submitters.append(reading.own.submitters(rows))
            columns |= reading.own.op_names(rows, texts, names, types)
        if reading.xla is not None:
            columns |= reading.xla.op_columns(rows, names)
            columns["stream"] = columns["queue"]
            in_work_items[:] = True
        columns["start_ns"], columns["end_ns"] = reading.times(rows)
        ids = self.waiting.add(OPS, columns)
        self._links.add_ops(columns["correlation"], np.arange(ids.start, ids.stop))
        self._external_ids.add_ops(rows, ids)
        self._in_work_items.append(in_work_items)
        return ids

    def _stated_types(self, args: npt.NDArray[np.int64], names: Array) -> npt.NDArray[np.int32]:
        """Types of ops without an op's category: rpd2tracing writes them as args.desc."""
        strings = self._reading.builder.strings
        types = [
            _type_among(json_object(text).get("desc"), strings[int(name)])
            for text, name in zip(self._reading.builder.texts(args), names, strict=True)
        ]
        return strings.codes(types)

    def add_linked(self, links: Links) -> None:
        """Add all ops to the trace, with what their calls tell of them, and the links."""
        builder = self._reading.builder
        launches = np.array([builder.strings.find(name) for name in WORK_ITEM_LAUNCHES])
        only_process = 0 if len(self._reading.processes.codes) <= 1 else UNKNOWN
        work_items = np.concatenate([np.empty(0, np.bool_), *self._in_work_items])
        submitters = np.concatenate([np.empty((2, 0), np.int64), *self._submitters], axis=1)
        for batch in self.waiting.batches(OPS):
            ids = batch["id"]
            causes = links.of_ops(ids)
            is_linked = causes.call >= 0
            has_work_items = is_linked & np.isin(causes.name, launches) | work_items[ids - 1]
            taken_over = {
                "process": np.where(is_linked, causes.process, only_process),
                "thread": np.where(is_linked, causes.thread, UNKNOWN),
            }
            if self._reading.own is not None:
                taken_over = dict(zip(("process", "thread"), submitters[:, ids - 1], strict=True))
            builder.add(OPS, batch | _grid_in_work_items(batch, has_work_items) | taken_over)
            builder.add(LINKS, {"call": causes.call[is_linked], "op": ids[is_linked]})
        total = builder.row_count(OPS)
        if self._reading.own is None:
            builder.notes.add(f"ops (of {total}) {NO_LAUNCH}", total - len(links))


class _OpTypes:
    """Op types told by category, name and kind; all are codes of the trace's strings."""

    def __init__(self, strings: StringTable) -> None:
        self._strings = strings
        self._codes: dict[tuple[int, int, int], int] = {}

    def codes(self, category: Array, name: Array, kind: Array) -> npt.NDArray[np.int32]:
        """The type code of each op."""
        kernels = [self._strings.find(text) for text in ("kernel", "Kernel", KERNEL_TYPE)]
        types = np.full(len(category), self._strings.code(KERNEL_TYPE), np.int32)
        for row in np.flatnonzero(~np.isin(category, kernels)).tolist():
            types[row] = self._code(int(category[row]), int(name[row]), int(kind[row]))
        return types

    def _code(self, category: int, name: int, kind: int) -> int:
        key = (category, name, kind)
        if key not in self._codes:
            texts = (self._strings[code] for code in key)
            self._codes[key] = self._strings.code(op_type(*texts))
        return self._codes[key]


class _KernelSymbols:
    """Rows of the kernels table: one per name and register count that launches state."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self._ids: dict[tuple[int, int], int] = {}

    def ids(self, name: Array, registers: Array) -> npt.NDArray[np.int64]:
        """The kernel of each op, UNKNOWN where the launch does not state registers."""
        ids = np.full(len(name), UNKNOWN, np.int64)
        known = np.flatnonzero((registers >= 0) & (registers < _INT32_LIMIT) & (name >= 0))
        packed = name[known].astype(np.int64) << 32 | registers[known]
        distinct, inverse = np.unique(packed, return_inverse=True)
        numbers = [self._id(int(each) >> 32, int(each) & 0xFFFFFFFF) for each in distinct]
        if numbers:
            ids[known] = np.array(numbers, np.int64)[inverse.reshape(-1)]
        return ids

    def _id(self, name: int, registers: int) -> int:
        key = (name, registers)
        if key not in self._ids:
            row = {"process": 0, "name": name, "vgprs": registers}
            columns = {column: np.array([value]) for column, value in row.items()}
            self._ids[key] = self._builder.add(KERNELS, columns).start
        return self._ids[key]


def _launch_columns(rows: EventRows) -> dict[str, Array]:
    """What args state of a launch or copy, the grid as it is written."""
    columns: dict[str, Array] = {
        "stream": rows["stream"],
        "correlation": rows["correlation"],
        "lds_bytes": rows["shared_memory"],
        "size_bytes": rows["bytes"],
        "graph": rows["graph_id"],
        "graph_node": rows["graph_node_id"],
    }
    for axis in _AXES:
        grid, block = rows[f"grid_{axis}"], rows[f"block_{axis}"]
        usable = (grid >= 0) & (block >= 0) & (grid < _LARGEST_GRID) & (block < _LARGEST_BLOCK)
        columns[f"grid_{axis}"] = np.where(usable, grid, UNKNOWN)
        columns[f"workgroup_{axis}"] = np.where(usable, block, UNKNOWN)
    return columns


def _grid_in_work_items(ops: Batch, has_work_items: npt.NDArray[np.bool_]) -> dict[str, Array]:
    """Columns grid_x to grid_z: blocks times block size unless they are in work-items already."""
    columns: dict[str, Array] = {}
    for axis in _AXES:
        grid, block = ops[f"grid_{axis}"], ops[f"workgroup_{axis}"]
        columns[f"grid_{axis}"] = np.where(has_work_items | (grid < 0), grid, grid * block)
    return columns


def _first_known(*choices: Array) -> Array:
    """Per row the first of `choices` that is not UNKNOWN."""
    result = choices[-1]
    for choice in reversed(choices[:-1]):
        result = np.where(choice != UNKNOWN, choice, result)
    return result


def _as_gpu_numbers(numbers: Array) -> npt.NDArray[np.int32]:
    """GPU numbers that fit the column; anything else is UNKNOWN."""
    fits = (numbers >= 0) & (numbers < _INT32_LIMIT)
    return np.where(fits, numbers, UNKNOWN).astype(np.int32)


def _without_repeated_types(names: Array, types: Array) -> Array:
    """Names, but none where exports show the type for want of a name."""
    return np.where(names == types, UNKNOWN, names)


def _type_among(description: object, name: str) -> str:
    if ROLES.get(name) is Role.TYPED_OP:
        return name
    if isinstance(description, str) and kind_of_type(description) is not OpKind.OTHER:
        return description
    return KERNEL_TYPE


class HostRows:
    """Adds calls and markers to the trace that is being built."""

    def __init__(self, reading: Reading, links: KeyedLinks, external_ids: ExternalIds) -> None:
        self._reading = reading
        self._links = links
        self._external_ids = external_ids
        self._launching: set[int] = set()

    @property
    def launching_process_count(self) -> int:
        """How many processes have calls that can launch ops."""
        return len(self._launching)

    def add_calls(self, rows: EventRows) -> range:
        """Events as calls with their args; the ids they got."""
        if not len(rows):
            return range(0)
        reading, texts = self._reading, self._reading.texts
        category, numbers = rows["category"], reading.numbers
        launching = texts.roles[category] == Role.LAUNCH_CALL
        correlation = rows["correlation"]
        if reading.xla is not None:
            correlation = reading.xla.correlations(rows)
        start_ns, end_ns = reading.times(rows)
        columns: dict[str, Array] = {
            "pid": numbers[rows["process"]],
            "thread": numbers[rows["thread"]],
            "start_ns": start_ns,
            "end_ns": end_ns,
            "name": texts.strings[rows["name"]],
            "category": texts.strings[category],
            "domain": np.where(launching, texts.domains[rows["name"]], UNKNOWN),
            "args": rows.args,
            "process": reading.processes.ids(reading.tables.keys, rows["process"]),
            "correlation": correlation,
            "stream": rows["stream"],
        }
        if reading.writer is Writer.WAVESCOPE:
            columns |= self._as_before_export(columns["category"], rows.args)
        if reading.own is not None:
            columns |= reading.own.host_columns(rows, texts)
            columns["pid"] = reading.own.pids(rows)
        ids = reading.builder.add(CALLS, columns)
        numbered = np.arange(ids.start, ids.stop, dtype=np.int32)
        causes = OpCauses(numbered, *(rows[name] for name in ("name", "process", "thread")))
        self._links.add_calls(correlation, texts.preferences[category], causes)
        self._external_ids.add_launches(rows, launching, ids)
        self._launching.update(different_values(columns["process"][launching]).tolist())
        return ids

    def _as_before_export(
        self, category: npt.NDArray[np.int32], args: npt.NDArray[np.int64]
    ) -> dict[str, Array]:
        """Category, domain and args as they were in the trace that our exporter wrote."""
        builder = self._reading.builder
        strings = builder.strings
        domains: list[int] = []
        texts: list[bytes] = []
        returned: list[int] = []
        for each in map(json_object, builder.texts(args)):
            domain = str(each.get("domain", ""))
            domains.append(strings.code(domain) if domain else UNKNOWN)
            texts.append(str(each.get("args", "")).encode("utf-8", "replace"))
            returned.append(whole_number(each.get("return_code")))
        unstated = category == strings.find(_UNSTATED_CATEGORY)
        return {
            "category": np.where(unstated, UNKNOWN, category),
            "domain": np.array(domains, np.int32),
            "args": builder.add_texts(texts),
            "return_code": np.array(returned, np.int64),
        }

    def add_steps(self, rows: EventRows, numbers: Sequence[str]) -> EventRows:
        """Those rows that have the number of a step as markers; the other rows."""
        is_step = np.array(list(map(bool, numbers)), np.bool_)
        steps, strings = rows.where(is_step), self._reading.builder.strings
        names = strings.decode(self._reading.texts.strings[steps["name"]])
        numbered = zip(names, filter(None, numbers), strict=True)
        self.add_markers(steps, 0, strings.codes([" ".join(each) for each in numbered]))
        return rows.where(~is_step)

    def add_markers(
        self, rows: EventRows, flags: int, names: npt.NDArray[np.int32] | None = None
    ) -> None:
        """Events as markers, all with the given flags, by their own names or by others."""
        if not len(rows):
            return
        reading, texts = self._reading, self._reading.texts
        # A marker drawn over GPU work is on a stream, not on a thread.
        on_gpu = texts.roles[rows["category"]] == Role.GPU_MARKER
        host_process = np.where(on_gpu, UNKNOWN, rows["process"]).astype(np.int32)
        process = reading.processes.ids(reading.tables.keys, host_process)
        start_ns, end_ns = reading.times(rows)
        columns: dict[str, Array] = {
            "start_ns": start_ns,
            "end_ns": end_ns,
            "name": texts.strings[rows["name"]] if names is None else names,
            "type": np.full(len(rows), reading.builder.strings.code(MARKER_TYPE), np.int32),
            "category": texts.strings[rows["category"]],
            "process": np.where(on_gpu, 0, process),
            "thread": np.where(on_gpu, UNKNOWN, reading.numbers[rows["thread"]]),
            "flags": np.full(len(rows), flags, np.int32),
        }
        if reading.own is not None:
            columns |= reading.own.host_columns(rows, texts)
            columns |= reading.own.marker_columns(columns["flags"], rows.args)
            reading.own.markers.add(columns, rows["marker"])
        else:
            reading.builder.add(MARKERS, columns)

    def finish(self) -> None:
        """Add what waited for all others."""
        if self._reading.own is not None:
            self._reading.own.markers.finish()
