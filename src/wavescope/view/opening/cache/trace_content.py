"""What tells the content of a trace from all others, without reading much of it."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from wavescope.version import __version__

CACHE_VERSION = 1
"""Raised with every change of what is kept or of how a trace becomes lanes."""
_BLOCKS = 16
_BLOCKS_OF_MANY = 2
"""Of each of many files: the first and the last."""
_BLOCK_BYTES = 1 << 16
_MOST_FILES = 512
_LOG = "-wal"


def content_key(path: Path, trace_format: str) -> str:
    """A name for the content of a file or folder; empty where it has none that can be trusted.

    It is made of sizes, times of change and digests of blocks that are spread over each file.
    """
    digest = hashlib.blake2b(digest_size=20)
    _add(digest, "wavescope", __version__, CACHE_VERSION, trace_format)
    try:
        files = _files(path)
        blocks = _BLOCKS if len(files) <= 2 else _BLOCKS_OF_MANY
        for name, file in files:
            if not stat.S_ISREG(file.stat().st_mode):
                return ""  # opening a pipe would wait for whoever writes to it
            with file.open("rb") as opened:
                facts = os.fstat(opened.fileno())
                _add(digest, name, facts.st_size, facts.st_mtime_ns)
                for block in range(blocks):
                    offset = (facts.st_size - _BLOCK_BYTES) * block // (blocks - 1)
                    opened.seek(max(0, offset))
                    digest.update(opened.read(_BLOCK_BYTES))
                    if facts.st_size <= _BLOCK_BYTES:
                        break
    except (OSError, ValueError):
        return ""
    return digest.hexdigest()


def _files(path: Path) -> list[tuple[str, Path]]:
    """The files that a trace consists of; ValueError where there are too many to look at."""
    if not path.is_dir():
        log = path.with_name(path.name + _LOG)
        return [("", path), *([(_LOG, log)] if log.exists() else [])]
    found: list[tuple[str, Path]] = []
    for file in path.rglob("*"):
        if file.is_file():
            found.append((os.fsencode(file.relative_to(path)).hex(), file))
        if len(found) > _MOST_FILES:
            raise ValueError(path)
    return sorted(found)


def _add(digest: hashlib.blake2b, *values: object) -> None:
    for value in values:
        digest.update(repr(value).encode() + b"\0")
