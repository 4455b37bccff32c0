"""How rows of several sources become rows of one trace: new ids, GPUs kept apart, ranks.

Ids are shifted, never looked up, so that merging needs no memory per row. A GPU seen by two sources
is one GPU only when both say the same uuid on the same host; otherwise equal numbers are different.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.coded_columns import different_values
from wavescope.errors import UnreadableInputError
from wavescope.model.columns import (
    AGENTS,
    CALLS,
    KERNELS,
    MARKERS,
    OPS,
    PROCESSES,
    UNKNOWN,
    ColumnType,
    Table,
)
from wavescope.model.source import Batch, TraceSource, read_columns
from wavescope.model.strings import StringTable


class RankFrom(enum.Enum):
    """Where the rank of a process comes from when its trace does not say."""

    NOWHERE = "nowhere"
    ORDER = "order"
    NAME = "name"


_ID_SPACE = {"id": None, "call": CALLS, "op": OPS, "marker": MARKERS, "kernel": KERNELS}
_LARGEST_ID = 1 << 53
_RANK_IN_NAME = re.compile(r"rank[-_.]?(\d+)|(?:^|[-_.])r(\d+)(?=[-_.]|$)", re.IGNORECASE)


@dataclass
class SourcePlan:
    """What is added to, or looked up for, the values of one source."""

    source: TraceSource
    offsets: dict[str, int]
    """By table name: added to ids of that table."""
    gpus: dict[int, int]
    """GPU number in the source -> number in the merged trace."""
    processes: int
    """Process rows of the source; when there is one, rows of unknown process are its."""
    rank: int = UNKNOWN
    """Rank of the source's processes where they do not state one."""
    _codes: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))

    def remapped(self, table: Table, batch: Batch, strings: StringTable) -> Batch:
        """`batch` with ids, GPUs, processes and string codes of the merged trace."""
        result: Batch = {}
        for name, values in batch.items():
            if table.column(name).type is ColumnType.STRING:
                result[name] = self._string_codes(values, strings)
            elif name == "gpu":
                result[name] = self._gpu_numbers(values)
            elif name == "process" or (name == "id" and table is PROCESSES):
                result[name] = self._process_ids(values)
            elif name in _ID_SPACE:
                space = (_ID_SPACE[name] or table).name
                result[name] = np.where(values >= 0, values + self.offsets[space], values)
            else:
                result[name] = values
        return result

    def _string_codes(self, codes: Array, strings: StringTable) -> Array:
        own = self.source.strings
        if len(self._codes) < len(own):
            new = [strings.code(own[code]) for code in range(len(self._codes), len(own))]
            self._codes = np.concatenate((self._codes, np.array(new, np.int32)))
        if not len(self._codes):
            return codes
        return np.where(codes >= 0, self._codes[np.maximum(codes, 0)], codes)

    def _gpu_numbers(self, gpus: Array) -> Array:
        if all(old == new for old, new in self.gpus.items()):
            return gpus
        old = np.array(sorted(self.gpus), np.int64)
        new = np.array([self.gpus[gpu] for gpu in old.tolist()], np.int64)
        places = np.minimum(np.searchsorted(old, gpus), len(old) - 1)
        return np.where(old[places] == gpus, new[places], gpus)

    def _process_ids(self, processes: Array) -> Array:
        shifted = processes + self.offsets[PROCESSES.name]
        only = self.offsets[PROCESSES.name] if self.processes == 1 else UNKNOWN
        return np.where(processes >= 0, shifted, only)


def plan_merge(sources: Sequence[TraceSource], rank_from: RankFrom) -> list[SourcePlan]:
    """A plan per source: id offsets one after another, GPU numbers without collisions."""
    for source in sources:
        _require_shiftable(source)
    totals = {
        table.name: sum(source.row_count(table) for source in sources)
        for table in (OPS, MARKERS, CALLS, KERNELS)
    }
    next_ids = dict.fromkeys(totals, 0)
    next_ids[MARKERS.name] = totals[OPS.name]
    next_process = 0
    gpu_numbers = _GpuNumbers()
    plans = []
    for index, source in enumerate(sources):
        processes = max(1, source.row_count(PROCESSES))
        plans.append(
            SourcePlan(
                source,
                {**next_ids, PROCESSES.name: next_process},
                gpu_numbers.of_source(source),
                processes,
                _rank(rank_from, index, source.path),
            )
        )
        for table in (OPS, MARKERS, CALLS, KERNELS):
            next_ids[table.name] += source.row_count(table)
        next_process += processes
    return plans


def _require_shiftable(source: TraceSource) -> None:
    """Refuse a source with ids so large that adding to them could leave 64 bits."""
    for table in (OPS, MARKERS, CALLS, KERNELS):
        if source.row_count(table) > _LARGEST_ID:
            raise UnreadableInputError(
                source.path,
                f"the ids of its {table.name} go beyond {_LARGEST_ID:,}",
                hint="is the file damaged? `wavescope summary` may still read it",
            )


class _GpuNumbers:
    """Gives out GPU numbers: the source's own where free, else the next free one."""

    def __init__(self) -> None:
        self._by_identity: dict[tuple[str, str], int] = {}
        self._used: set[int] = set()

    def of_source(self, source: TraceSource) -> dict[int, int]:
        identities = _gpu_identities(source)
        numbers: dict[int, int] = {}
        taken = set(self._used)
        for gpu in sorted(identities):
            identity = identities[gpu]
            if identity in self._by_identity:
                numbers[gpu] = self._by_identity[identity]
                continue
            numbers[gpu] = number = gpu if gpu not in taken else _next_free(taken | set(identities))
            taken.add(number)
            if identity is not None:
                self._by_identity[identity] = number
        self._used |= set(numbers.values())
        return numbers


def _next_free(taken: set[int]) -> int:
    number = 0
    while number in taken:
        number += 1
    return number


def _gpu_identities(source: TraceSource) -> dict[int, tuple[str, str] | None]:
    """The GPUs that a source's ops and agents name; None where nothing tells which one it is."""
    used: set[int] = set()
    for batch in source.batches(OPS, ("gpu",)):
        used.update(different_values(batch["gpu"]).tolist())
    identities: dict[int, tuple[str, str] | None] = {gpu: None for gpu in used if gpu >= 0}
    agents = read_columns(source, AGENTS, ("gpu", "host", "uuid"))
    for gpu, host, uuid in zip(*(agents[name].tolist() for name in agents), strict=True):
        text = source.strings[uuid]
        identities[gpu] = (source.strings[host], text) if text else None
    return identities


def _rank(rank_from: RankFrom, index: int, path: str) -> int:
    if rank_from is RankFrom.ORDER:
        return index
    if rank_from is RankFrom.NAME:
        found = _RANK_IN_NAME.search(PurePath(path).name)
        if found:
            return int(found.group(1) or found.group(2))
    return UNKNOWN
