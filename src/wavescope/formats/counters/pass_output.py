"""One pass: what rocprofv3 left of it, and the file of the workload that it becomes.

rocprofv3 leaves counter CSVs or rocpd databases, one for each process. Workloads have wide CSVs, as
ROCm Compute Profiler reads them.
"""

from __future__ import annotations

import csv
import math
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import numpy as np

from wavescope.errors import UnreadableInputError
from wavescope.formats.counters.counter_columns import CounterColumns, LongForm, Repeated
from wavescope.formats.counters.counter_csv import CounterPivot
from wavescope.formats.counters.machine_files import opened_csv
from wavescope.model.counters import LAUNCH_COLUMNS, CounterTable, Integers
from wavescope.model.workload_layout import (
    ACCUMULATOR,
    ACCUMULATOR_SUFFIX,
    COUNTER_NAME,
    COUNTER_VALUE,
    DISPATCH_ID,
    END,
    GPU_ID,
    KERNEL_NAME,
    PROCESS_ID,
    START,
    collected_name,
)

_FORM = LongForm(
    (PROCESS_ID, DISPATCH_ID),
    Repeated.SUM,
    (PROCESS_ID, DISPATCH_ID, KERNEL_NAME, COUNTER_NAME, COUNTER_VALUE, START, END),
    hint="is this rocprofv3 of ROCm 6.2 or later? `rocprofv3 --version`",
)
"""A counter that is reported twice (by instance) is one whose instances were not summed up."""
_ROWS_AT_A_TIME = 4096
_COUNTER_QUERY = """
    SELECT pid AS process_id, dispatch_id, agent_abs_index AS agent_id, grid_size, kernel_name,
           workgroup_size, lds_block_size, scratch_size, vgpr_count, accum_vgpr_count, sgpr_count,
           counter_name, value AS counter_value, start AS start_timestamp, "end" AS end_timestamp
    FROM counters_collection
"""


class PassOutput(NamedTuple):
    """The dispatches of a pass in the order of its files, numbered from 0."""

    counters: CounterTable
    process_count: int


def read_pass_output(folder: Path) -> PassOutput:
    """What rocprofv3 left in `folder`, from CSV files or, where these hold nothing, databases."""
    pivot = CounterPivot(_FORM)
    for path in sorted(folder.rglob("*_counter_collection.csv")):
        pivot.add_file(path)
    if not pivot.count:
        for path in sorted(folder.rglob("*.db")):
            for columns, rows in _database_rows(path):
                pivot.add(columns, rows)
            pivot.end_file(path.name)
    table = pivot.table(folder)
    numbered = replace(
        table,
        dispatch_ids=np.arange(table.count, dtype=np.int64),
        gpu_ids=_numbered(np.maximum(table.gpu_ids, 0), _gpu_agents(folder)),
    )
    return PassOutput(numbered, pivot.process_count)


def _gpu_agents(folder: Path) -> set[int]:
    """Numbers of all agents that are GPUs, used or not, where rocprofv3 listed its agents."""
    agents: set[int] = set()
    for path in sorted(folder.rglob("*_agent_info.csv")):
        with suppress(UnreadableInputError), opened_csv(path) as (header, rows):
            for row in rows:
                agent = dict(zip(header, row, strict=False))
                if agent.get("Agent_Type") == "GPU" and agent.get("Node_Id", "").isdecimal():
                    agents.add(int(agent["Node_Id"]))
    return agents


def _numbered(agents: Integers, gpus: Collection[int]) -> Integers:
    """GPUs from 0 in the order of their agents: agents also count CPUs."""
    known = np.unique(np.concatenate([agents, np.array(sorted(gpus), dtype=np.int64)]))
    return np.searchsorted(known, agents)


def _database_rows(path: Path) -> Iterator[tuple[CounterColumns, Sequence[Sequence[str]]]]:
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
            cursor = connection.execute(_COUNTER_QUERY)
            columns = CounterColumns([column[0] for column in cursor.description])
            rows = ([str(cell) for cell in row] for row in cursor)
            while block := list(islice(rows, _ROWS_AT_A_TIME)):
                yield columns, block
    except sqlite3.Error as error:
        raise UnreadableInputError(path, f"it holds no counters: {error}") from error


def write_counter_csv(table: CounterTable, target: Path) -> None:
    """One row for each dispatch.

    Times of several passes count from 0, because passes have clocks of their own. In the file of a
    level counter its accumulator has the name of all accumulators.
    """
    launch = [name for name in LAUNCH_COLUMNS if name in table.columns]
    counters = table.counters
    starts = [0] * table.count if table.starts_ns is None else table.starts_ns.tolist()
    channels = [
        (f"{family}[{channel}]", family, channel)
        for family, block in table.channels.items()
        for channel in range(block.shape[1])
    ]
    unfinished = target.with_suffix(".unfinished")
    with unfinished.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        counted = [*counters, *(name for name, _, _ in channels)]
        plain = {f"{target.stem}{ACCUMULATOR_SUFFIX}": ACCUMULATOR}
        names = [
            collected_name(plain.get(name, name), table.system.get("gpu_arch", ""))
            for name in counted
        ]
        writer.writerow([DISPATCH_ID, GPU_ID, *launch, KERNEL_NAME, *names, START, END])
        for row, kernel in enumerate(table.kernels()):
            values = [table.columns[name][row] for name in counters]
            values += [table.channels[family][row, channel] for _, family, channel in channels]
            writer.writerow(
                [
                    int(table.dispatch_ids[row]),
                    int(table.gpu_ids[row]),
                    *(_text(table.columns[name][row]) for name in launch),
                    kernel,
                    *map(_text, values),
                    starts[row],
                    _end_text(starts[row], table.durations_ns[row]),
                ]
            )
    unfinished.replace(target)


def _end_text(start_ns: int, duration_ns: float) -> str:
    whole = not math.isnan(duration_ns) and float(duration_ns).is_integer()
    return str(start_ns + int(duration_ns)) if whole else _text(start_ns + duration_ns)


def _text(value: float) -> str:
    number = float(value)
    if math.isnan(number):
        return ""
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
