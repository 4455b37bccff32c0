"""Op records: those of a process's file, and those it had in flight when it was killed.

While a process records, what is in flight is in memory that outlives it: a file below /dev/shm,
where the GPU itself writes what it completed. Of a killed process it has the last moment, which is
not yet in the ops stream. The recorder moves it into the session folder; a folder whose recorder
died too is read with the file where it is, if it belongs to who wrote the session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from wavescope.formats.session.folder import is_running
from wavescope.formats.session.layout import (
    EMPTY,
    MOST_PENDING_BLOCKS,
    NOWHERE,
    OPS,
    PENDING,
    OpFlag,
)
from wavescope.formats.session.plain_file import DamagedStreamError, copy_plain, opened_plain
from wavescope.formats.session.record_file import (
    BLOCK_RECORDS,
    Block,
    RecordFile,
    Records,
)

_PID_NAMESPACE = Path("/proc/self/ns/pid")
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  the collector makes the file there


def pending_path(folder: Path, base: str) -> Path | None:
    """Where the process's dispatches in flight are, or None when there are none to be found."""
    moved = folder / f"{base}.{PENDING.suffix}"
    if moved.exists():
        return moved
    shared = _shared_path(base)
    try:
        is_of_the_same_user = shared.lstat().st_uid == folder.stat().st_uid
    except OSError:
        return None
    return shared if is_of_the_same_user else None


def _shared_path(base: str) -> Path:
    return _SHARED_MEMORY / f"wavescope-{base}.{PENDING.suffix}"


def completed_records(path: Path, base: str, written: int) -> Records:
    """What completed and is not among the first `written` records of the ops stream."""
    file = RecordFile(path, PENDING)
    pid, _, start = base.partition("-")
    if (file.pid, file.start_ns) != (int(pid), int(start)):
        raise DamagedStreamError("of another process")
    blocks = (
        file.records_at(np.array([place]))[0]
        for place in range(min(file.slot_count, MOST_PENDING_BLOCKS))
    )
    return np.concatenate([np.empty(0, OPS.record), *(_completed(b, written) for b in blocks)])


def _completed(block: np.void, written: int) -> Records:
    filled = min(int(block["filled"]), len(block["records"]))
    records = block["records"][:filled].copy()
    places, signals = block["places"][:filled], block["signals"][:filled]
    announced = (places != 0) & (places != NOWHERE)
    fresh = (places == 0) & (signals["value"] <= 0)
    records["start"][fresh] = signals["start"][fresh]
    records["end"][fresh] = signals["end"][fresh]
    wanted = fresh | (announced & (places > written))
    untimed = wanted & ((records["start"] == 0) | (records["end"] < records["start"]))
    records["flags"][untimed] |= np.uint8(OpFlag.TIMES_LOST)
    chosen: Records = records[wanted & (records["kind"] != EMPTY)]
    return chosen


def move_into_session(folder: Path, base: str) -> None:
    """Put what a process that is gone left in shared memory beside its other files."""
    path = pending_path(folder, base)
    if path is None or path.parent == folder:
        return
    target = folder / f"{base}.{PENDING.suffix}"
    draft = target.with_suffix(".moving")
    draft.unlink(missing_ok=True)
    try:
        with opened_plain(path) as file:
            copy_plain(file, draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def remove_forgotten() -> None:
    """Free the shared memory of this user's processes that are gone, and so is their session."""
    try:
        paths = sorted(_SHARED_MEMORY.glob(f"wavescope-*.{PENDING.suffix}"))
    except OSError:
        return
    for path in filter(_is_forgotten, paths):
        path.unlink(missing_ok=True)


def _is_forgotten(path: Path) -> bool:
    try:
        if path.lstat().st_uid != os.getuid():
            return False
        file = RecordFile(path, PENDING)
        session, namespace, *_ = file.rest_of_header().split(b"\0", 2)
        if not session or Path(os.fsdecode(session)).exists():
            return False
        is_numbered_here = os.fsdecode(namespace) == str(_PID_NAMESPACE.readlink())
        return is_numbered_here and not is_running(file.pid, file.start_ns, path.name)
    except (OSError, DamagedStreamError):
        return False


@dataclass(frozen=True)
class OpRecords:
    """Records in the order of their places; those that were rescued come last."""

    file: RecordFile | None
    rescued: Records = field(default_factory=lambda: np.empty(0, OPS.record))

    @property
    def written(self) -> int:
        """Records in the file; those that a killed process had no time for are zeros at its end."""
        return self.file.filled_count if self.file else 0

    @property
    def slot_count(self) -> int:
        """Places, of which some may be empty."""
        return self._places_in_file + len(self.rescued)

    @property
    def _places_in_file(self) -> int:
        return self.file.slot_count if self.file else 0

    def blocks(self, rows: int = BLOCK_RECORDS) -> Iterator[Block]:
        """The completed records, at most `rows` at a time."""
        if self.file is not None:
            yield from self.file.blocks(rows)
        for start in range(0, len(self.rescued), rows):
            records = self.rescued[start : start + rows]
            yield Block(np.arange(len(records)) + self._places_in_file + start, records)
