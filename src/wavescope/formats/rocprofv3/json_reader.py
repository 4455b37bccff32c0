"""Reads rocprofv3 JSON (`-f json`): one object per process under `rocprofiler-sdk-tool`.

Records are parsed in blocks while the file is walked once; a second walk happens only when a file
lists its records before the names they refer to, which rocprofv3 itself does not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from wavescope.closing import on_error
from wavescope.errors import UnreadableInputError
from wavescope.files import ByteStream
from wavescope.formats.rocprofv3.json_blocks import CutJsonError, JsonBlocks, JsonError
from wavescope.formats.rocprofv3.json_counters import by_instance, summed
from wavescope.formats.rocprofv3.json_records import (
    CounterReading,
    RecordReader,
    integers,
    texts,
)
from wavescope.formats.rocprofv3.kinds import OWN_MEMBER, plain_kernel_name, shown_kernel_name
from wavescope.formats.rocprofv3.own_export import take_member
from wavescope.formats.rocprofv3.rows import GpuFacts, ProcessFacts, Rocprofv3Rows
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import CALLS, KERNELS, MARKERS, METADATA, OPS, UNKNOWN
from wavescope.model.source import TraceSource

ROOT = "rocprofiler-sdk-tool"
FORMAT = "rocprofv3 JSON"
GPU_AGENT = 2
_NAMES = ("agents", "strings", "kernel_symbols")
_RECORDS = ("buffer_records", "callback_records")


def open_rocprofv3_json(path: Path) -> TraceSource:
    """The trace of a rocprofv3 JSON file, gzipped or not."""
    return _opened(path, summed)


def open_counter_instances(path: Path) -> TraceSource:
    """The same with a counter for each hardware instance: `SQ_WAVES[0]`, `SQ_WAVES[1]`, ..."""
    return _opened(path, by_instance)


def _opened(path: Path, counted: CounterReading) -> TraceSource:
    rows = Rocprofv3Rows(TraceBuilder(str(path), FORMAT))
    with on_error(rows.builder.close):
        return _Walk(path, rows, counted).trace()


class _Walk:
    """One file on its way into `rows`."""

    def __init__(self, path: Path, rows: Rocprofv3Rows, counted: CounterReading) -> None:
        self._path = path
        self._rows = rows
        self._counted = counted
        self._entries: list[ProcessEntry] = []
        self._cut = False
        self._own: Any = None
        """What our own exports have beside the root."""

    def trace(self) -> TraceSource:
        self._pass()
        if any(entry.was_deferred for entry in self._entries):
            for entry in self._entries:
                entry.begin_second_pass()
            self._pass()
        for entry in self._entries:
            entry.finish()
        builder = self._rows.finished()
        if self._own is not None:
            take_member(builder, self._own)
        else:
            for name, value in self._metadata():
                builder.add_row(METADATA, tag=name, value=value)
        if self._cut:
            if not any(builder.row_count(table) for table in (OPS, CALLS, MARKERS, KERNELS)):
                raise UnreadableInputError(
                    self._path,
                    "the JSON ends in the middle, before the first record",
                    hint="was it copied completely?",
                )
            builder.notes.set("the file ends in the middle: what follows was not written", 1)
        return builder

    def _pass(self) -> None:
        with ByteStream(self._path) as stream:
            cursor = JsonBlocks(stream.read)
            try:
                self._root(cursor)
            except CutJsonError:
                self._cut = True
            except JsonError as error:
                raise UnreadableInputError(
                    self._path,
                    f"not valid JSON: {error}",
                    hint="was it edited, or put together from parts?",
                ) from error
        notes = self._rows.builder.notes
        notes.set("blocks of text with invalid UTF-8, replaced by U+FFFD", cursor.replaced_blocks)
        notes.set("records that are not valid JSON, left out", cursor.bad_elements)

    def _root(self, cursor: JsonBlocks) -> None:
        for key in cursor.members():
            if key == OWN_MEMBER:
                self._own = cursor.value()
            elif key != ROOT:
                cursor.skip()
            elif cursor.peek() == "[":
                for number, _ in enumerate(cursor.elements()):
                    self._entry(cursor, number)
            else:
                self._entry(cursor, 0)

    def _entry(self, cursor: JsonBlocks, number: int) -> None:
        if cursor.peek() != "{":
            cursor.skip()
            return
        while number >= len(self._entries):
            self._entries.append(ProcessEntry(self._rows, self._counted))
        self._entries[number].walk(cursor)

    def _metadata(self) -> list[tuple[str, str]]:
        facts = [("source_format", FORMAT)]
        for entry in self._entries:
            for name, value in entry.metadata.items():
                if (name, value) not in facts:
                    facts.append((name, value))
        return facts


class ProcessEntry:
    """Walks the object of one process, in one pass or, when names follow records, in two."""

    def __init__(self, rows: Rocprofv3Rows, counted: CounterReading) -> None:
        self._rows = rows
        self._facts = ProcessFacts()
        self.process = rows.add_process(self._facts)
        self.metadata: dict[str, str] = {}
        self._records = RecordReader(rows, self.process, counted)
        self._seen: set[str] = set()
        self._deferred: set[str] = set()
        self._second_pass = False
        self._is_own = False
        """Whether it is of our own exports, which have names as they were."""
        self._code_objects: dict[int, str] = {}
        self._sections: dict[str, Callable[[JsonBlocks], None]] = {
            "metadata": self._metadata,
            "agents": self._agents,
            "counters": self._counters,
            "strings": self._strings,
            "code_objects": self._code_object_names,
            "kernel_symbols": self._kernel_symbols,
        }

    @property
    def was_deferred(self) -> bool:
        """Whether records were passed over because their names had not come yet."""
        return bool(self._deferred)

    def begin_second_pass(self) -> None:
        self._second_pass = True

    def walk(self, cursor: JsonBlocks) -> None:
        """Read the object at the cursor."""
        for key in cursor.members():
            if key in _RECORDS:
                self._record_sections(key, cursor)
            elif key in self._sections and not self._second_pass:
                self._sections[key](cursor)
                self._seen.add(key)
            else:
                cursor.skip()

    def finish(self) -> None:
        """Write what waits for the end of the process's records."""
        self._records.finish()

    def _record_sections(self, key: str, cursor: JsonBlocks) -> None:
        if self._second_pass:
            wanted = key in self._deferred
        else:
            wanted = self._seen.issuperset(_NAMES)
            if not wanted:
                self._deferred.add(key)
        if not wanted or cursor.peek() != "{":
            cursor.skip()
            return
        for section in cursor.members():
            self._records.read(section, cursor)

    def _metadata(self, cursor: JsonBlocks) -> None:
        value = cursor.value()
        if not isinstance(value, dict):
            return
        node = value.get("node")
        node = node if isinstance(node, dict) else {}
        command = value.get("command")
        facts = self._facts
        self._is_own = OWN_MEMBER in value
        facts.pid = _integer(value.get("pid"))
        facts.rank = _integer(value.get("rank"))
        facts.host = _text(node.get("hostname"))
        facts.start_ns = _integer(value.get("init_time"))
        facts.end_ns = _integer(value.get("fini_time"))
        facts.command = (
            " ".join(_text(word) for word in command)
            if isinstance(command, list)
            else _text(command)
        )
        facts.name = _text(value.get("name")) or facts.command.split(" ")[0].rsplit("/", 1)[-1]
        for name in ("system_name", "release", "version", "hardware_name"):
            if _text(node.get(name)):
                self.metadata[f"node.{name}"] = _text(node.get(name))

    def _agents(self, cursor: JsonBlocks) -> None:
        found: list[tuple[int, dict[str, Any]]] = []
        for block in cursor.blocks():
            for agent in block:
                if isinstance(agent, dict) and agent.get("type") == GPU_AGENT:
                    # Of a real agent 9 parts in 10 are caches and links, which nobody asks for.
                    slim = {k: v for k, v in agent.items() if k not in {"caches", "io_links"}}
                    found.append((_integer(agent.get("logical_node_id")), slim))
        found.sort(key=lambda pair: pair[0])
        for index, (_, agent) in enumerate(found):
            number = _integer(agent.get("logical_node_type_id"))
            facts = self._gpu_facts(agent, index if number < 0 else number)
            self._records.gpu_of_agent[_handle(agent.get("id"))] = self._rows.gpu(facts)

    def _gpu_facts(self, agent: dict[str, Any], number: int) -> GpuFacts:
        banks = agent.get("mem_banks")
        sizes = [
            _integer(bank.get("size_in_bytes"))
            for bank in (banks if isinstance(banks, list) else [])
            if isinstance(bank, dict)
        ]
        node = _integer(agent.get("node_id"))
        return GpuFacts(
            host=self._facts.host,
            identity=node if node >= 0 else f"index {number}",
            number=number,
            chip=_text(agent.get("name")),
            model=_text(agent.get("product_name")),
            uuid=_uuid(agent.get("uuid")),
            cu_count=_integer(agent.get("cu_count")),
            clock_mhz=_integer(agent.get("max_engine_clk_fcompute")),
            wave_size=_integer(agent.get("wave_front_size")),
            memory_bytes=sum(size for size in sizes if size > 0) or UNKNOWN,
        )

    def _counters(self, cursor: JsonBlocks) -> None:
        for block in cursor.blocks():
            for counter in block:
                if isinstance(counter, dict):
                    name = _text(counter.get("name"))
                    self._records.counter_names[_handle(counter.get("id"))] = name

    def _strings(self, cursor: JsonBlocks) -> None:
        if cursor.peek() != "{":
            cursor.skip()
            return
        for key in cursor.members():
            if key == "buffer_records":
                self._records.set_operations(cursor.value())
            elif key == "marker_api":
                for block in cursor.blocks():
                    self._records.add_marker_texts(block)
            else:
                cursor.skip()

    def _code_object_names(self, cursor: JsonBlocks) -> None:
        for block in cursor.blocks():
            for item in block:
                if isinstance(item, dict):
                    identifier = _integer(item.get("code_object_id"))
                    self._code_objects[identifier] = _text(item.get("uri"))

    def _kernel_symbols(self, cursor: JsonBlocks) -> None:
        strings = self._rows.builder.strings
        for block in cursor.blocks():
            symbols = [
                item
                for item in block
                if isinstance(item, dict) and (item.get("kernel_id") or item.get("kernel_name"))
            ]
            if not symbols:
                continue
            mangled = [plain_kernel_name(name) for name in texts(symbols, "kernel_name")]
            shown = str if self._is_own else shown_kernel_name
            names = [
                shown(plain_kernel_name(demangled) or formatted or symbol)
                for demangled, formatted, symbol in zip(
                    texts(symbols, "demangled_kernel_name"),
                    texts(symbols, "formatted_kernel_name"),
                    mangled,
                    strict=True,
                )
            ]
            uris = [
                self._code_objects.get(identifier, "")
                for identifier in integers(symbols, "code_object_id").tolist()
            ]
            codes = strings.codes(names)
            rows = self._rows.add_kernels(
                self.process,
                {
                    "name": codes,
                    "mangled": strings.codes(mangled),
                    "code_object": strings.codes(uris),
                    "vgprs": integers(symbols, "arch_vgpr_count"),
                    "agprs": integers(symbols, "accum_vgpr_count"),
                    "sgprs": integers(symbols, "sgpr_count"),
                    "lds_bytes": integers(symbols, "group_segment_size"),
                    "scratch_bytes": integers(symbols, "private_segment_size"),
                    "kernarg_bytes": integers(symbols, "kernarg_segment_size"),
                },
            )
            kernel_ids = integers(symbols, "kernel_id").tolist()
            self._records.kernel_rows.update(zip(kernel_ids, rows.tolist(), strict=True))
            self._records.kernel_names.update(zip(kernel_ids, codes.tolist(), strict=True))


def _integer(value: Any) -> int:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return value if is_whole and -(1 << 63) <= value < 1 << 63 else UNKNOWN


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _handle(value: Any) -> int:
    return _integer(value.get("handle") if isinstance(value, dict) else value)


def _uuid(value: Any) -> str:
    """The hexadecimal digits of {"bytes": {"value0": ...}}."""
    parts = value.get("bytes") if isinstance(value, dict) else None
    if not isinstance(parts, dict):
        return _text(value)
    numbers = np.array([_integer(part) for part in parts.values()][:16], np.int64)
    digits = bytes((numbers & 0xFF).astype(np.uint8)).hex()
    return digits if digits.strip("0") else ""
