"""GPU work among Chrome trace events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.formats.chrome.categories import ROLES, WORK_ITEM_LAUNCHES, Role, op_type
from wavescope.formats.chrome.event_batch import GRID_IS_TEXT
from wavescope.formats.chrome.json_objects import json_object
from wavescope.formats.chrome.lanes import Writer
from wavescope.formats.chrome.links import KeyedLinks, Links
from wavescope.formats.chrome.reading import Reading
from wavescope.formats.chrome.rows import EventRows
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import KERNELS, LINKS, OPS, UNKNOWN
from wavescope.model.notes import NO_LAUNCH
from wavescope.model.op_kinds import KERNEL_TYPE, OpKind, kind_of_type
from wavescope.model.source import Batch
from wavescope.model.strings import StringTable

_WAITING_BYTES = 32 << 20
_LARGEST_GRID = 1 << 40
_LARGEST_BLOCK = 1 << 20
_INT32_LIMIT = 1 << 31
_AXES = ("x", "y", "z")


class OpRows:
    """Collects ops, and adds them to the trace once the calls that caused them are known.

    Until then `waiting` holds them, with the grid as written and, in the columns process and
    thread, the key code and number of the lane that the event lies on.
    """

    def __init__(self, path: Path, reading: Reading, links: KeyedLinks) -> None:
        self._reading = reading
        self._links = links
        self._types = _OpTypes(reading.builder.strings)
        self._kernels = _KernelSymbols(reading.builder)
        self.waiting = TraceBuilder(str(path), "", memory_limit_bytes=_WAITING_BYTES)
        self._in_work_items: list[Array] = []
        """Whether the grid of each op is written in work-items."""

    def close(self) -> None:
        self.waiting.close()

    def add(self, rows: EventRows, roles: npt.NDArray[np.int8]) -> range:
        """Ops whose numbers are in args or in the names of their lanes; the ids they got.

        `roles` are the rows'.
        """
        if not len(rows):
            return range(0)
        reading = self._reading
        numbers, texts = reading.numbers, reading.texts
        lanes = numbers if (roles == Role.OP).all() else _first_known(reading.gpus, numbers)
        names = texts.strings[rows["name"]]
        types = self._types.codes(
            texts.strings[rows["category"]], names, texts.strings[rows["kind"]]
        )
        by_lane = np.flatnonzero(roles == Role.BY_LANE)
        types[by_lane] = self._stated_types(rows.args[by_lane], names[by_lane])
        queues = (rows["stream"], rows["queue"])
        if reading.writer is Writer.WAVESCOPE:
            queues = queues[::-1]
        columns: dict[str, Array] = {
            "gpu": _as_gpu_numbers(_first_known(rows["device"], lanes[rows["process"]])),
            "queue": _first_known(*queues, numbers[rows["thread"]]),
            "name": _without_repeated_types(names, types),
            "type": types,
            "kernel": self._kernels.ids(names, rows["registers"]),
            "process": rows["process"],
            "thread": numbers[rows["thread"]],
            **_launch_columns(rows),
        }
        columns["start_ns"], columns["end_ns"] = reading.times(rows)
        ids = self.waiting.add(OPS, columns)
        self._links.add_ops(columns["correlation"], np.arange(ids.start, ids.stop))
        self._in_work_items.append((rows["flags"] & GRID_IS_TEXT) != 0)
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
        for batch in self.waiting.batches(OPS):
            ids = batch["id"]
            causes = links.of_ops(ids)
            is_linked = causes.call >= 0
            has_work_items = is_linked & np.isin(causes.name, launches) | work_items[ids - 1]
            taken_over = {
                "process": np.where(is_linked, causes.process, only_process),
                "thread": np.where(is_linked, causes.thread, UNKNOWN),
            }
            builder.add(OPS, batch | _grid_in_work_items(batch, has_work_items) | taken_over)
            builder.add(LINKS, {"call": causes.call[is_linked], "op": ids[is_linked]})
        total = builder.row_count(OPS)
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
