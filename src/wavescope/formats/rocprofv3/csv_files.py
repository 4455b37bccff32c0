"""Which CSV files rocprofv3 wrote, told by their header, which belong together, their columns."""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.errors import UnreadableInputError
from wavescope.files import ByteStream
from wavescope.formats.csv_blocks import header_names
from wavescope.formats.rocprofv3.rows import GpuFacts, Rocprofv3Rows
from wavescope.model.columns import UNKNOWN

FOLDER_DEPTH = 3
FILE_LIMIT = 4096
_HEADER_BYTES = 8192


class CsvKind(enum.Enum):
    """What a file lists; the value is the columns that its header must have."""

    AGENTS = ("node_id", "logical_node_id", "agent_type")
    COUNTERS = ("correlation_id", "dispatch_id", "agent_id", "kernel_name", "counter_name")
    KERNELS = ("agent_id", "kernel_name", "start_timestamp", "end_timestamp")
    COPIES = ("direction", "source_agent_id", "start_timestamp")
    SCRATCH = ("operation", "alloc_flags", "start_timestamp")
    ALLOCATIONS = ("operation", "address", "start_timestamp")
    CALLS = ("domain", "function", "start_timestamp", "end_timestamp")


NEEDED_COLUMNS = {CsvKind.COUNTERS: "counter_value"}
"""What a file of that kind means nothing without."""

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


_AGENT = re.compile(r"([A-Za-z]*)\s*(\d{1,6})\s*\Z")


class CsvColumns:
    """The columns of some rows; a column that the file lacks is unknown throughout."""

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.row_count = len(rows)
        self._cells = dict(zip(header, zip(*rows, strict=True), strict=True)) if rows else {}

    def __contains__(self, name: str) -> bool:
        return name in self._cells

    def texts(self, *names: str) -> list[str]:
        """The cells of the first of `names` that is there, else empty texts."""
        for name in names:
            if name in self._cells:
                return list(self._cells[name])
        return [""] * self.row_count

    def integers(self, *names: str) -> npt.NDArray[np.int64]:
        """The numbers of the first of `names` that is there, -1 where a cell holds none."""
        for name in names:
            if name in self._cells:
                return _integers(self._cells[name])
        return np.full(self.row_count, UNKNOWN, np.int64)

    def reals(self, name: str) -> npt.NDArray[np.float64]:
        """The numbers of `name`, NaN where a cell holds none."""
        cells = self.texts(name)
        try:
            return np.array(list(map(float, cells)), np.float64)
        except ValueError:
            return np.array([_real(cell) for cell in cells], np.float64)


def _integers(cells: Sequence[str]) -> npt.NDArray[np.int64]:
    try:
        return np.array(list(map(int, cells)), np.int64)
    except (ValueError, OverflowError):
        return np.array([_integer(cell) for cell in cells], np.int64)


def _integer(cell: str) -> int:
    """The integer that a cell spells, also as 0x1f or 12.0; times never pass through a float."""
    text = cell.strip()
    whole, _, fraction = text.partition(".")
    if not fraction.strip("0"):
        text = whole
    try:
        number = int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        return UNKNOWN
    return number if -(1 << 63) <= number < 1 << 63 else UNKNOWN


def _real(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


class AgentNames:
    """Agents of one host, as agent_info.csv lists them or, without it, as the rows name them.

    Without that file nothing tells CPUs from GPUs, so 'Agent 3' then is GPU 3.
    """

    def __init__(self, rows: Rocprofv3Rows, host: str) -> None:
        self._rows = rows
        self._host = host
        self._gpus: dict[str, int] = {}
        self._is_listed = False

    def add(self, columns: CsvColumns) -> None:
        """Take rows of agent_info.csv."""
        self._is_listed = True
        logical = columns.integers("logical_node_id")
        nodes = columns.integers("node_id")
        is_gpu = np.array([kind.strip().upper() == "GPU" for kind in columns.texts("agent_type")])
        for index, row in enumerate(sorted(np.flatnonzero(is_gpu), key=lambda row: logical[row])):
            number = self._rows.gpu(
                GpuFacts(
                    host=self._host,
                    identity=int(nodes[row]),
                    number=index,
                    chip=columns.texts("name")[row],
                    model=columns.texts("product_name")[row],
                    cu_count=int(columns.integers("cu_count")[row]),
                    clock_mhz=int(columns.integers("max_engine_clk_fcompute")[row]),
                    wave_size=int(columns.integers("wave_front_size")[row]),
                )
            )
            self._gpus[f"agent {logical[row]}"] = number
            self._gpus.setdefault(f"agent {nodes[row]}", number)
            self._gpus[f"gpu {index}"] = number

    def gpus(self, agents: list[str]) -> Array:
        """The GPU of each agent id; 0 with a note where it is none."""
        known = {agent: self._gpu(agent) for agent in dict.fromkeys(agents)}
        found = np.array([known[agent] for agent in agents], np.int64)
        self._rows.builder.notes.add(
            "ops whose agent is not a known GPU, counted for GPU 0", int((found < 0).sum())
        )
        return np.maximum(found, 0)

    def copy_ends(self, agents: list[str], types: list[str], side: str) -> Array:
        """The GPU at one end of each copy, -1 for the host; `side` in a type tells of a GPU."""
        known: dict[tuple[str, str], int] = {}
        for key in dict.fromkeys(zip(agents, types, strict=True)):
            is_device = side in key[1] or (self._is_listed and "Device" not in key[1])
            known[key] = self._gpu(key[0]) if is_device else UNKNOWN
        return np.array([known[key] for key in zip(agents, types, strict=True)], np.int64)

    def _gpu(self, agent: str) -> int:
        match = _AGENT.match(agent.strip())
        if match is None:
            return UNKNOWN
        kind, number = match[1].lower(), int(match[2])
        if kind == "cpu":
            return UNKNOWN
        key = f"gpu {number}" if kind == "gpu" else f"agent {number}"
        if key not in self._gpus and not self._is_listed:
            identity = number if kind != "gpu" else key
            self._gpus[key] = self._rows.gpu(GpuFacts(self._host, identity, number))
        return self._gpus.get(key, UNKNOWN)
