"""Call records as rows: the calls themselves, and the arguments of those that launch or copy."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import orjson

from wavescope.arrays import Array
from wavescope.formats.session.layout import CALL_KIND
from wavescope.formats.session.reading.facts import Fact, text, words
from wavescope.formats.session.reading.op_rows import LARGEST_TIME
from wavescope.formats.session.reading.process import ProcessChunks, Window
from wavescope.formats.session.record_file import Block, Records, is_unreturned
from wavescope.model.columns import CALLS, COPIES, LAUNCHES, UNKNOWN, Table
from wavescope.model.progress import Notes
from wavescope.model.source import Batch, full_batch
from wavescope.model.strings import StringTable
from wavescope.names.demangle import demangle

_SIZE_MASK = (1 << 21) - 1
_BLOCK_BITS = 21


class ArgumentKind(enum.Enum):
    """How a stored argument is spelled."""

    NUMBER = "number"
    ADDRESS = "address"
    TEXT = "text"
    SIZES = "xyz"
    """Three sizes of 21 bits each."""

    def spelled(self, value: int, text_of: Callable[[int], str]) -> str | int:
        """The argument as JSON can hold it."""
        if self is ArgumentKind.ADDRESS:
            return f"{value:#x}"
        if self is ArgumentKind.TEXT:
            return text_of(value)
        if self is ArgumentKind.SIZES:
            return ",".join(str(value >> shift & _SIZE_MASK) for shift in (0, 21, 42))
        return value if value < 1 << 63 else value - (1 << 64)


@dataclass(frozen=True)
class Argument:
    """One kept argument."""

    name: str
    kind: ArgumentKind


@dataclass(frozen=True)
class CallFunction:
    """A function that is recorded: its group (launch, copy, ...) and kept arguments."""

    name: str
    kind: str
    arguments: tuple[Argument, ...]
    domain: str = "HIP"
    category: str = "hip_runtime"

    @property
    def launches_kernel(self) -> bool:
        """Whether it launches one kernel that it names."""
        return self.kind == "launch" and any(a.name == "kernel" for a in self.arguments)

    @property
    def graph_place(self) -> int | None:
        """Where a function that launches a graph keeps which one."""
        names = [argument.name for argument in self.arguments]
        return names.index("graph") if self.kind == "launch" and "graph" in names else None

    @property
    def is_asynchronous(self) -> bool:
        """Whether a copy returns before it is done, as far as its name tells."""
        return "Async" in self.name


_UNKNOWN_FUNCTION = CallFunction("(unknown function)", "", ())


def call_functions(facts: Mapping[int, Fact]) -> dict[int, CallFunction]:
    """The functions of a process by their index."""
    return {
        index: CallFunction(
            text(fact, "name") or f"function {index}",
            text(fact, "kind"),
            tuple(_argument(word) for word in words(fact, "arguments")[:6]),
            text(fact, "domain") or _UNKNOWN_FUNCTION.domain,
            text(fact, "category") or _UNKNOWN_FUNCTION.category,
        )
        for index, fact in facts.items()
        if index < 1 << 16
    }


def _argument(word: str) -> Argument:
    """`name` is a number, `name:kind` says what else it is."""
    name, _, kind = word.partition(":")
    known = {choice.value: choice for choice in ArgumentKind}
    return Argument(name, known.get(kind, ArgumentKind.NUMBER))


@dataclass(frozen=True)
class CallSurvey:
    """What a pass over the calls of one process found."""

    last_event_ns: int
    open_count: int
    linked_count: int
    """Calls that ops may refer to."""


def is_whole(records: Records) -> Array:
    """Which records can be rows."""
    is_possible = (records["start"] <= LARGEST_TIME) & (records["end"] <= LARGEST_TIME)
    kept: Array = (records["kind"] == CALL_KIND) & is_possible
    return kept


def counted(records: Records, window: Window | None) -> Array:
    """Which records are rows."""
    kept = is_whole(records)
    return kept if window is None else kept & window.overlapping(records, is_unreturned(records))


def survey_calls(process: ProcessChunks, notes: Notes) -> CallSurvey:
    """Read all call records of `process` once."""
    last_event_ns, open_count, linked_count, left_out = -1, 0, 0, 0
    for block in process.calls.blocks() if process.calls else ():
        whole = is_whole(block.records)
        left_out += int((~whole).sum())
        if process.window is not None:
            early = process.window.over_before(block.records, is_unreturned(block.records))
            process.note_fallen_out("calls", int((whole & early).sum()))
        records = block.records[counted(block.records, process.window)]
        open_count += int(is_unreturned(records).sum())
        linked_count += int((records["correlation"] > 0).sum())
        for member in ("start", "end"):
            last_event_ns = max(last_event_ns, int(records[member].max(initial=0)) or -1)
    notes.add("calls of an unknown kind or with impossible times, left out", left_out)
    notes.add("calls that had not returned when recording ended: ended there", open_count)
    return CallSurvey(last_event_ns, open_count, linked_count)


@dataclass
class CallRows:
    """Makes call rows of one process's records."""

    process_index: int
    process: ProcessChunks
    strings: StringTable
    first_id: int
    """Id of the record at place 0; ids are also the handles of the arguments' text."""
    last_event_ns: int

    def __post_init__(self) -> None:
        self._functions = call_functions(self.process.facts.functions)
        largest = max(self._functions, default=-1)
        by_index = [*map(self._function, range(largest + 1)), _UNKNOWN_FUNCTION]
        self._name_codes = self.strings.codes([function.name for function in by_index])
        self._domains = self.strings.codes([function.domain for function in by_index])
        self._categories = self.strings.codes([function.category for function in by_index])

    def _function(self, index: int) -> CallFunction:
        return self._functions.get(index, _UNKNOWN_FUNCTION)

    def blocks(self, rows: int) -> Iterator[Block]:
        """The records that are rows, in file order."""
        for block in self.process.calls.blocks(rows) if self.process.calls else ():
            keep = counted(block.records, self.process.window)
            if keep.any():
                yield Block(block.places[keep], block.records[keep])

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Batch]:
        """The calls in file order."""
        for block in self.blocks(rows):
            yield full_batch(CALLS, self._columns(block), columns)

    def _columns(self, block: Block) -> dict[str, Array]:
        records = block.records
        ids = block.places + self.first_id
        starts = records["start"].astype(np.int64)
        is_open = is_unreturned(records)
        ends = np.where(is_open, self.last_event_ns, records["end"].astype(np.int64))
        # A damaged session may name more functions than a record can tell apart.
        functions = np.minimum(records["function"].astype(np.int64), len(self._name_codes) - 1)
        with_arguments = np.array(
            [bool(self._function(i).arguments) for i in range(len(self._name_codes))]
        )
        count = len(records)
        return {
            "id": ids,
            "pid": np.full(count, self.process.pid),
            "thread": records["thread"].astype(np.int64),
            "start_ns": starts,
            "end_ns": np.maximum(starts, ends),
            "name": self._name_codes[functions],
            "category": self._categories[functions],
            "domain": self._domains[functions],
            "args": np.where(with_arguments[functions], ids, UNKNOWN),
            "process": np.full(count, self.process_index),
            "correlation": _signed(records["correlation"]),
            "stream": _signed(records["stream"]),
            "return_code": np.where(is_open, UNKNOWN, records["result"].astype(np.int64)),
        }

    def streams(self, records: Records) -> Array:
        """The stream that each call was given."""
        return _signed(records["stream"])

    def graphs(self, records: Records) -> Array:
        """The executable graph that each call launches, UNKNOWN for other calls."""
        found = np.full(len(records), UNKNOWN, np.int64)
        for index, function in self._functions.items():
            if (place := function.graph_place) is not None:
                mine = records["function"] == index
                found[mine] = _signed(records["arguments"][mine, place])
        return found

    def argument_texts(self, ids: npt.NDArray[np.int64]) -> list[str]:
        """The arguments of calls by row id, as JSON."""
        if self.process.calls is None:
            return [""] * len(ids)
        records = self.process.calls.records_at(ids - self.first_id)
        functions = records["function"].tolist()
        values = records["arguments"].tolist()
        return [
            self._spelled(self._function(function), arguments)
            for function, arguments in zip(functions, values, strict=True)
        ]

    def _spelled(self, function: CallFunction, values: Sequence[int]) -> str:
        given = {
            argument.name: argument.kind.spelled(value, self.process.texts.text)
            for argument, value in zip(function.arguments, values, strict=False)
        }
        return orjson.dumps(given).decode() if given else ""

    def launches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Batch]:
        """Arguments of the calls that launch kernels."""
        chosen = {i: f for i, f in self._functions.items() if f.launches_kernel}
        return self._details(LAUNCHES, chosen, self._launch_columns, columns, rows)

    def copies(self, columns: Sequence[str] | None, rows: int) -> Iterator[Batch]:
        """Arguments of the calls that copy memory."""
        chosen = {i: f for i, f in self._functions.items() if f.kind == "copy"}
        return self._details(COPIES, chosen, self._copy_columns, columns, rows)

    def _details(
        self,
        table: Table,
        chosen: Mapping[int, CallFunction],
        make: Callable[[CallFunction, Records], dict[str, Array]],
        columns: Sequence[str] | None,
        rows: int,
    ) -> Iterator[Batch]:
        """Rows of a side table, one for each call of a chosen function."""
        indexes = np.array(sorted(chosen), np.int64)
        for block in self.blocks(rows) if chosen else ():
            mine = np.isin(block.records["function"], indexes)
            if mine.any():
                records = block.records[mine]
                given = _scattered(table, chosen, records, make)
                given["call"] = block.places[mine] + self.first_id
                given["stream"] = _signed(records["stream"])
                yield full_batch(table, given, columns)

    def _launch_columns(self, function: CallFunction, records: Records) -> dict[str, Array]:
        given: dict[str, Array] = {}
        for place, argument in enumerate(function.arguments):
            values = records["arguments"][:, place]
            if argument.name == "kernel":
                given["name"] = self._demangled(self.process.texts.codes(values))
            elif argument.name == "block":
                for axis, letter in enumerate("xyz"):
                    part = (values >> np.uint64(_BLOCK_BITS * axis)) & np.uint64(0x1FFFFF)
                    given[f"workgroup_{letter}"] = part.astype(np.int64)
            elif argument.name in _LAUNCH_COLUMNS:
                given[_LAUNCH_COLUMNS[argument.name]] = _signed(values)
        return given

    def _copy_columns(self, function: CallFunction, records: Records) -> dict[str, Array]:
        given: dict[str, Array] = {
            _COPY_COLUMNS[argument.name]: _signed(records["arguments"][:, place])
            for place, argument in enumerate(function.arguments)
            if argument.name in _COPY_COLUMNS
        }
        given["synchronous"] = np.full(len(records), int(not function.is_asynchronous))
        return given

    def _demangled(self, codes: Array) -> Array:
        distinct, places = np.unique(codes, return_inverse=True)
        names = [demangle(self.strings[code]) for code in distinct.tolist()]
        return self.strings.codes(names)[places]


_LAUNCH_COLUMNS = {
    "grid_x": "grid_x",
    "grid_y": "grid_y",
    "grid_z": "grid_z",
    "shared_bytes": "lds_bytes",
}
_COPY_COLUMNS = {
    "bytes": "size_bytes",
    "width": "width",
    "height": "height",
    "kind": "kind",
    "dst": "target",
    "src": "source",
    "dst_device": "target_device",
    "src_device": "source_device",
}


def _scattered(
    table: Table,
    functions: Mapping[int, CallFunction],
    records: Records,
    make: Callable[[CallFunction, Records], dict[str, Array]],
) -> dict[str, Array]:
    """Columns made function by function, in the order of the records."""
    result: dict[str, Array] = {}
    for index in np.unique(records["function"]).tolist():
        mask = records["function"] == index
        for name, values in make(functions[index], records[mask]).items():
            if name not in result:
                result[name] = np.full(len(records), UNKNOWN, table.column(name).type.dtype)
            result[name][mask] = values
    return result


def _signed(values: Array) -> Array:
    """Unsigned values as int64; what does not fit keeps its bits, as rocpd's own files do."""
    return values.astype(np.int64)
