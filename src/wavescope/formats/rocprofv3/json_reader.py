"""Reads rocprofv3 JSON (`-f json`): one object per process under `rocprofiler-sdk-tool`.

Records are parsed in blocks while the file is walked once; a second walk happens only when a file
lists its records before the names they refer to, which rocprofv3 itself does not.
"""

from __future__ import annotations

from pathlib import Path

from wavescope.closing import on_error
from wavescope.errors import UnreadableInputError
from wavescope.formats.files import ByteStream
from wavescope.formats.rocprofv3.json_blocks import CutJsonError, JsonBlocks, JsonError
from wavescope.formats.rocprofv3.json_entry import ProcessEntry
from wavescope.formats.rocprofv3.rows import Rocprofv3Rows
from wavescope.model.columns import CALLS, KERNELS, MARKERS, METADATA, OPS
from wavescope.model.source import TraceSource

ROOT = "rocprofiler-sdk-tool"
FORMAT = "rocprofv3 JSON"


def open_rocprofv3_json(path: Path) -> TraceSource:
    """The trace of a rocprofv3 JSON file, gzipped or not."""
    rows = Rocprofv3Rows(str(path), FORMAT)
    with on_error(rows.builder.close):
        return _Walk(path, rows).trace()


class _Walk:
    """One file on its way into `rows`."""

    def __init__(self, path: Path, rows: Rocprofv3Rows) -> None:
        self._path = path
        self._rows = rows
        self._entries: list[ProcessEntry] = []
        self._cut = False

    def trace(self) -> TraceSource:
        self._pass()
        if any(entry.was_deferred for entry in self._entries):
            for entry in self._entries:
                entry.begin_second_pass()
            self._pass()
        for entry in self._entries:
            entry.finish()
        builder = self._rows.finished()
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
                    hint="was it edited, or is it cut and joined?",
                ) from error
        notes = self._rows.builder.notes
        notes.set("blocks of text with invalid UTF-8, replaced by U+FFFD", cursor.replaced_blocks)
        notes.set("records that are not valid JSON, left out", cursor.bad_elements)

    def _root(self, cursor: JsonBlocks) -> None:
        for key in cursor.members():
            if key != ROOT:
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
            self._entries.append(ProcessEntry(self._rows))
        self._entries[number].walk(cursor)

    def _metadata(self) -> list[tuple[str, str]]:
        facts = [("source_format", FORMAT)]
        for entry in self._entries:
            for name, value in entry.metadata.items():
                if (name, value) not in facts:
                    facts.append((name, value))
        return facts
