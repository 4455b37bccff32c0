"""What a profiler writes down of a run: the trace of each rank, by the rank's own clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import orjson

from tests.rank_jobs.layout import Hosts, Layout
from tests.rank_jobs.machine import Issued, Run
from tests.rank_jobs.noise import Values
from tests.rank_jobs.truth import Integers, TrueClock
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import AGENTS, CALLS, LINKS, MARKERS, OPS, PROCESSES
from wavescope.model.op_kinds import KERNEL_TYPE, MARKER_TYPE

HOST_THREAD = 4242
LAUNCH = "hipLaunchKernel"
GRAPH_LAUNCH = "hipGraphLaunch"
RECORD = "record_param_comms"
WORKGROUP = 256
_MOST_LISTED_RANKS = 30


@dataclass(frozen=True)
class Gpu:
    """What stands in the table of GPUs."""

    model: str = "AMD Instinct MI300X"
    chip: str = "gfx942"
    clock_mhz: int = 2100
    compute_units: int = 304


SLOWER_GPU = Gpu("AMD Instinct MI250X", "gfx90a", 1700, 104)


@dataclass(frozen=True)
class Recorder:
    """How the trace of one rank is recorded."""

    rank: int
    clock: TrueClock
    begin_ns: float
    """True time; what began before is not seen."""
    end_ns: float
    """What ended after is not seen."""
    gpu: Gpu = Gpu()
    lost_exchanges: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Detail:
    """What the profiler writes."""

    arguments: bool = True
    """Whether the collectives' arguments stand around their launches."""
    host_calls: bool = True
    """Whether there are launches at all."""
    step_name: str = "ProfilerStep#{}"
    """What step markers are called; without any if empty."""


class RankRows(NamedTuple):
    """What one rank did, in true time, as columns; ops in the order in which they began."""

    op: Integers
    """Rows of the run's ops."""
    start: Values
    end: Values
    call: Integers
    """The row of the call that launched each op, -1 if it was not seen."""
    call_start: Values
    call_end: Values
    call_op: Integers
    """For each call the run's op that it launched first."""
    is_graph: np.ndarray


class RunColumns:
    """The ops of a run as matrices [op, rank]."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.issued = run.issued

    def _stacked(self, name: str) -> Values:
        first = self.issued[0].start
        unknown = np.full(len(first), -1.0)
        values = [getattr(each, name) for each in self.issued]
        return np.stack([unknown if value is None else value for value in values])

    @cached_property
    def start(self) -> Values:
        return self._stacked("start")

    @cached_property
    def end(self) -> Values:
        return self._stacked("end")

    @cached_property
    def call_start(self) -> Values:
        return self._stacked("call_start")

    @cached_property
    def launch(self) -> Values:
        return self._stacked("launch")

    @cached_property
    def work(self) -> Values:
        return self._stacked("work")

    @cached_property
    def exchange(self) -> Values:
        return self._stacked("exchange")

    @cached_property
    def queue(self) -> Integers:
        return np.array([each.queue for each in self.issued])

    @cached_property
    def is_graph(self) -> np.ndarray:
        return np.array([each.is_graph for each in self.issued])

    @cached_property
    def last_ns(self) -> float:
        return float(np.nanmax(np.where(np.isnan(self.start), np.nan, self.end)))


def rank_rows(columns: RunColumns, recorder: Recorder) -> RankRows:
    """The ops and calls of a rank that its recorder sees."""
    rank, begin, end = recorder.rank, recorder.begin_ns, recorder.end_ns
    starts, ends = columns.start[:, rank], columns.end[:, rank]
    ran = ~np.isnan(starts)
    seen = ran & (np.nan_to_num(starts) >= begin) & (np.nan_to_num(ends) <= end)
    if recorder.lost_exchanges:
        seen &= ~np.isin(columns.exchange[:, rank], list(recorder.lost_exchanges))
    call_starts, launches = columns.call_start[:, rank], columns.launch[:, rank]
    made = np.flatnonzero(ran & (call_starts >= begin) & (launches <= end))
    # One call launches all ops of a graph.
    _, first, which = np.unique(launches[made], return_index=True, return_inverse=True)
    calls = made[first]
    call_of_op = np.full(len(starts), -1, np.int64)
    call_of_op[made] = which
    op = np.flatnonzero(seen)
    op = op[np.argsort(starts[op], kind="stable")]
    return RankRows(
        op,
        starts[op],
        ends[op],
        call_of_op[op],
        call_starts[calls],
        launches[calls],
        calls,
        columns.is_graph[calls],
    )


def recorded_trace(
    columns: RunColumns, recorder: Recorder, detail: Detail, hosts: Hosts, origin: str
) -> TraceBuilder:
    """The trace of one rank."""
    rows = rank_rows(columns, recorder)
    builder = TraceBuilder(origin, "simulated")
    rank, clock = recorder.rank, recorder.clock
    gpu, host = rank % hosts.gpus_per_host, f"node-{hosts.of_rank[rank]:03d}"
    work = columns.work[rows.op, rank].astype(np.int64)
    names = [columns.issued[each].kernel for each in rows.op.tolist()]
    ones = np.ones(len(rows.op), np.int64)
    has_call = (rows.call >= 0) & detail.host_calls
    call_id, call_columns = _calls(columns, rows, recorder, detail, builder)
    builder.add(
        OPS,
        {
            "gpu": gpu * ones,
            "queue": columns.queue[rows.op],
            "sequence": 0 * ones,
            "start_ns": clock.own(rows.start),
            "end_ns": np.maximum(clock.own(rows.end), clock.own(rows.start)),
            "name": builder.strings.codes(names),
            "type": builder.strings.code(KERNEL_TYPE) * ones,
            "process": 0 * ones,
            "thread": HOST_THREAD * ones,
            "stream": columns.queue[rows.op],
            "correlation": np.where(has_call, rows.call + 1, -1),
            "grid_x": work,
            "grid_y": ones,
            "grid_z": ones,
            "workgroup_x": WORKGROUP * ones,
            "workgroup_y": ones,
            "workgroup_z": ones,
        },
    )
    if detail.host_calls and len(call_columns["name"]):
        builder.add(CALLS, call_columns)
        builder.add(
            LINKS,
            {"call": call_id[rows.call[has_call]], "op": np.flatnonzero(has_call) + 1},
        )
    _add_markers(columns.run, recorder, detail, builder)
    builder.add_row(
        PROCESSES,
        pid=pid_of(rank),
        rank=rank,
        world_size=hosts.rank_count,
        host=host,
        name="python",
        start_ns=int(clock.own(recorder.begin_ns)),
        end_ns=int(clock.own(recorder.end_ns)),
    )
    builder.add_row(
        AGENTS,
        gpu=gpu,
        process=0,
        local_index=gpu,
        host=host,
        uuid=f"GPU-{rank:08x}",
        chip=recorder.gpu.chip,
        model=recorder.gpu.model,
        cu_count=recorder.gpu.compute_units,
        clock_mhz=recorder.gpu.clock_mhz,
        wave_size=64,
    )
    return builder


def pid_of(rank: int) -> int:
    return 10_000 + rank


def record_times(rows: RankRows) -> tuple[Values, Values, Values, Values]:
    """Within the host's time for a launch: the launching call, and the record around it."""
    cost = rows.call_end - rows.call_start
    return (
        rows.call_start + 0.3 * cost,
        rows.call_end - 0.1 * cost,
        rows.call_start + 0.1 * cost,
        rows.call_end,
    )


def _calls(
    columns: RunColumns, rows: RankRows, recorder: Recorder, detail: Detail, builder: TraceBuilder
) -> tuple[Integers, dict[str, np.ndarray]]:
    """The ids of the launching calls, and the columns of all calls."""
    clock, code = recorder.clock, builder.strings.code
    launch_start, launch_end, record_start, record_end = record_times(rows)
    has_record = np.zeros(len(rows.call_op), np.bool_)
    texts: list[bytes] = []
    if detail.arguments:
        for number, op in enumerate(rows.call_op.tolist()):
            issued = columns.issued[op]
            if issued.operation is not None and not issued.is_graph:
                has_record[number] = True
                texts.append(orjson.dumps(collective_arguments(issued, recorder.rank)))
    # A record stands before the launch inside it.
    place = np.arange(len(has_record)) + np.cumsum(has_record)
    total = len(has_record) + len(texts)
    record_place = place[has_record] - 1
    starts, ends = np.empty(total, np.int64), np.empty(total, np.int64)
    starts[place], ends[place] = clock.own(launch_start), clock.own(launch_end)
    starts[record_place] = clock.own(record_start[has_record])
    ends[record_place] = clock.own(record_end[has_record])
    names = np.full(total, code(RECORD))
    names[place] = np.where(rows.is_graph, code(GRAPH_LAUNCH), code(LAUNCH))
    categories = np.full(total, code("cpu_op"))
    categories[place] = code("cuda_runtime")
    arguments, correlation = np.full((2, total), -1, np.int64)
    arguments[record_place] = builder.add_texts(texts)
    correlation[place] = np.arange(len(place)) + 1
    return place + 1, {
        "pid": np.full(total, pid_of(recorder.rank)),
        "thread": np.full(total, HOST_THREAD),
        "start_ns": starts,
        "end_ns": np.maximum(starts, ends),
        "name": names,
        "category": categories,
        "args": arguments,
        "process": np.zeros(total, np.int64),
        "correlation": correlation,
    }


def collective_arguments(issued: Issued, rank: int) -> dict[str, object]:
    """What PyTorch's profiler writes about a collective, in its words."""
    operation, layout = issued.operation, issued.layout
    assert operation is not None
    assert layout is not None
    assert issued.in_elements is not None
    assert issued.out_elements is not None
    assert issued.sequence is not None
    group = int(layout.group_of_rank[rank])
    told: dict[str, object] = {
        "Collective name": operation.name,
        "In msg nelems": int(issued.in_elements[rank]),
        "Out msg nelems": int(issued.out_elements[rank]),
        "Group size": layout.size,
        "dtype": operation.dtype,
        "In split size": "[]",
        "Out split size": "[]",
        "Process Group Name": layout.names[group],
        "Process Group Description": layout.description,
        "Process Group Ranks": listed_ranks(layout, group),
        "Seq": int(issued.sequence[rank]),
    }
    if issued.peer is not None:
        told["Dst Rank" if operation.name == "send" else "Src Rank"] = int(issued.peer[rank])
    return told


def listed_ranks(layout: Layout, group: int) -> str:
    """The ranks of a group as text, shortened where they are many."""
    ranks: Sequence[int] = layout.members[group].tolist()
    if len(ranks) <= _MOST_LISTED_RANKS:
        return f"[{', '.join(map(str, ranks))}]"
    first = ", ".join(map(str, ranks[: _MOST_LISTED_RANKS - 1]))
    return f"[{first}, ..., {ranks[-1]}]"


def step_markers(
    run: Run, recorder: Recorder, detail: Detail
) -> tuple[list[str], Integers, Integers]:
    """Names, starts and ends of the steps that the recorder sees whole."""
    begins = np.array([each[recorder.rank] for each in run.step_begins])
    ends = np.array([each[recorder.rank] for each in run.step_ends])
    seen = np.flatnonzero((begins >= recorder.begin_ns) & (ends <= recorder.end_ns))
    if not detail.step_name:
        seen = seen[:0]
    names = [detail.step_name.format(step) for step in seen.tolist()]
    return names, recorder.clock.own(begins[seen]), recorder.clock.own(ends[seen])


def _add_markers(run: Run, recorder: Recorder, detail: Detail, builder: TraceBuilder) -> None:
    names, starts, ends = step_markers(run, recorder, detail)
    ones = np.ones(len(names), np.int64)
    if not names:
        return
    builder.add(
        MARKERS,
        {
            "start_ns": starts,
            "end_ns": ends,
            "name": builder.strings.codes(names),
            "type": builder.strings.code(MARKER_TYPE) * ones,
            "process": 0 * ones,
            "thread": HOST_THREAD * ones,
            "category": builder.strings.code("user_annotation") * ones,
            "flags": 0 * ones,
        },
    )
