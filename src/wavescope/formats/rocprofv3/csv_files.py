"""Which CSV files rocprofv3 wrote, told by their header, and which of them belong together."""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from wavescope.errors import UnreadableInputError
from wavescope.formats.csv_blocks import header_names
from wavescope.formats.files import ByteStream

FOLDER_DEPTH = 3
FILE_LIMIT = 4096
_HEADER_BYTES = 8192


class CsvKind(enum.Enum):
    """What a file lists; the value is the columns that its header must have."""

    AGENTS = ("node_id", "logical_node_id", "agent_type")
    COUNTERS = ("correlation_id", "dispatch_id", "agent_id", "kernel_name", "counter_name")
    KERNELS = ("agent_id", "dispatch_id", "kernel_name", "start_timestamp")
    COPIES = ("direction", "source_agent_id", "start_timestamp")
    SCRATCH = ("operation", "alloc_flags", "start_timestamp")
    ALLOCATIONS = ("operation", "address", "start_timestamp")
    CALLS = ("domain", "function", "start_timestamp", "end_timestamp")


_SUFFIX = re.compile(
    r"(?:\A|_)(?:agent_info|counter_collection|kernel_trace|memory_copy_trace|"
    r"memory_allocation_trace|scratch_memory_trace|(?:[a-z0-9]+_)?api_trace)\Z"
)
_NAME = re.compile(r"\.csv(?:\.gz)?\Z", re.IGNORECASE)


@dataclass
class FileGroup:
    """Files of one process (or of one set of processes): one folder, one prefix."""

    folder: Path
    prefix: str
    files: list[tuple[CsvKind, Path]] = field(default_factory=list)


def kind_of_header(line: bytes) -> CsvKind | None:
    """What the file with this first line lists, if rocprofv3 could have written it."""
    names = set(header_names(line.decode("utf-8", "replace")))
    for kind in CsvKind:
        if names.issuperset(kind.value):
            return kind
    return None


def kind_of_file(path: Path) -> CsvKind | None:
    """As `kind_of_header`, for a file that may be gzipped."""
    with ByteStream(path) as stream:
        head = stream.read(_HEADER_BYTES)
    return kind_of_header(head.split(b"\n", 1)[0])


def groups_in_folder(folder: Path) -> tuple[list[FileGroup], int]:
    """All sets of files in a folder and its sub-folders (`pass_1`, host names).

    The number tells how many CSV files could not be opened.
    """
    groups: dict[tuple[Path, str], FileGroup] = {}
    unreadable = 0
    for path in _csv_files(folder):
        key = (path.parent, prefix_of(path))
        try:
            kind = kind_of_file(path)
        except UnreadableInputError:
            kind = None
            unreadable += 1
        if kind is not None:
            groups.setdefault(key, FileGroup(*key)).files.append((kind, path))
    traces = [
        group
        for group in groups.values()
        if any(kind is not CsvKind.AGENTS for kind, _ in group.files)
    ]
    return traces, unreadable


def group_of_file(path: Path) -> tuple[FileGroup, int]:
    """The file with those beside it of the same prefix, and how many of these cannot be read."""
    group = FileGroup(path.parent, prefix_of(path))
    unreadable = 0
    for sibling in sorted(path.parent.iterdir()):
        if sibling == path or _belongs(sibling, group.prefix):
            try:
                kind = kind_of_file(sibling)
            except UnreadableInputError:
                if sibling == path:
                    raise
                kind = None
                unreadable += 1
            if kind is not None:
                group.files.append((kind, sibling))
    return group, unreadable


def prefix_of(path: Path) -> str:
    """What precedes `_kernel_trace.csv` and the like."""
    return _SUFFIX.sub("", _NAME.sub("", path.name))


def _belongs(path: Path, prefix: str) -> bool:
    stem = _NAME.sub("", path.name)
    is_ours = stem != path.name and _SUFFIX.search(stem) is not None
    return is_ours and prefix_of(path) == prefix and path.is_file()


def _csv_files(folder: Path) -> Iterator[Path]:
    """CSV files a few folders down, by name; links to folders are not followed."""
    found = 0
    for parent, folders, names in os.walk(folder):
        level = len(Path(parent).relative_to(folder).parts)
        folders[:] = sorted(folders, key=_natural) if level + 1 < FOLDER_DEPTH else []
        for name in sorted(names, key=_natural):
            if _NAME.search(name):
                found += 1
                if found > FILE_LIMIT:
                    return
                yield Path(parent, name)


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts pass_2 before pass_10."""
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)
    ]
