"""Tiles as bytes, little-endian, so that a page can look at them as typed arrays.

The size of the header in 4 bytes, the header as JSON, then the blocks that it tells the places of;
places count from the end of the header, and every block begins at a multiple of 8 bytes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.view.tiles.row_tile import RowTile

_ALIGNMENT = 8


class _Blocks:
    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._size = 0

    def add(self, array: npt.NDArray[Any]) -> int:
        """Where the array will lie."""
        place = self._size
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        padding = -len(data) % _ALIGNMENT
        self.parts.append(data + bytes(padding))
        self._size += len(data) + padding
        return place


def encoded(version: int, tiles: Iterable[RowTile]) -> bytes:
    """The tiles of some rows of one version of a trace."""
    blocks = _Blocks()
    rows = [_described(tile, blocks) for tile in tiles]
    header = json.dumps({"version": version, "rows": rows}, separators=(",", ":")).encode()
    header += b" " * (-(4 + len(header)) % _ALIGNMENT)
    return b"".join((struct.pack("<I", len(header)), header, *blocks.parts))


def _described(tile: RowTile, blocks: _Blocks) -> dict[str, object]:
    """What the header says of a row."""
    boxes = tile.boxes
    return {
        "id": tile.id,
        "classes": tile.classes.tolist(),
        "shares": blocks.add(tile.shares),
        "planes": len(tile.shares),
        "boxes": {
            "count": len(boxes),
            "depth": blocks.add(boxes.depth),
            "start": blocks.add(boxes.start),
            "duration": blocks.add(boxes.duration),
            "name": blocks.add(boxes.name),
            "row": blocks.add(boxes.row),
            "class": blocks.add(boxes.class_),
        },
        "means": None if tile.means is None else blocks.add(tile.means.astype(np.float32)),
    }
