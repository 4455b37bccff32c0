"""What a format must offer to be readable: a name, a look at the first bytes, and a way to open.

An importer is a module-level `Importer` in its own file, listed in `load/registry.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wavescope.model.source import TraceSource


@dataclass(frozen=True)
class Probe:
    """What sniffing knows of a path without an importer's help."""

    path: Path
    head: bytes
    """The first bytes of the file, after gzip was undone; empty for a folder."""
    is_gzip: bool = False
    is_cut: bool = False
    """Whether gzip data ended before as much was read as is looked at."""
    is_folder: bool = False
    sqlite_tables: frozenset[str] = frozenset()
    """Names of tables when the file is an SQLite database."""
    siblings: tuple[Path, ...] = ()
    """Files of the folder, when the path is one."""


@dataclass(frozen=True)
class Importer:
    """One readable format."""

    name: str
    """How the format is called in messages, such as 'rocm-trace-lite'."""
    matches: Callable[[Probe], bool]
    open: Callable[[Path], TraceSource]
