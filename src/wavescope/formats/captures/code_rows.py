"""Reads code.json: the disassembly with the counts of every instruction.

Columns are found by the names that the file's header states, because their number and the header's
form (a comma list in ATT folders, a JSON list in PC-sampling folders) differ between versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wavescope.errors import UnreadableInputError
from wavescope.formats.captures.file_tree import FileTree, integer, parsed_object
from wavescope.model.capture import (
    CaptureNotes,
    Flags,
    Frame,
    Instructions,
    Integers,
    Measure,
    Rows,
)

MOST_CODE_BYTES = 512 << 20
_MOST_COUNT = 2**48
_MOST_LINES = 1 << 23
"""More than any kernel has; waves look rows up in a table of this size at most."""
_DEFAULT_HEADER = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
_REQUIRED = ("isa", "linenumber", "hit", "latency", "stall")
_CHAIN = " -> "
_LINE = re.compile(r"(.*):(\d{1,9})\s*\Z", re.DOTALL)
_COUNTS = (
    "linenumber",
    "codeobj",
    "vaddr",
    "hit",
    "latency",
    "stall",
    "idle",
    "pc_issued",
    "issued",
    "pc_stalled",
    "stalled",
)
_ISSUED = ("pc_issued", "issued")
_STALLED = ("pc_stalled", "stalled")
_REASONS = ("stall_reasons", "notissuedreasons")


@dataclass(frozen=True)
class CodeFile:
    """What code.json holds."""

    instructions: Instructions
    kernel_name: str
    format_version: str


class CodeTable(NamedTuple):
    """Columns of code.json before they are interpreted."""

    text: Sequence[str]
    source_code: Rows
    """Index into `sources`."""
    sources: Sequence[str]
    numbers: Mapping[str, Integers]
    """Integer columns by lower-case name, those that the file has."""
    reasons: Integers | None


def read_code(tree: FileTree, name: str, notes: CaptureNotes) -> CodeFile:
    """The instructions of a capture; `code: null` gives none and a note on what to do."""
    shown = f"{tree.path}/{name}"
    document = parsed_object(tree.read(name, MOST_CODE_BYTES), shown)
    places = _column_places(document.get("header", _DEFAULT_HEADER), shown)
    table = _table(_rows(document.pop("code", None), shown, notes), places, notes)
    return _code_file(table, document.get("version"), notes)


def _rows(rows: object, shown: str, notes: CaptureNotes) -> list[Any]:
    if rows is None:
        notes.missing.add(
            "code.json holds no instruction: no wave of the kernel ran on the traced compute unit; "
            "launch more waves, trace another --att-target-cu, widen --att-shader-engine-mask "
            "(0x11111111), or pin the kernel with HSA_CU_MASK"
        )
        return []
    if not isinstance(rows, list):
        raise UnreadableInputError(shown, "its 'code' is not a list")
    return rows


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


def _code_file(table: CodeTable, version: object, notes: CaptureNotes) -> CodeFile:
    """The table as columns of the model; counts below 0 count as 0."""
    numbers = {name: _counts(name, values, notes) for name, values in table.numbers.items()}
    nothing = np.zeros(len(table.text), np.int64)
    latency, stall = numbers["latency"], numbers["stall"]
    hits = numbers["hit"]
    issued = _first(numbers, _ISSUED, nothing)
    stalled = _first(numbers, _STALLED, nothing)
    measure = Measure.CYCLES
    if not latency.any() and (issued.any() or stalled.any()):
        measure, latency, stall, hits = Measure.SAMPLES, issued + stalled, stalled, issued + stalled
    instructions = Instructions(
        text=table.text,
        source_code=table.source_code,
        frames=[frames_of(source) for source in table.sources],
        line_number=_usable_lines(numbers["linenumber"]),
        address=numbers.get("vaddr", nothing),
        code_object=numbers.get("codeobj", nothing),
        hits=hits,
        latency=latency,
        stall=stall,
        idle=numbers.get("idle", nothing),
        is_label=_labels(table.text),
        measure=measure,
        stall_reasons=table.reasons if measure is Measure.SAMPLES else None,
    )
    return CodeFile(instructions, _kernel_name(instructions, table), str(version or ""))


def _first(numbers: Mapping[str, Integers], names: Sequence[str], otherwise: Integers) -> Integers:
    return next((numbers[name] for name in names if name in numbers), otherwise)


def _table(rows: list[Any], places: Mapping[str, int], notes: CaptureNotes) -> CodeTable:
    """The rows as columns; short rows are filled up or left out, wrong cells count as 0."""
    needed = max(places[name] for name in _REQUIRED) + 1
    width = max(places.values()) + 1
    if not all(type(row) is list and len(row) >= width for row in rows):
        rows[:] = _whole_rows(rows, needed, width, notes)
    columns: Sequence[Sequence[Any]] = list(zip(*rows)) or [()] * width  # noqa: B905  longer rows end early
    sources = columns[places["source"]] if "source" in places else ("",) * len(rows)
    source_code, distinct = _source_codes(sources)
    numbers = {
        name: _numbers(name, columns[places[name]], notes) for name in _COUNTS if name in places
    }
    text = [_text(value) for value in columns[places["isa"]]]
    return CodeTable(text, source_code, distinct, numbers, _reasons(columns, places))


def _whole_rows(rows: list[Any], needed: int, width: int, notes: CaptureNotes) -> list[list[Any]]:
    """Rows that hold at least the required columns, short ones filled up."""
    whole = [
        row + [None] * (width - len(row))
        for row in rows
        if isinstance(row, list) and len(row) >= needed
    ]
    if len(whole) < len(rows):
        notes.missing.add(f"{len(rows) - len(whole):,} rows of code.json are too short")
    return whole


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _labels(text: Sequence[str]) -> Flags:
    return np.fromiter(
        (line.startswith((";", "label")) or not line for line in text), np.bool_, len(text)
    )


def _numbers(name: str, cells: Sequence[Any], notes: CaptureNotes) -> Integers:
    """A column of integers; cells that hold none of 64 bits count as 0 and are noted."""
    if all(type(cell) is int for cell in cells):
        try:
            return np.array(cells, np.int64)
        except OverflowError:
            pass
    otherwise = -1 if name == "linenumber" else 0
    values = np.fromiter((integer(cell, otherwise) for cell in cells), np.int64, len(cells))
    unusable = sum(integer(cell, 0) != integer(cell, 1) for cell in cells)
    if unusable:
        notes.repaired.add(
            f"{unusable:,} values of column {name} in code.json are not 64-bit integers "
            "and count as 0"
        )
    return values


def _counts(name: str, values: Integers, notes: CaptureNotes) -> Integers:
    """The values that can be counts; a sum of all rows shall fit 64 bits."""
    if name in {"linenumber", "vaddr", "codeobj"}:
        return values
    most = _MOST_COUNT
    if float(np.abs(values, dtype=np.float64).sum()) >= 2.0**62:
        most = 2**62 // len(values)
    unusable = (values < 0) | (values >= most)
    if not unusable.any():
        return values
    notes.repaired.add(
        f"{int(unusable.sum()):,} values of column {name} in code.json are negative or too large "
        "and count as 0"
    )
    return np.where(unusable, 0, values)


def _source_codes(sources: Sequence[Any]) -> tuple[Rows, list[str]]:
    numbers: dict[str, int] = {}
    number = numbers.setdefault
    texts = [source if isinstance(source, str) else "" for source in sources]
    codes = np.fromiter((number(text, len(numbers)) for text in texts), np.int32, len(texts))
    return codes, list(numbers)


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


def _kernel_name(instructions: Instructions, table: CodeTable) -> str:
    """The first label: its demangled form, which is where other rows have their source."""
    labels = np.flatnonzero(instructions.is_label)
    if not len(labels):
        return ""
    row = int(labels[0])
    demangled = table.sources[int(table.source_code[row])].strip()
    return demangled or instructions.text[row].lstrip("; ")


def _usable_lines(numbers: Integers) -> Rows:
    """Line numbers, -1 for those that no listing has."""
    usable = (numbers >= 0) & (numbers < _MOST_LINES)
    return np.where(usable, numbers, -1).astype(np.int32)
