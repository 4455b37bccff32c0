"""Reads CSV as rocprofv3 writes it, in blocks of rows: quoted cells, whose quotes are not escaped.

Rows are first read by the strict rules of CSV. Where these fail, a row is cut at the known number
of columns before and after its one free text, so that the text may hold quotes, commas, newlines.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from wavescope.closing import Closing
from wavescope.errors import UnreadableInputError
from wavescope.files import ByteStream

BLOCK_BYTES = 1 << 18
LINE_LIMIT_BYTES = 32 << 20
MOST_COLUMNS = 100_000
_MOST_LENIENT_COLUMNS = 2_000
"""The pattern for rows that break the rules grows with the columns."""
_JOINED_LINES = 64
_JOINED_CHARACTERS = 1 << 20
_CELL = r'(?:"([^",\r\n]*)"|([^",\r\n]*))'
_BYTE_ORDER_MARK = "\ufeff"

Row = list[str]


class CsvBlocks(Closing):
    """The rows of one file; `names` are its columns, `header` the same in lower case.

    `free_text` names columns that may hold anything; of those the file has, the first is meant.
    """

    def __init__(self, path: Path, free_text: tuple[str, ...]) -> None:
        self.path = path
        self.skipped_rows = 0
        self.replaced_blocks = 0
        self.was_cut = False
        self._stream = ByteStream(path)
        self._rest = ""
        self._undecoded = b""
        self._ended = False
        try:
            self.names = self._read_names()
        except UnreadableInputError:
            self.close()
            raise
        self.header = [name.lower() for name in self.names]
        self._columns = len(self.header)
        self._free_text = free_text

    def close(self) -> None:
        self._stream.close()

    def rows(self) -> Iterator[list[Row]]:
        """All rows, some thousands at a time, each with as many cells as the header."""
        while self._rest or not self._ended:
            self._fill()
            text, self._rest = self._complete_lines()
            if text:
                block = self._strict(text)
                if block is None:
                    block = self._by_line(text)
                if block:
                    yield block

    def notes(self) -> Iterator[str]:
        """What was skipped or repaired so far, in words."""
        if self.skipped_rows:
            yield f"{self.path.name}: {self.skipped_rows:,} rows could not be read"
        if self.was_cut:
            yield f"{self.path.name}: the file ends early"
        if self.replaced_blocks:
            yield f"{self.path.name}: some text is not UTF-8"

    def _read_names(self) -> list[str]:
        self._fill()
        line = self._rest.removeprefix(_BYTE_ORDER_MARK).partition("\n")[0]
        if "\0" in line:
            raise UnreadableInputError(
                self.path,
                "it is not UTF-8 text (UTF-16?)",
                hint="convert it: iconv -f UTF-16 -t UTF-8 FILE",
            )
        self._rest = self._rest.partition("\n")[2]
        names = column_names(line)
        if len(names) > MOST_COLUMNS:
            raise UnreadableInputError(self.path, f"it has {len(names):,} columns")
        return names

    def _fill(self) -> None:
        while not self._ended:
            more = self._stream.read(BLOCK_BYTES)
            self._ended = len(more) < BLOCK_BYTES
            self.was_cut = self._stream.was_cut
            data = self._undecoded + more
            cut = len(data) if self._ended else data.rfind(b"\n") + 1
            self._undecoded = data[cut:]
            if len(self._undecoded) > LINE_LIMIT_BYTES:
                raise UnreadableInputError(self.path, "a line is longer than 32 MiB")
            if cut:
                self._rest += self._decoded(data[:cut])
                return

    def _decoded(self, data: bytes) -> str:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            self.replaced_blocks += 1
            return data.decode("utf-8", "replace")

    def _complete_lines(self) -> tuple[str, str]:
        if self._ended:
            return self._rest, ""
        cut = self._rest.rfind("\n") + 1
        return self._rest[:cut], self._rest[cut:]

    def _strict(self, text: str) -> list[Row] | None:
        """The rows when all of them keep the rules; None sends the block to `_by_line`."""
        try:
            rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        except csv.Error:
            return None
        rows = [row for row in rows if row]
        return rows if all(len(row) == self._columns for row in rows) else None

    def _by_line(self, text: str) -> list[Row]:
        rows: list[Row] = []
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        at = 0
        while at < len(lines):
            used, row = self._row_at(lines, at)
            if used == 0:
                # The text of this row may go on in the next block.
                self._rest = "\n".join([*lines[at:], ""]) + self._rest
                break
            at += used
            if row is not None:
                rows.append(row)
            elif lines[at - 1].strip():
                self.skipped_rows += 1
        return rows

    def _row_at(self, lines: list[str], at: int) -> tuple[int, Row | None]:
        """How many lines the row takes, and the row; none when it cannot be made out."""
        if not lines[at].strip():
            return 1, None
        used, row = self._strict_row(lines, at)
        if row is None and used == len(lines) - at and not self._ended:
            return 0, None
        if row is None:
            used, row = self._lenient_row(lines, at)
        return used, row

    def _strict_row(self, lines: list[str], at: int) -> tuple[int, Row | None]:
        """How many lines the rules of CSV made the reader look at, and the row if they hold."""
        reader = csv.reader((f"{line}\n" for line in lines[at : at + _JOINED_LINES]), strict=True)
        try:
            row = next(reader, [])
        except csv.Error:
            row = []
        return reader.line_num, row if len(row) == self._columns else None

    def _lenient_row(self, lines: list[str], at: int) -> tuple[int, Row | None]:
        """As `_strict_row` with raw quotes; the row ends where the next one surely begins."""
        joined = lines[at]
        if not self._can_begin(joined):
            return 1, None
        match = self._matched(joined)
        used = 1
        while match is None and used < _JOINED_LINES and len(joined) < _JOINED_CHARACTERS:
            if at + used == len(lines):
                return (1 if self._ended else 0), None
            if self._strict_row([lines[at + used]], 0)[1] is not None:
                break
            joined += "\n" + lines[at + used]
            used += 1
            match = self._matched(joined)
        return (1, None) if match is None else (used, _cells(match))

    def _can_begin(self, line: str) -> bool:
        """Whether a row may begin so: more lines cannot help where the free text has no begin."""
        return self._beginning is not None and self._beginning.match(line) is not None

    @cached_property
    def _beginning(self) -> re.Pattern[str] | None:
        place = _free_text_place(self.header, self._free_text)
        return None if place is None else re.compile(f"{_CELL}," * place)

    @cached_property
    def _lenient(self) -> re.Pattern[str] | None:
        return _lenient_pattern(self.header, self._free_text)

    def _matched(self, text: str) -> re.Match[str] | None:
        return self._lenient.fullmatch(text.rstrip("\r")) if self._lenient else None


def column_names(line: str) -> list[str]:
    """The names in a header line; none when it is no CSV."""
    try:
        cells = next(csv.reader([line.strip("\r\n \ufeff")]), [])
    except csv.Error:
        return []
    return [cell.strip() for cell in cells]


def header_names(line: str) -> list[str]:
    """The same in lower case."""
    return [name.lower() for name in column_names(line)]


def _free_text_place(header: list[str], free_text: tuple[str, ...]) -> int | None:
    """Where the free text is; None when rows that break the rules cannot be made out."""
    places = [header.index(name) for name in free_text if name in header]
    return places[0] if places and len(header) <= _MOST_LENIENT_COLUMNS else None


def _lenient_pattern(header: list[str], free_text: tuple[str, ...]) -> re.Pattern[str] | None:
    before = _free_text_place(header, free_text)
    if before is None:
        return None
    after = len(header) - before - 1
    text = r'(?:"(.*)"|([^"]*))'
    return re.compile(f"{_CELL},".join([""] * (before + 1)) + text + f",{_CELL}" * after, re.DOTALL)


def _cells(match: re.Match[str]) -> Row:
    """The cells of a lenient match: of each pair of groups (quoted, bare) the one that matched."""
    groups = match.groups()
    return [
        quoted if quoted is not None else bare or ""
        for quoted, bare in zip(groups[::2], groups[1::2], strict=True)
    ]
