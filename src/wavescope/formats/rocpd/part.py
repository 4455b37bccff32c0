"""One recorded process of a rocpd file: the tables that share a suffix, and what their ids mean.

GPUs are numbered so that one number is one GPU in all processes of the file.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from wavescope.formats.rocprofv3 import shown_kernel_name
from wavescope.formats.sqlite.lookup import StringCodes, ValueByKey, ValuesByRowid
from wavescope.formats.sqlite.rows import Field, ForeignSqliteSource, Given, Reading
from wavescope.formats.sqlite.sqlite_columns import ColumnKind, ColumnRequest, open_cursor
from wavescope.model.columns import UNKNOWN

DISPATCHES, MEMORY_COPIES = "rocpd_kernel_dispatch", "rocpd_memory_copy"
REGIONS, SAMPLES, ALLOCATIONS = "rocpd_region", "rocpd_sample", "rocpd_memory_allocate"
EVENTS, ARGUMENTS, COUNTER_VALUES = "rocpd_event", "rocpd_arg", "rocpd_pmc_event"
KERNEL_SYMBOLS, CODE_OBJECTS = "rocpd_info_kernel_symbol", "rocpd_info_code_object"
PROCESS_FACTS, THREAD_NAMES, QUEUE_NAMES = (
    "rocpd_info_process",
    "rocpd_info_thread",
    "rocpd_info_queue",
)
NODES, AGENT_FACTS, COUNTER_NAMES = "rocpd_info_node", "rocpd_info_agent", "rocpd_info_pmc"
STRINGS, TRACKS, METADATA_VALUES = "rocpd_string", "rocpd_track", "rocpd_metadata"

_EVENT_COLUMNS = ("stack_id", "category_id")
_MARKER_CATEGORY = "MARKER"
_DESCRIPTION_LIMIT_BYTES = 8 << 20


class Part:
    """The tables `<name><suffix>` of one process; every id is only unique among them."""

    def __init__(self, source: ForeignSqliteSource, suffix: str, first_process: int) -> None:
        self.source = source
        self.suffix = suffix
        self.first_process = first_process
        self.first_id: dict[tuple[str, str], int] = {}
        """By trace table and file table: what is added to the file's ids."""
        self.first_queue = 0
        self.gpus = ValueByKey.of({})
        """Number of each GPU by agent id; agents that are no GPUs have none."""

    def table(self, name: str) -> str:
        """The file's table that holds `name` for this process."""
        return name + self.suffix

    def rows(self, name: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a small table."""
        return self.source.small_table(self.table(name), columns)

    def read(self, table: str, fields: Mapping[str, Field], reading: Reading) -> Iterator[Given]:
        """Timed rows of one of the tables."""
        return self.source.timed_rows(self.table(table), fields, reading, self.codes)

    @cached_property
    def codes(self) -> StringCodes:
        """Codes of this process's string ids."""
        return StringCodes(self.source.texts_in(self.table(STRINGS)), self.source.strings)

    @cached_property
    def processes(self) -> list[tuple[int, dict[str, int | str]]]:
        """(id in the file, row of the trace) of each process; its environment is not read."""
        found: list[tuple[int, dict[str, int | str]]] = []
        columns = ("id", "pid", "ppid", "nid", "command", "start", "end", "init", "fini")
        for own_id, pid, parent, node, command, start, end, init, fini in self.rows(
            PROCESS_FACTS, *columns
        ):
            arguments = _arguments(command)
            row: dict[str, int | str] = {
                "id": self.first_process + len(found),
                "pid": whole(pid),
                "parent_pid": whole(parent),
                "host": self.hosts.get(whole(node), ""),
                "name": arguments[0].rpartition("/")[2] if arguments else "",
                "command": shlex.join(arguments),
                "start_ns": whole(init if start is None else start),
                "end_ns": whole(fini if end is None else end),
            }
            found.append((whole(own_id), row))
        return found

    @cached_property
    def process_numbers(self) -> ValueByKey:
        """Number of each process by its id in the file."""
        return ValueByKey.of(self._process_numbers)

    @cached_property
    def _process_numbers(self) -> dict[int, int]:
        return {own_id: int(row["id"]) for own_id, row in self.processes}

    def process_number(self, own_id: object) -> int:
        """Number of the process that has this id in the file."""
        return self._process_numbers.get(whole(own_id), UNKNOWN)

    @cached_property
    def pids(self) -> ValueByKey:
        """The operating system's number of each process by its id in the file."""
        return ValueByKey.of({own_id: int(row["pid"]) for own_id, row in self.processes})

    @cached_property
    def hosts(self) -> dict[int, str]:
        """Host names by node id."""
        rows = self.rows(NODES, "id", "hostname")
        return {whole(node): text(name) for node, name in rows}

    @cached_property
    def threads(self) -> ValueByKey:
        """The operating system's number of each thread by its id in the file."""
        rows = self.rows(THREAD_NAMES, "id", "tid")
        return ValueByKey.of({whole(own_id): whole(tid) for own_id, tid in rows})

    @cached_property
    def kernel_names(self) -> ValueByKey:
        """The code of each kernel's name by its id in the file."""
        rows = self.rows(KERNEL_SYMBOLS, "id", "display_name", "kernel_name")
        strings = self.source.strings
        return ValueByKey.of(
            {
                whole(own_id): strings.code(shown_kernel_name(text(shown) or text(mangled)))
                for own_id, shown, mangled in rows
            }
        )

    @cached_property
    def events(self) -> ValuesByRowid:
        """Correlation and category of events by id."""
        columns = ("rowid", *_EVENT_COLUMNS)
        requests = [ColumnRequest(name, ColumnKind.INTEGER) for name in columns]
        database = self.source.database
        return ValuesByRowid(
            lambda: open_cursor(database.connection, database.file, self.table(EVENTS), requests),
            _EVENT_COLUMNS,
            self.source.largest_id(self.table(EVENTS)),
        )

    def event_values(self, events: npt.NDArray[np.int64], column: str) -> npt.NDArray[np.int64]:
        """A column of the events, -1 where there is no such event."""
        if not self.source.has_table(self.table(EVENTS)):
            return np.full(len(events), UNKNOWN, np.int64)
        return self.events.find(events, column)

    @cached_property
    def marker_categories(self) -> npt.NDArray[np.int64]:
        """Ids of the categories whose events are markers."""
        if not self.source.has_column(self.table(STRINGS), "string"):
            return np.empty(0, np.int64)
        rows = self.rows(STRINGS, "id", "string")
        ids = [whole(own_id) for own_id, name in rows if text(name).startswith(_MARKER_CATEGORY)]
        return np.array(ids, np.int64)

    def is_marker(self, events: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which events are roctx ranges and marks rather than calls."""
        if not len(self.marker_categories):
            return np.zeros(len(events), bool)
        return np.isin(self.event_values(events, "category_id"), self.marker_categories)

    def close(self) -> None:
        """Gives files back."""
        if "events" in self.__dict__:
            self.events.close()


def whole(value: object) -> int:
    """`value` when it is a whole number that the trace can hold, else unknown."""
    return value if isinstance(value, int) else UNKNOWN


def text(value: object) -> str:
    """`value` as text, NULL as the empty text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def _arguments(command: object) -> list[str]:
    """The words of a command that is stored as a JSON list, or as it is."""
    stored = text(command)
    try:
        words = orjson.loads(stored)
    except orjson.JSONDecodeError:
        words = None
    if isinstance(words, list):
        return [str(word) for word in words]
    return [stored] if stored else []


@dataclass(frozen=True)
class _Agent:
    """One GPU as one process sees it."""

    part: Part
    own_id: int
    identity: tuple[str, int]
    """What tells its machine from others, and it from the machine's other GPUs."""
    row: dict[str, int | str]

    @property
    def local_index(self) -> int:
        return int(self.row["local_index"])


def number_gpus(parts: Sequence[Part]) -> list[dict[str, int | str]]:
    """Rows for the trace's agents; each part learns the number of its own GPUs."""
    agents = [agent for part in parts for agent in _gpus_of(part)]
    numbers = _numbers(agents)
    for part in parts:
        part.gpus = ValueByKey.of(
            {agent.own_id: numbers[agent.identity] for agent in agents if agent.part is part}
        )
    first_seen = {agent.identity: agent for agent in reversed(agents)}
    rows = [{**agent.row, "gpu": numbers[identity]} for identity, agent in first_seen.items()]
    return sorted(rows, key=lambda row: row["gpu"])


def _numbers(agents: Sequence[_Agent]) -> dict[tuple[str, int], int]:
    """The index that the runtime gave each GPU where that is unique, else 0, 1, 2, ... ."""
    nodes = list(dict.fromkeys(agent.identity[0] for agent in agents))
    indexes = {agent.identity: agent.local_index for agent in agents}
    numbers = set(indexes.values())
    if len(numbers) == len(indexes) and all(0 <= number < 2**31 for number in numbers):
        return indexes
    ordered = sorted(indexes, key=lambda key: (nodes.index(key[0]), indexes[key], key[1]))
    return {identity: number for number, identity in enumerate(ordered)}


def _gpus_of(part: Part) -> list[_Agent]:
    nodes = {
        whole(own_id): text(machine) or text(name) or f"{part.suffix} {own_id}"
        for own_id, machine, name in part.rows(NODES, "id", "machine_id", "hostname")
    }
    columns = (
        "id",
        "nid",
        "type",
        "absolute_index",
        "type_index",
        "name",
        "product_name",
        "model_name",
        "extdata",
    )
    agents = []
    for own_id, nid, kind, place, index, chip, product, model, description in part.rows(
        AGENT_FACTS, *columns
    ):
        if kind != "GPU":
            continue
        row: dict[str, int | str] = {
            "local_index": whole(index),
            "host": part.hosts.get(whole(nid), ""),
            "chip": text(chip),
            "model": text(product) or text(model),
            **_described(description),
        }
        # Without its place on the machine a GPU cannot be known again in another process.
        identity = (
            (nodes.get(whole(nid), part.suffix), place)
            if isinstance(place, int)
            else (part.suffix, whole(own_id))
        )
        agents.append(_Agent(part, whole(own_id), identity, row))
    return agents


def _described(description: object) -> dict[str, int | str]:
    """What the agent's full description says beyond the table's own columns."""
    stored = text(description)
    try:
        facts = orjson.loads(stored) if len(stored) <= _DESCRIPTION_LIMIT_BYTES else {}
    except orjson.JSONDecodeError:
        facts = {}
    if not isinstance(facts, dict):
        facts = {}
    banks = facts.get("mem_banks")
    banks = [bank for bank in banks if isinstance(bank, dict)] if isinstance(banks, list) else []
    sizes = [_number(bank.get("size_in_bytes")) for bank in banks]
    return {
        "uuid": _uuid(facts.get("uuid")),
        "cu_count": _number(facts.get("cu_count")),
        "clock_mhz": _number(facts.get("max_engine_clk_fcompute")),
        "wave_size": _number(facts.get("wave_front_size")),
        "memory_bytes": _number(sum(size for size in sizes if size > 0) or UNKNOWN),
    }


def _uuid(stored: Any) -> str:
    """The digits of the unique id, as the reader of rocprofv3's JSON gives them."""
    values = stored.get("bytes") if isinstance(stored, dict) else None
    if not isinstance(values, dict):
        return ""
    numbers = [_number(value) & 0xFF for value in list(values.values())[:16]]
    return bytes(numbers).hex() if any(numbers) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) and -(2**63) <= value < 2**63 else UNKNOWN
