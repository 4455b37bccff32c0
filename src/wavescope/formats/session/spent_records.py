"""Gives back the disk space of records that nobody needs any more, while their process runs on.

The space is taken out of the middle of a file (a hole, which reads as zeros, and zeros are no
records), so that neither the places of other records nor the process that writes them notice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.session.layout import CALLS, EMPTY, MARKERS, OPS, PAGE_BYTES, Stream
from wavescope.formats.session.plain_file import DamagedStreamError, can_give_back, give_back_pages
from wavescope.formats.session.record_file import (
    RecordFile,
    Records,
    is_unclosed,
    is_unreturned,
)

_BLOCK_BYTES = 3 * PAGE_BYTES
"""What a thread takes at a time: a multiple of every record's size."""


def can_forget(path: Path) -> bool:
    """Whether space can be given back where a file of a session is."""
    return _with_opened(path, can_give_back)


def forget_ops(folder: Path, base: str, end_place: int) -> None:
    """Give back the op records before `end_place`; those on its page stay."""
    file = opened_stream(folder, base, OPS)
    if file is not None:
        end = (PAGE_BYTES + end_place * file.record_bytes) // PAGE_BYTES * PAGE_BYTES
        _give_back(file.path, PAGE_BYTES, end)


@dataclass(frozen=True)
class FinishedBlocks:
    """Blocks of markers or calls that nobody needs any more."""

    path: Path
    blocks: tuple[int, ...] = ()
    """Their numbers."""
    record_count: int = 0

    def forget(self) -> None:
        """Give them back."""
        for block in self.blocks:
            start = PAGE_BYTES + block * _BLOCK_BYTES
            _give_back(self.path, start, start + _BLOCK_BYTES)


def finished_blocks(folder: Path, base: str, stream: Stream, before_ns: int) -> FinishedBlocks:
    """The blocks of markers or calls that all ended before `before_ns`.

    A range that is still open is written to once more when it closes, and so is a block with room.
    """
    file = opened_stream(folder, base, stream)
    blocks, record_count = [], 0
    for block, records in _blocks(file) if file else ():
        is_over = (records["kind"] != EMPTY) & ~_is_open(stream, records)
        if np.all(is_over & (records["end"] < before_ns)):
            blocks.append(block)
            record_count += len(records)
    return FinishedBlocks(folder / f"{base}.{stream.suffix}", tuple(blocks), record_count)


def forget_finished(folder: Path, base: str, before_ns: int) -> None:
    """Give back blocks of markers and calls that all ended before `before_ns`."""
    for stream in (MARKERS, CALLS):
        finished_blocks(folder, base, stream, before_ns).forget()


def opened_stream(folder: Path, base: str, stream: Stream) -> RecordFile | None:
    """A stream of a process, or None where it has none that can be read."""
    try:
        return RecordFile(folder / f"{base}.{stream.suffix}", stream)
    except (DamagedStreamError, OSError):
        return None


def _blocks(file: RecordFile) -> Iterator[tuple[int, Records]]:
    """Full blocks by their number; those that were given back are stepped over."""
    in_block = _BLOCK_BYTES // file.record_bytes
    for found in file.blocks(in_block):
        if len(found.records) == in_block and found.places[0] % in_block == 0:
            yield int(found.places[0]) // in_block, found.records


def _is_open(stream: Stream, records: Records) -> Array:
    return is_unclosed(records) if stream is MARKERS else is_unreturned(records)


def _give_back(path: Path, start: int, end: int) -> None:
    """Where the file system cannot, the space stays taken."""
    if start < end:
        _with_opened(path, lambda file: give_back_pages(file, start, end))


def _with_opened(path: Path, use: Callable[[int], bool]) -> bool:
    """What `use` says of the file at `path`, opened to be written; False where it cannot be."""
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return use(file)
    finally:
        os.close(file)
