"""Which wave files a capture has: filenames.json lists them; without it their names tell."""

from __future__ import annotations

import posixpath
import re
from typing import Any, NamedTuple

from wavescope.errors import UnreadableInputError
from wavescope.formats.captures.file_tree import FileTree, names_in, safe_name
from wavescope.formats.captures.json_document import integer, read_object
from wavescope.formats.captures.notes import Notes

_MOST_INDEX_BYTES = 256 << 20
_WAVE_NAME = re.compile(r"se(\d{1,4})_sm(\d{1,4})_sl(\d{1,4})_wv(\d{1,9})\.json\Z")
_MOST_COORDINATE = 2**31 - 1
_MOST_TIME = 2**53


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


def read_wave_index(tree: FileTree, folder: str, notes: Notes) -> WaveIndex:
    """The wave files of the capture in `folder`, in the order in which they are listed."""
    name = posixpath.join(folder, "filenames.json")
    if name not in tree.sizes:
        return WaveIndex(_files_by_name(tree, folder))
    try:
        document = read_object(tree, name, _MOST_INDEX_BYTES)
    except UnreadableInputError as error:
        notes.missing.append(f"filenames.json is unreadable: {error.reason}")
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


def _listed_files(nested: object, folder: str, notes: Notes) -> list[WaveFile]:
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
        notes.missing.append(f"{unusable:,} entries of filenames.json name no file of the capture")
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
