"""Passes: what rocprofv3 left of one, the file of the workload that it becomes, and all joined.

rocprofv3 leaves counter CSVs or rocpd databases, one for each process. Workloads have wide CSVs, as
ROCm Compute Profiler reads them.

Joined are runs of the same program with other counters. Dispatches are paired by kernel, grid and
occurrence: the third launch of a kernel with a grid in one pass is the third in every pass. What
finds no partner is counted and reported, never dropped in silence.

In a multiplexed run each launch of a kernel has the counters of one group only. Launches of one
kernel (and, if asked, of the same size) are taken to be alike: what a launch lacks is the mean over
those that have it. How many they are and how far they scatter is kept, for all that is computed
from them.
"""

from __future__ import annotations

import csv
import json
import math
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wavescope.arrays.student_t import quantile
from wavescope.errors import UnreadableInputError
from wavescope.formats.counters.counter_columns import CounterColumns, LongForm, Repeated
from wavescope.formats.counters.counter_csv import CounterPivot
from wavescope.formats.counters.machine_files import opened_csv
from wavescope.formats.sqlite.guarded import raise_if_stopped
from wavescope.formats.sqlite.sqlite_open import ReadOnlyDatabase, sqlite_errors
from wavescope.model.counters import (
    LAUNCH_COLUMNS,
    CounterTable,
    Floats,
    Integers,
    MultiplexedCounter,
    MultiplexedKernel,
)
from wavescope.model.progress import Notes
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
    present_name,
)
from wavescope.units import counted
from wavescope.whole_files import whole_file

_FORM = LongForm(
    (PROCESS_ID, DISPATCH_ID),
    Repeated.SUM,
    (PROCESS_ID, DISPATCH_ID, KERNEL_NAME, COUNTER_NAME, COUNTER_VALUE, START, END),
    hint="is this rocprofv3 of ROCm 6.2 or later? `rocprofv3 --version`",
)
"""A counter that is reported twice (by instance) is one whose instances were not summed up."""
_ROWS_AT_A_TIME = 4096
_MOST_DESCRIPTION_BYTES = 16 << 20
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
    with sqlite_errors(path), closing(ReadOnlyDatabase(path, reads_views=True)) as database:
        try:
            cursor = database.connection.execute(_COUNTER_QUERY)
        except sqlite3.Error as error:
            raise_if_stopped(error)
            raise UnreadableInputError(path, f"it holds no counters: {error}") from error
        columns = CounterColumns([column[0] for column in cursor.description])
        rows = ([str(cell) for cell in row] for row in cursor)
        while block := list(islice(rows, _ROWS_AT_A_TIME)):
            yield columns, block


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


DispatchKey = tuple[str, float, int]
_MISSING = -1


def dispatch_keys(table: CounterTable) -> list[DispatchKey]:
    """For each dispatch its kernel, grid and which occurrence of them it is."""
    grids = table.columns.get("Grid_Size")
    sizes = [0.0] * table.count if grids is None else np.nan_to_num(grids, nan=-1.0).tolist()
    seen: Counter[tuple[str, float]] = Counter()
    keys = []
    for kernel, size in zip(table.kernels(), sizes, strict=True):
        occurrence = seen[kernel, size]
        seen[kernel, size] += 1
        keys.append((kernel, size, occurrence))
    return keys


class Pairing:
    """For each dispatch of the first pass the row of another pass that shows the same launch."""

    def __init__(self, keys: Sequence[DispatchKey]) -> None:
        self._keys = list(keys)

    def rows_of(self, table: CounterTable, notes: Notes) -> Integers | None:
        """Row numbers (-1: none; None: the same order); it is noted when some have no partner."""
        other = dispatch_keys(table)
        if other == self._keys:
            return None
        place = {key: row for row, key in enumerate(other)}
        rows = np.array([place.get(key, _MISSING) for key in self._keys], dtype=np.int64)
        alone = int((rows == _MISSING).sum())
        left_over = len(set(other) - set(self._keys))
        found = []
        if alone:
            found.append(f"{alone} of {len(self._keys)} dispatches were not found in this pass")
        if left_over:
            found.append(f"{left_over} of its dispatches were left out, as other passes lack them")
        if found:
            what = ", ".join(found)
            notes.add(f"{Path(table.path).name}: {what} (different launches in each run?)")
        return rows


def placed(values: Floats, rows: Integers | None) -> Floats:
    """`values` in the order of the first pass, NaN where there is no partner."""
    if rows is None:
        return values
    if not len(values):
        return np.full(len(rows), np.nan)
    return np.where(rows == _MISSING, np.nan, values[np.maximum(rows, 0)])


def joined(passes: Sequence[CounterTable], notes: Notes) -> CounterTable:
    """One table of all passes, with how long each dispatch took in each of them.

    The pass with most dispatches decides which there are. A counter of several passes comes from
    the first that has it; the duration is the mean over the passes.
    """
    first = max(passes, key=lambda table: table.count)
    pairing = Pairing(dispatch_keys(first))
    columns = dict(first.columns)
    spans: dict[str, Floats] = {}
    for sentence in (sentence for table in passes for sentence in table.notes.sentences()):
        notes.add(sentence)
    for table in passes:
        rows = pairing.rows_of(table, notes)
        for name, values in table.columns.items():
            if name not in columns:
                columns[name] = placed(values, rows)
        if has_times(table):
            spans[Path(table.path).stem] = placed(table.durations_ns, rows)
    durations = _mean_over(list(spans.values())) if spans else first.durations_ns
    return replace(
        first,
        columns=columns,
        durations_ns=durations,
        pass_durations_ns=spans,
        starts_ns=None,
        notes=notes,
    )


def has_times(table: CounterTable) -> bool:
    """Whether any dispatch has a duration."""
    return bool(np.isfinite(table.durations_ns).any())


def _mean_over(columns: Sequence[Floats]) -> Floats:
    stacked = np.vstack(columns)
    known = np.isfinite(stacked)
    totals = np.where(known, stacked, 0.0).sum(axis=0)
    counts = known.sum(axis=0)
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)


_BY_LAUNCH = "kernel_launch_params"
_LAUNCH_KEY = ("Grid_Size", "Workgroup_Size", "LDS_Per_Workgroup")


def complete_multiplexed(table: CounterTable, path: Path) -> CounterTable:
    """The table with what launches lack filled in, as the file that describes the run says."""
    policy, groups = _description(path)
    keys = _keys(table, by_launch=policy == _BY_LAUNCH)
    completed = replace(
        table,
        columns={name: values.copy() for name, values in table.columns.items()},
    )
    kernels = [
        _completed(completed, np.flatnonzero(keys == key), groups)
        for key in range(int(keys.max()) + 1 if len(keys) else 0)
    ]
    lacking = [each for each in kernels if each.measured_groups < each.groups]
    if lacking:
        shown = ", ".join(f"{each.kernel} ({each.dispatches})" for each in lacking[:5])
        table.notes.add(
            f"kernels launched too few times to meet all {len(groups)} groups of counters lack "
            f"some metrics; {counted(len(lacking), 'kernel')}: {shown}"
        )
    return replace(completed, multiplexed=kernels)


def _description(path: Path) -> tuple[str, list[list[str]]]:
    try:
        content = json.loads(whole_file(path, _MOST_DESCRIPTION_BYTES, "a description"))
        policy = str(content["policy"])
        groups = [[present_name(str(name)) for name in group] for group in content["groups"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableInputError(path, f"it does not describe multiplexing: {error}") from error
    return policy, groups


def _keys(table: CounterTable, *, by_launch: bool) -> Integers:
    """For each dispatch the number of the launches it is alike."""
    columns = [table.kernel_codes.astype(np.float64)]
    if by_launch:
        columns += [table.columns[name] for name in _LAUNCH_KEY if name in table.columns]
    stacked = np.nan_to_num(np.stack(columns), nan=-1.0)
    _, keys = np.unique(stacked, axis=1, return_inverse=True)
    return keys.reshape(-1).astype(np.int64)


def _completed(
    table: CounterTable, rows: Integers, groups: Sequence[Sequence[str]]
) -> MultiplexedKernel:
    """Fill in what the launches `rows` lack."""
    kernel = table.kernel_names[int(table.kernel_codes[rows[0]])]
    counters = []
    for name in table.counters:
        values = table.columns[name]
        own = values[rows]
        known = own[np.isfinite(own)]
        if not len(known):
            continue
        mean, interval = float(known.mean()), 100 * relative_interval(known)
        counters.append(MultiplexedCounter(kernel, name, len(known), mean, interval))
        values[rows] = np.where(np.isfinite(own), own, mean)
    measured = {each.counter for each in counters}
    widest = max(counters, key=lambda each: each.interval_percent, default=None)
    is_known = widest is not None and widest.interval_percent > 0
    return MultiplexedKernel(
        kernel,
        len(rows),
        sum(any(name in measured for name in group) for group in groups),
        len(groups),
        min((each.launches for each in counters), default=len(rows)),
        widest.interval_percent if widest else 0.0,
        widest.counter if widest and is_known else "",
        tuple(counters),
    )


def relative_interval(values: Floats) -> float:
    """Half the width of the mean's 95 % confidence interval, as a share of the mean."""
    mean, count = float(values.mean()), len(values)
    if count < 2 or mean == 0:
        return 0.0
    return quantile(0.975, count - 1) * float(values.std(ddof=1)) / math.sqrt(count) / abs(mean)
