"""Reads code.json: the disassembly with the counts of every instruction.

Columns are found by the names that the file's header states, because their number and the header's
form (a comma list in ATT folders, a JSON list in PC-sampling folders) differ between versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wavescope.errors import UnreadableInputError
from wavescope.load.thread_trace.file_tree import FileTree
from wavescope.load.thread_trace.json_document import integer, read_object
from wavescope.load.thread_trace.notes import Notes
from wavescope.model.thread_trace import Flags, Frame, Instructions, Integers, Measure

MOST_CODE_BYTES = 2 << 30
_DEFAULT_HEADER = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
_REQUIRED = ("isa", "linenumber", "hit", "latency", "stall")
_CHAIN = " -> "
_LINE = re.compile(r"(.*):(\d{1,9})\s*\Z", re.DOTALL)
_ISSUED = ("pc_issued", "issued")
_STALLED = ("pc_stalled", "stalled")
_REASONS = ("stall_reasons", "notissuedreasons")


@dataclass(frozen=True)
class CodeFile:
    """What code.json holds."""

    instructions: Instructions
    kernel_name: str
    format_version: str


def read_code(tree: FileTree, name: str, notes: Notes) -> CodeFile:
    """The instructions of a capture; `code: null` gives none and a note on what to do."""
    document = read_object(tree, name, MOST_CODE_BYTES)
    columns = _column_places(document.get("header", _DEFAULT_HEADER), f"{tree.path}/{name}")
    rows = document.pop("code", None)
    if rows is None:
        notes.missing.append(
            "code.json holds no instruction: no wave of the kernel ran on the traced compute unit; "
            "launch more waves, trace another --att-target-cu, widen --att-shader-engine-mask "
            "(0x11111111), or pin the kernel with HSA_CU_MASK"
        )
        rows = []
    if not isinstance(rows, list):
        raise UnreadableInputError(f"{tree.path}/{name}", "its 'code' is not a list")
    instructions = _instructions(rows, columns, notes)
    version = document.get("version")
    return CodeFile(
        instructions, _kernel_name(instructions, rows, columns), str(version) if version else ""
    )


def _column_places(header: object, shown: str) -> dict[str, int]:
    if isinstance(header, str):
        names = header.split(",")
    elif isinstance(header, list) and all(isinstance(name, str) for name in header):
        names = header
    else:
        raise UnreadableInputError(shown, "its header is neither a text nor a list of texts")
    places: dict[str, int] = {}
    for index, name in enumerate(names):
        places.setdefault(name.strip().lower(), index)
    lacking = [name for name in _REQUIRED if name not in places]
    if lacking:
        raise UnreadableInputError(
            shown,
            f"its header names no column {', '.join(lacking)}",
            hint="is it the code.json of a thread trace?",
        )
    return places


def _instructions(rows: list[Any], places: Mapping[str, int], notes: Notes) -> Instructions:
    needed = max(places[name] for name in _REQUIRED) + 1
    width = max(places.values()) + 1
    if not all(type(row) is list and len(row) >= width for row in rows):
        rows[:] = _whole_rows(rows, needed, width, notes)
    columns: Sequence[Sequence[Any]] = list(zip(*rows)) or [()] * width  # noqa: B905  longer rows end early
    text = [_text(value) for value in columns[places["isa"]]]
    sources = columns[places["source"]] if "source" in places else ("",) * len(rows)
    source_code, frames = _source_codes(sources)
    numbers = _Numbers(columns, places, notes)
    latency, stall = numbers.of("latency"), numbers.of("stall")
    hits, idle = numbers.of("hit"), numbers.of("idle")
    measure = Measure.CYCLES
    issued, stalled = numbers.of(*_ISSUED), numbers.of(*_STALLED)
    if not latency.any() and (issued.any() or stalled.any()):
        measure, latency, stall, hits = Measure.SAMPLES, issued + stalled, stalled, issued + stalled
    return Instructions(
        text=text,
        source_code=source_code,
        frames=frames,
        line_number=np.clip(numbers.of("linenumber", otherwise=-1), -1, 2**31 - 1).astype(np.int32),
        address=numbers.of("vaddr"),
        code_object=numbers.of("codeobj"),
        hits=hits,
        latency=latency,
        stall=stall,
        idle=idle,
        is_label=_labels(text),
        measure=measure,
        stall_reasons=_reasons(columns, places) if measure is Measure.SAMPLES else None,
    )


def _whole_rows(rows: list[Any], needed: int, width: int, notes: Notes) -> list[list[Any]]:
    """Rows that hold at least the required columns, short ones filled up."""
    whole = [
        row + [None] * (width - len(row))
        for row in rows
        if isinstance(row, list) and len(row) >= needed
    ]
    if len(whole) < len(rows):
        notes.missing.append(f"{len(rows) - len(whole):,} rows of code.json are too short")
    return whole


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _labels(text: Sequence[str]) -> Flags:
    return np.fromiter(
        (line.startswith((";", "label")) or not line for line in text), np.bool_, len(text)
    )


class _Numbers:
    """Integer columns; cells that hold no integer of 64 bits count as 0 and are noted."""

    def __init__(
        self, columns: Sequence[Sequence[Any]], places: Mapping[str, int], notes: Notes
    ) -> None:
        self._columns = columns
        self._places = places
        self._notes = notes

    def of(self, *names: str, otherwise: int = 0) -> Integers:
        """The column of the first name that the file has, zeros where it has none."""
        for name in names:
            if name in self._places:
                return self._column(name, otherwise)
        return np.zeros(len(self._columns[0]), np.int64)

    def _column(self, name: str, otherwise: int) -> Integers:
        cells = self._columns[self._places[name]]
        if all(type(cell) is int for cell in cells):
            try:
                values = np.array(cells, np.int64)
            except OverflowError:
                values = self._repaired(name, cells, otherwise)
        else:
            values = self._repaired(name, cells, otherwise)
        if name in {"linenumber", "vaddr"} or not (values < 0).any():
            return values
        self._notes.repaired.append(
            f"{int((values < 0).sum()):,} negative values of column {name} count as 0"
        )
        return np.maximum(values, 0)

    def _repaired(self, name: str, cells: Sequence[Any], otherwise: int) -> Integers:
        values = np.fromiter((integer(cell, otherwise) for cell in cells), np.int64, len(cells))
        unusable = sum(integer(cell, 0) != integer(cell, 1) for cell in cells)
        if unusable:
            self._notes.repaired.append(
                f"{unusable:,} values of column {name} in code.json are no integers of 64 bits "
                "and count as 0"
            )
        return values


def _source_codes(sources: Sequence[Any]) -> tuple[Any, list[tuple[Frame, ...]]]:
    numbers: dict[Any, int] = {}
    number = numbers.setdefault
    texts = [source if isinstance(source, str) else "" for source in sources]
    codes = np.fromiter((number(text, len(numbers)) for text in texts), np.int32, len(texts))
    return codes, [frames_of(text) for text in numbers]


def frames_of(source: str) -> tuple[Frame, ...]:
    """The frames of `a.h:7 -> b.cpp:20`, innermost first; texts without a line are no frames."""
    parts = (_LINE.match(part.strip()) for part in source.split(_CHAIN))
    return tuple(Frame(found[1], int(found[2])) for found in parts if found)


def _reasons(columns: Sequence[Sequence[Any]], places: Mapping[str, int]) -> Integers | None:
    for name in _REASONS:
        if name in places:
            cells = [cell if isinstance(cell, list) else [] for cell in columns[places[name]]]
            width = min(max((len(cell) for cell in cells), default=0), 64)
            table = np.zeros((len(cells), width), np.int64)
            for row, cell in enumerate(cells):
                for index, value in enumerate(cell[:width]):
                    table[row, index] = max(integer(value), 0)
            return table
    return None


def _kernel_name(
    instructions: Instructions, rows: Sequence[Sequence[Any]], places: Mapping[str, int]
) -> str:
    """The first label: its demangled form, which is where other rows have their source."""
    labels = np.flatnonzero(instructions.is_label)
    if not len(labels):
        return ""
    row = int(labels[0])
    demangled = _text(rows[row][places["source"]]) if "source" in places else ""
    return demangled or instructions.text[row].lstrip("; ")
