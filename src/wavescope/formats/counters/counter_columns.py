"""The columns of counter CSVs in the spellings of all tools, and how rows become dispatches."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wavescope.errors import UnreadableInputError
from wavescope.model.counters import LAUNCH_COLUMNS
from wavescope.model.workload_layout import (
    COUNTER_NAME,
    COUNTER_VALUE,
    DISPATCH_ID,
    END,
    GPU_ID,
    KERNEL_NAME,
    PROCESS_ID,
    START,
)

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    KERNEL_NAME: ("kernel_name", "kernelname", "name"),
    DISPATCH_ID: ("dispatch_id", "dispatch", "index", "correlation_id"),
    PROCESS_ID: ("process_id", "pid", "guid"),
    GPU_ID: ("gpu_id", "agent_id"),
    START: ("start_timestamp", "beginns", "start"),
    END: ("end_timestamp", "endns", "end"),
    COUNTER_NAME: ("counter_name",),
    COUNTER_VALUE: ("counter_value",),
    "Grid_Size": ("grid_size",),
    "Workgroup_Size": ("workgroup_size",),
    "LDS_Per_Workgroup": ("lds_per_workgroup", "lds_block_size"),
    "Scratch_Per_Workitem": ("scratch_per_workitem", "scratch_size"),
    "Arch_VGPR": ("arch_vgpr", "vgpr_count"),
    "Accum_VGPR": ("accum_vgpr", "accum_vgpr_count"),
    "SGPR": ("sgpr", "sgpr_count"),
}
"""What a column is called, in lower case; the first spelling that a file has is meant."""
Wanted = Callable[[str], bool]


class Repeated(enum.Enum):
    """What becomes of a counter that a dispatch has more than once."""

    MEAN = "mean"
    """It was measured in several passes; the duration is the median of theirs."""
    SUM = "sum"
    """Each value is of another instance of the block."""


@dataclass(frozen=True)
class LongForm:
    """How the rows of a long file become dispatches."""

    key: tuple[str, ...]
    """Columns in which the rows of a dispatch agree."""
    repeated: Repeated
    required: tuple[str, ...] = (KERNEL_NAME,)
    joins_files: bool = False
    """Whether rows of several files can be of one dispatch."""
    hint: str = "rocprofv3 --pmc ... -f csv writes *_counter_collection.csv"
    """What to do about a file that lacks them."""


PASSES_OF_A_WORKLOAD = LongForm(
    (DISPATCH_ID, KERNEL_NAME, "Grid_Size", "Workgroup_Size", "LDS_Per_Workgroup"),
    Repeated.MEAN,
    (DISPATCH_ID, KERNEL_NAME, "Grid_Size", "Workgroup_Size", "LDS_Per_Workgroup", START, END),
    joins_files=True,
)
"""A dispatch is the same in all passes, which begin at other times."""
WIDE = LongForm((), Repeated.MEAN)
RUNS = LongForm((PROCESS_ID, DISPATCH_ID, KERNEL_NAME, START), Repeated.SUM)
"""The same dispatch with another start is another run of it."""


class CounterColumns:
    """Where the columns of a file are, under the names that workloads use."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        header = [name.lower() for name in names]
        self.places: dict[str, int] = {}
        for name, spellings in SPELLINGS.items():
            found = next((header.index(each) for each in spellings if each in header), None)
            if found is not None:
                self.places[name] = found

    @property
    def is_long(self) -> bool:
        """Whether there is a row for each counter."""
        return COUNTER_NAME in self.places and COUNTER_VALUE in self.places

    def numbers(self, wanted: Wanted) -> list[tuple[str, int]]:
        """The wanted counters and the numbers of launches of a wide file."""
        first: dict[str, int] = {}
        for place, name in enumerate(self.names):
            first.setdefault(name, place)
        launch = {self.places[name]: name for name in LAUNCH_COLUMNS if name in self.places}
        return [
            (launch.get(place, name), place)
            for name, place in first.items()
            if place in launch or (place not in self.places.values() and wanted(name))
        ]

    def require(self, path: Path, form: LongForm) -> None:
        """Refuse a file that lacks a column."""
        for name in form.required:
            if name not in self.places:
                raise UnreadableInputError(path, f"it has no column {name}", hint=form.hint)
