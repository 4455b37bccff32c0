"""Gathers what rocprofv3 wrote in one pass into one CSV file of the workload folder.

Its counter files have a row for each counter of each dispatch. Here a dispatch is a row and a
counter a column, as in the folders of ROCm Compute Profiler.
"""

from __future__ import annotations

import csv
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from wavescope.errors import UnreadableInputError
from wavescope.model.workload_layout import (
    ACCUMULATOR,
    ACCUMULATOR_SUFFIX,
    DISPATCH_ID,
    END,
    GPU_ID,
    KERNEL_NAME,
    START,
)

_ID_COLUMNS = {
    "grid_size": "Grid_Size",
    "workgroup_size": "Workgroup_Size",
    "lds_block_size": "LDS_Per_Workgroup",
    "scratch_size": "Scratch_Per_Workitem",
    "vgpr_count": "Arch_VGPR",
    "accum_vgpr_count": "Accum_VGPR",
    "sgpr_count": "SGPR",
}
"""What rocprofv3 calls the numbers of a launch, and what a workload folder does."""
_NEEDED = ("process_id", "dispatch_id", "kernel_name", "counter_name", "counter_value")
_LAST_NUMBER = re.compile(r"(\d+)\D*$")
_COUNTER_QUERY = """
    SELECT pid AS process_id, dispatch_id, agent_abs_index AS agent_id, grid_size, kernel_name,
           workgroup_size, lds_block_size, scratch_size, vgpr_count, accum_vgpr_count, sgpr_count,
           counter_name, value AS counter_value, start AS start_timestamp, "end" AS end_timestamp
    FROM counters_collection
"""


@dataclass
class Dispatch:
    """One dispatch of one process: the numbers of its launch, its times, and its counters."""

    kernel: str
    gpu: int
    launch: dict[str, str]
    start_ns: int
    end_ns: int
    counters: dict[str, float] = field(default_factory=dict)


@dataclass
class PassOutput:
    """All dispatches of a pass, in the order of their processes' files and of their ids."""

    dispatches: list[Dispatch]
    processes: int
    notes: list[str]

    @property
    def counters(self) -> list[str]:
        """The counters that any dispatch has, in order of first sight."""
        return list(dict.fromkeys(name for each in self.dispatches for name in each.counters))


def read_pass_output(folder: Path) -> PassOutput:
    """What rocprofv3 left in `folder`, from CSV files or rocpd databases."""
    notes: list[str] = []
    dispatches: dict[tuple[str, int, int], Dispatch] = {}
    processes: set[tuple[str, str]] = set()
    spoiled = 0
    for path in sorted(folder.rglob("*_counter_collection.csv")):
        for row in _csv_rows(path):
            processes.add((str(path), row.get("process_id", "")))
            spoiled += not _take(dispatches, str(path), row)
    if not dispatches:
        for path in sorted(folder.rglob("*.db")):
            for row in _database_rows(path):
                processes.add((str(path), row.get("process_id", "")))
                spoiled += not _take(dispatches, str(path), row)
    if spoiled:
        notes.append(f"{spoiled} rows of counters could not be read and were left out")
    every = list(dispatches.values())
    _number_gpus(every, _gpu_agents(folder))
    return PassOutput(every, len(processes), notes)


def write_pass_csv(output: PassOutput, target: Path, level: str = "") -> None:
    """Write one row for each dispatch; in a level pass the accumulator has its plain name."""
    columns = [DISPATCH_ID, GPU_ID, *_ID_COLUMNS.values(), KERNEL_NAME]
    counters = output.counters
    shown = [
        ACCUMULATOR if level and name == level + ACCUMULATOR_SUFFIX else name for name in counters
    ]
    with target.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*columns, *shown, START, END])
        for number, each in enumerate(output.dispatches):
            launch = [each.launch.get(name, "") for name in _ID_COLUMNS.values()]
            values = [_number_text(each.counters.get(name)) for name in counters]
            writer.writerow(
                [number, each.gpu, *launch, each.kernel, *values, each.start_ns, each.end_ns]
            )


def _take(
    dispatches: dict[tuple[str, int, int], Dispatch], path: str, row: Mapping[str, str]
) -> bool:
    """Add a row's counter to its dispatch; whether it could be read."""
    try:
        key = (path, int(row["process_id"] or 0), int(row["dispatch_id"]))
        value = float(row["counter_value"])
        start_ns, end_ns = int(row["start_timestamp"]), int(row["end_timestamp"])
        name = row["counter_name"]
    except (KeyError, ValueError):
        return False
    dispatch = dispatches.get(key)
    if dispatch is None:
        launch = {shown: row.get(name, "") for name, shown in _ID_COLUMNS.items()}
        found = _LAST_NUMBER.search(row.get("agent_id", ""))
        gpu = int(found.group(1)) if found else 0
        dispatch = Dispatch(row["kernel_name"], gpu, launch, start_ns, end_ns)
        dispatches[key] = dispatch
    # A counter that is reported twice (by instance) is one whose instances were not summed up.
    dispatch.counters[name] = dispatch.counters.get(name, 0.0) + value
    return True


def _gpu_agents(folder: Path) -> set[int]:
    """Numbers of all agents that are GPUs, used or not, where rocprofv3 listed its agents."""
    agents: set[int] = set()
    for path in sorted(folder.rglob("*_agent_info.csv")):
        with (
            suppress(OSError, csv.Error, ValueError),
            path.open(encoding="utf-8-sig", errors="replace", newline="") as stream,
        ):
            for row in csv.DictReader(stream):
                if row.get("Agent_Type") == "GPU":
                    agents.add(int(row.get("Node_Id") or ""))
    return agents


def _number_gpus(dispatches: Sequence[Dispatch], gpus: set[int]) -> None:
    """GPUs from 0 in the order of their agents: agents also count CPUs."""
    agents = sorted(gpus | {each.gpu for each in dispatches})
    numbers = {agent: number for number, agent in enumerate(agents)}
    for each in dispatches:
        each.gpu = numbers[each.gpu]


def _csv_rows(path: Path) -> Iterator[dict[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            rows = csv.reader(stream)
            header = [name.strip().lower() for name in next(rows, [])]
            _require_columns(path, header)
            for row in rows:
                yield dict(zip(header, row, strict=False))
    except csv.Error as error:
        raise UnreadableInputError(path, f"it is no CSV: {error}") from error


def _database_rows(path: Path) -> Iterator[dict[str, str]]:
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
            cursor = connection.execute(_COUNTER_QUERY)
            header = [column[0] for column in cursor.description]
            for row in cursor:
                yield dict(zip(header, map(str, row), strict=True))
    except sqlite3.Error as error:
        raise UnreadableInputError(path, f"it holds no counters: {error}") from error


def _require_columns(path: Path, header: Sequence[str]) -> None:
    missing = [name for name in _NEEDED if name not in header]
    if missing:
        raise UnreadableInputError(
            path,
            f"it has no column {missing[0]}",
            hint="is this rocprofv3 of ROCm 6.2 or later? `rocprofv3 --version`",
        )


def _number_text(value: float | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
