"""Paths that users name: what they may be given as, what they can hold, how large that is."""

from __future__ import annotations

import enum
import os
from pathlib import Path

PathLike = str | os.PathLike[str]


class InputKind(str, enum.Enum):
    """The three things that commands look at; the value is what messages call it."""

    TRACE = "trace"
    CAPTURE = "capture"
    COUNTERS = "counter folder"


def bytes_at(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = (file for file in path.rglob("*") if file.is_file()) if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files)
