"""Reads occupancy.json and realtime.json: when waves ran, and how fast the shader clock was."""

from __future__ import annotations

import posixpath
from typing import Any

import numpy as np

from wavescope.errors import UnreadableInputError
from wavescope.formats.captures.file_tree import FileTree, integer, read_object
from wavescope.model.capture import (
    CaptureNotes,
    Integers,
    RealtimeClock,
    WaveOccupancy,
    no_occupancy,
)

_MOST_BYTES = 256 << 20
_FIELDS = 6
_WORKGROUP_FIELD = 9
_LARGEST = 2**31 - 1
_MOST = 2**53


def read_occupancy(tree: FileTree, folder: str, notes: CaptureNotes) -> WaveOccupancy:
    """Starts and ends of waves in order of time; nothing where the file is missing."""
    name = posixpath.join(folder, "occupancy.json")
    if name not in tree.sizes:
        return no_occupancy()
    try:
        document = read_object(tree, name, _MOST_BYTES)
    except UnreadableInputError as error:
        notes.missing.add(f"occupancy.json is unreadable: {error.reason}")
        return no_occupancy()
    parts: list[Integers] = []
    unusable = 0
    for engine, rows in document.items():
        if not str(engine).isdecimal() or not isinstance(rows, list) or len(engine) > 6:
            continue
        table, bad = _table(rows, int(engine))
        parts.append(table)
        unusable += bad
    if unusable:
        notes.missing.add(f"{unusable:,} rows of occupancy.json are unusable")
    table = np.concatenate(parts) if parts else np.empty((0, _FIELDS + 2), np.int64)
    table = table[np.argsort(table[:, 1], kind="stable")]
    small = np.clip(table, -1, _LARGEST).astype(np.int32)
    return WaveOccupancy(
        time=table[:, 1].copy(),
        shader_engine=small[:, 0].copy(),
        cu=small[:, 2].copy(),
        simd=small[:, 3].copy(),
        slot=small[:, 4].copy(),
        is_start=table[:, 5] == 1,
        kernel=small[:, 6].copy(),
        workgroup=table[:, 7].copy(),
        kernel_names=_kernel_names(document.get("dispatches")),
    )


def _table(rows: list[Any], engine: int) -> tuple[Integers, int]:
    """Columns engine, time, cu, simd, slot, start, kernel, workgroup; and how many rows are bad."""
    if (plain := _plain_table(rows, engine)) is not None:
        return plain, 0
    kept = []
    for row in rows:
        if not isinstance(row, list) or len(row) < _FIELDS:
            continue
        numbers = row[:_FIELDS]
        numbers[4] = int(numbers[4]) if isinstance(numbers[4], bool) else numbers[4]
        if any(type(number) is not int or abs(number) >= _MOST for number in numbers):
            continue
        group = integer(row[_WORKGROUP_FIELD], -1) if len(row) > _WORKGROUP_FIELD else -1
        kept.append([engine, *numbers, group])
    table = np.array(kept, np.int64).reshape(len(kept), _FIELDS + 2)
    return table, len(rows) - len(kept)


def _plain_table(rows: list[Any], engine: int) -> Integers | None:
    """The same where every row is a list of as many integers, as all known versions write them."""
    try:
        values = np.array(rows)
    except (ValueError, OverflowError):
        return None
    if values.ndim != 2 or values.dtype != np.int64 or values.shape[1] < _FIELDS:
        return None
    used = values[:, :_FIELDS]
    if not -_MOST < used.min(initial=0) <= used.max(initial=0) < _MOST:
        return None
    table = np.full((len(rows), _FIELDS + 2), -1, np.int64)
    table[:, 0] = engine
    table[:, 1 : _FIELDS + 1] = values[:, :_FIELDS]
    if values.shape[1] > _WORKGROUP_FIELD:
        table[:, _FIELDS + 1] = values[:, _WORKGROUP_FIELD]
    return table


def _kernel_names(dispatches: object) -> dict[int, str]:
    if not isinstance(dispatches, dict):
        return {}
    return {
        int(key): name
        for key, name in dispatches.items()
        if key.isdecimal() and len(key) < 10 and isinstance(name, str)
    }


def read_realtime(tree: FileTree, folder: str, notes: CaptureNotes) -> RealtimeClock | None:
    """The pairs of the first shader engine that has at least two."""
    name = posixpath.join(folder, "realtime.json")
    if name not in tree.sizes:
        return None
    try:
        document = read_object(tree, name, _MOST_BYTES)
    except UnreadableInputError as error:
        notes.repaired.add(f"realtime.json is unreadable: {error.reason}")
        return None
    metadata = document.get("metadata")
    frequency = integer(metadata.get("frequency")) if isinstance(metadata, dict) else 0
    for key in sorted(document):
        pairs = document[key]
        if not key.upper().startswith("SE") or not isinstance(pairs, list):
            continue
        usable = [
            pair[:2]
            for pair in pairs
            if isinstance(pair, list) and len(pair) >= 2 and all(type(v) is int for v in pair[:2])
        ]
        if len(usable) >= 2:
            try:
                table = np.array(usable, np.int64)
            except OverflowError:
                continue
            return RealtimeClock(table[:, 0].copy(), table[:, 1].copy(), frequency)
    return None
