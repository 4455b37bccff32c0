"""Reads the waves of a capture: which files there are, and one after another their columns."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wavescope.errors import UnreadableInputError
from wavescope.formats.captures.file_tree import FileTree, integer, names_in, read_object, safe_name
from wavescope.formats.captures.wave_columns import ABSENT, Status, WaveColumns, WaveFacts
from wavescope.model.capture import (
    CaptureNotes,
    Instructions,
    Rows,
    StoredDependencies,
    Waves,
    no_waves,
)
from wavescope.model.progress import Progress, no_progress

_MOST_INDEX_BYTES = 256 << 20
_WAVE_NAME = re.compile(r"se(\d{1,4})_sm(\d{1,4})_sl(\d{1,4})_wv(\d{1,9})\.json\Z")
_MOST_COORDINATE = 2**31 - 1
_MOST_TIME = 2**53
MOST_EVENTS = 32_000_000
_MOST_WAVE_BYTES = 256 << 20


class WaveFile(NamedTuple):
    """A wave file and where its wave ran, as its place in the index says."""

    name: str
    shader_engine: int
    simd: int
    slot: int
    number: int
    begin: int
    end: int


class WaveIndex(NamedTuple):
    """What filenames.json says."""

    files: list[WaveFile]
    gfxip: int | None = None
    version: str = ""
    counter_names: tuple[str, ...] = ()


def read_wave_index(tree: FileTree, folder: str, notes: CaptureNotes) -> WaveIndex:
    """The wave files of the capture in `folder`, in the order in which they are listed."""
    name = posixpath.join(folder, "filenames.json")
    if name not in tree.sizes:
        return WaveIndex(_files_by_name(tree, folder))
    try:
        document = read_object(tree, name, _MOST_INDEX_BYTES)
    except UnreadableInputError as error:
        notes.missing.add(f"filenames.json is unreadable: {error.reason}")
        return WaveIndex(_files_by_name(tree, folder))
    gfxip = integer(document.get("gfxip"), -1)
    counters = document.get("counter_names")
    version = document.get("version")
    return WaveIndex(
        files=_listed_files(document.get("wave_filenames"), folder, notes),
        gfxip=gfxip if gfxip > 0 else None,
        version=version if isinstance(version, str) else "",
        counter_names=_texts(counters),
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _files_by_name(tree: FileTree, folder: str) -> list[WaveFile]:
    found: list[WaveFile] = []
    for name in names_in(tree.sizes, folder):
        if match := _WAVE_NAME.match(posixpath.basename(name)):
            engine, simd, slot, number = map(int, match.groups())
            found.append(WaveFile(name, engine, simd, slot, number, 0, 0))
    return sorted(found, key=lambda file: file[1:5])


def _listed_files(nested: object, folder: str, notes: CaptureNotes) -> list[WaveFile]:
    """The files of `{SE: {SIMD: {slot: {id: [file, begin, end]}}}}`."""
    files: list[WaveFile] = []
    unusable = 0
    for engine, simds in _items(nested):
        for simd, slots in _items(simds):
            for slot, waves in _items(slots):
                for number, entry in _items(waves):
                    place = _coordinates(engine, simd, slot, number)
                    name = _entry_name(entry, folder)
                    if place is None or name is None:
                        unusable += 1
                        continue
                    begin, end = ([*entry, 0, 0][1:3]) if isinstance(entry, list) else (0, 0)
                    files.append(WaveFile(name, *place, _time(begin), _time(end)))
    if unusable:
        notes.missing.add(f"{unusable:,} entries of filenames.json name no file of the capture")
    return files


def _time(value: object) -> int:
    time = integer(value)
    return time if abs(time) < _MOST_TIME else 0


def _items(value: object) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


def _coordinates(*keys: object) -> tuple[int, int, int, int] | None:
    numbers = []
    for key in keys:
        text = str(key)
        if not text.isdecimal() or len(text) > 10 or int(text) > _MOST_COORDINATE:
            return None
        numbers.append(int(text))
    engine, simd, slot, number = numbers
    return engine, simd, slot, number


def _entry_name(entry: object, folder: str) -> str | None:
    local = entry[0] if isinstance(entry, list) and entry else entry
    return safe_name(folder, local) if isinstance(local, str) else None


def read_waves(
    tree: FileTree,
    files: Sequence[WaveFile],
    instructions: Instructions,
    notes: CaptureNotes,
    *,
    most_events: int = MOST_EVENTS,
    progress: Progress = no_progress,
) -> Waves:
    """The waves of `files`; what is missing, cut or beyond `most_events` is noted."""
    present = [file for file in files if file.name in tree.sizes]
    if len(present) < len(files):
        notes.missing.add(f"{len(files) - len(present):,} of {len(files):,} wave files are missing")
    if not present:
        return no_waves()
    reader = _Reader(tree, sum(tree.sizes[file.name] for file in present), most_events)
    for done, file in enumerate(present):
        progress(done, len(present))
        if not reader.add(file):
            notes.missing.add(
                f"only {len(reader.files):,} of {len(files):,} wave files are read: together they "
                f"hold more than {most_events:,} executed instructions"
            )
            break
    reader.note(notes)
    return reader.waves(instructions)


class _Reader:
    """Collects waves file by file."""

    def __init__(self, tree: FileTree, total_bytes: int, most_events: int) -> None:
        self._tree = tree
        self._columns = WaveColumns(total_bytes, most_events)
        self.files: list[WaveFile] = []
        self._facts: list[WaveFacts] = []
        self._is_partial: list[bool] = []
        self._ends: list[tuple[int, int]] = []
        self._unusable = self._cut = 0
        self._unreadable: list[str] = []

    def add(self, file: WaveFile) -> bool:
        """Read one file; False when there is no room for it."""
        try:
            data = self._tree.read(file.name, _MOST_WAVE_BYTES)
        except UnreadableInputError as error:
            self._unreadable.append(error.reason)
            return True
        status, facts = self._columns.add(data)
        if status is Status.FULL:
            return False
        if status is Status.NOT_A_WAVE or (status is not Status.WHOLE and facts.begin == ABSENT):
            self._unreadable.append("it holds no wave")
            self._undo()
            return True
        is_partial = status is not Status.WHOLE
        self._cut += is_partial
        self._unusable += facts.unusable
        self.files.append(file)
        self._facts.append(facts)
        self._is_partial.append(is_partial or facts.unusable > 0)
        self._ends.append((self._columns.event_count, self._columns.list_count))
        return True

    def _undo(self) -> None:
        events, lists = self._ends[-1] if self._ends else (0, 0)
        self._columns.cut_back(events, lists)

    def note(self, notes: CaptureNotes) -> None:
        """Say what was not whole."""
        if self._unreadable:
            notes.missing.add(
                f"{len(self._unreadable):,} wave files are unreadable (the first: "
                f"{self._unreadable[0]})"
            )
        if self._cut:
            notes.missing.add(
                f"{self._cut:,} wave files end early or are damaged; their waves are read as far "
                "as they go"
            )
        if self._unusable:
            notes.missing.add(f"{self._unusable:,} entries of wave files are unusable")

    def waves(self, instructions: Instructions) -> Waves:
        """Everything that was read."""
        columns, files = self._columns, self.files
        ends = np.array([(0, 0), *self._ends], np.int64)
        events, lists = (int(end) for end in ends[-1])
        rows = _RowNumbers(instructions)
        list_counts = np.diff(ends[:, 1])
        producers = columns.producer_count
        return Waves(
            shader_engine=_integers([file.shader_engine for file in files]),
            simd=_stated([fact.simd for fact in self._facts], [file.simd for file in files]),
            slot=_stated([fact.slot for fact in self._facts], [file.slot for file in files]),
            number=_stated([fact.number for fact in self._facts], [file.number for file in files]),
            cu=_stated([fact.cu for fact in self._facts], [-1] * len(files)),
            begin=np.array(
                [
                    _or(fact.begin, file.begin)
                    for fact, file in zip(self._facts, files, strict=True)
                ],
                np.int64,
            ),
            end=np.array(
                [_or(fact.end, file.end) for fact, file in zip(self._facts, files, strict=True)],
                np.int64,
            ),
            is_partial=np.array(self._is_partial, np.bool_),
            event_offsets=ends[:, 0].copy(),
            time=columns.time[:events],
            category=columns.category[:events],
            stall=columns.stall[:events],
            duration=columns.duration[:events],
            row=rows.of(columns.line[:events]),
            dependencies=StoredDependencies(
                wave=np.repeat(np.arange(len(files), dtype=np.int32), list_counts),
                wait_row=rows.of(columns.wait_line[:lists]),
                producer_offsets=columns.producer_offsets[: lists + 1],
                producer_row=rows.of(columns.producer_line[:producers]),
            ),
        )


class _RowNumbers:
    """Turns line numbers into rows, in place where both are the same."""

    def __init__(self, instructions: Instructions) -> None:
        self._rows = instructions.row_of_line_number
        self._is_same = np.array_equal(self._rows, np.arange(len(self._rows)))

    def of(self, lines: Rows) -> Rows:
        """The rows that `lines` mean, -1 where there is none."""
        if len(lines) and not 0 <= int(lines.min()) <= int(lines.max()) < len(self._rows):
            lines[(lines < 0) | (lines >= len(self._rows))] = -1
        if self._is_same or not len(self._rows):
            return lines
        return np.where(lines < 0, np.int32(-1), self._rows[lines])


def _or(value: int, otherwise: int) -> int:
    return otherwise if value == ABSENT else value


def _integers(values: list[int]) -> Rows:
    return np.clip(np.array(values, np.int64), -1, 2**31 - 1).astype(np.int32)


def _stated(values: list[int], otherwise: list[int]) -> Rows:
    return _integers([_or(value, other) for value, other in zip(values, otherwise, strict=True)])
