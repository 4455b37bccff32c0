"""Finds the recorded processes of a session folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from wavescope.store.chunks.layout import (
    CONTROL_SUFFIX,
    FACTS_SUFFIX,
    MAGIC,
    STREAMS,
    SUFFIXES,
)
from wavescope.store.chunks.process import BASE_NAME

_FACTS_HEAD = b'{"fact":'


def process_bases(names: Iterable[str]) -> list[str]:
    """The `<pid>-<start>` of every process that left data, the first to start first."""
    bases = set()
    for name in names:
        base, _, suffix = name.rpartition(".")
        if suffix in SUFFIXES and suffix != CONTROL_SUFFIX and BASE_NAME.fullmatch(base):
            bases.add(base)
    return sorted(bases, key=_start_and_pid)


def is_session(files: Iterable[Path]) -> bool:
    """Whether one of `files` is what a collector writes: told by name and by its first bytes."""
    for path in files:
        base, _, suffix = path.name.rpartition(".")
        if not BASE_NAME.fullmatch(base):
            continue
        heads = {FACTS_SUFFIX: _FACTS_HEAD, **{stream.suffix: MAGIC for stream in STREAMS}}
        if suffix in heads and _starts_with(path, heads[suffix]):
            return True
    return False


def files_of(folder: Path, bases: Iterable[str]) -> list[Path]:
    """The files in `folder` that the processes of `bases` wrote."""
    return [
        path
        for base in bases
        for suffix in SUFFIXES
        if (path := folder / f"{base}.{suffix}").is_file()
    ]


def _starts_with(path: Path, head: bytes) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb", buffering=0) as file:
            return os.read(file.fileno(), len(head)) == head
    except OSError:
        return False


def _start_and_pid(base: str) -> tuple[int, int]:
    pid, _, start = base.partition("-")
    return int(start), int(pid)
