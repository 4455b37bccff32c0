"""Writes the trace of a rank as PyTorch's profiler does, with the arguments of collectives."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import orjson

from tests.rank_jobs.layout import Hosts
from tests.rank_jobs.recording import (
    GRAPH_LAUNCH,
    HOST_THREAD,
    LAUNCH,
    RECORD,
    WORKGROUP,
    Detail,
    Recorder,
    RunColumns,
    collective_arguments,
    pid_of,
    rank_rows,
    record_times,
    step_markers,
)

Event = dict[str, object]


def write_kineto(
    path: Path, columns: RunColumns, recorder: Recorder, detail: Detail, hosts: Hosts
) -> None:
    """Write `path`, gzipped if it is named so."""
    data = orjson.dumps(kineto_document(columns, recorder, detail, hosts))
    path.write_bytes(gzip.compress(data, 1, mtime=0) if path.suffix == ".gz" else data)


def kineto_document(
    columns: RunColumns, recorder: Recorder, detail: Detail, hosts: Hosts
) -> dict[str, object]:
    """The document."""
    gpu = recorder.rank % hosts.gpus_per_host
    properties = {
        "name": recorder.gpu.model,
        "totalGlobalMem": 192 << 30,
        "warpSize": 64,
        "gcnArchName": recorder.gpu.chip,
        "numSms": recorder.gpu.compute_units,
    }
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": each, **properties} for each in range(hosts.gpus_per_host)],
        "distributedInfo": {
            "backend": "nccl",
            "rank": recorder.rank,
            "world_size": hosts.rank_count,
            "nccl_version": "2.22.3",
        },
        "hostname": f"node-{hosts.of_rank[recorder.rank]:03d}",
        "displayTimeUnit": "ms",
        "traceEvents": [
            _name(pid_of(recorder.rank), "python"),
            _name(gpu, f"GPU {gpu}"),
            *_events(columns, recorder, detail, gpu),
        ],
    }


def _name(pid: int, name: str) -> Event:
    return {
        "ph": "M",
        "pid": pid,
        "tid": 0,
        "ts": 0,
        "name": "process_name",
        "args": {"name": name},
    }


def _events(columns: RunColumns, recorder: Recorder, detail: Detail, gpu: int) -> list[Event]:
    rows, clock, pid = rank_rows(columns, recorder), recorder.clock, pid_of(recorder.rank)
    host = {"ph": "X", "pid": pid, "tid": HOST_THREAD}
    events: list[Event] = []
    names, starts, ends = step_markers(columns.run, recorder, detail)
    for name, start, end in zip(names, starts.tolist(), ends.tolist(), strict=True):
        events.append({**host, "cat": "user_annotation", "name": name, **_time(start, end)})
    told = _arguments(columns, recorder, detail, rows.call_op)
    if detail.host_calls:
        times = np.stack([clock.own(each) for each in record_times(rows)], axis=1).tolist()
        for number, (start, end, first, last) in enumerate(times):
            if told[number]:
                record = {**host, "cat": "cpu_op", "name": RECORD, "args": told[number]}
                events.append({**record, **_time(first, last)})
            name = GRAPH_LAUNCH if rows.is_graph[number] else LAUNCH
            event = {**host, "cat": "cuda_runtime", "name": name, **_time(start, end)}
            events.append({**event, "args": {"correlation": number + 1}})
    starts, ends = clock.own(rows.start), clock.own(rows.end)
    for op, call, start, end in zip(
        rows.op.tolist(), rows.call.tolist(), starts.tolist(), ends.tolist(), strict=True
    ):
        issued = columns.issued[op]
        groups = int(issued.work[recorder.rank]) // WORKGROUP
        arguments = {
            "device": gpu,
            "stream": issued.queue,
            "grid": [groups, 1, 1],
            "block": [WORKGROUP, 1, 1],
        }
        if call >= 0 and detail.host_calls:
            arguments["correlation"] = call + 1
            if not issued.is_graph:
                arguments |= told[call]
        event = {"ph": "X", "cat": "kernel", "name": issued.kernel, "pid": gpu}
        events.append({**event, "tid": issued.queue, **_time(start, end), "args": arguments})
    return events


def _arguments(
    columns: RunColumns, recorder: Recorder, detail: Detail, ops: np.ndarray
) -> list[dict[str, object]]:
    """For each call what is recorded of the collective that it launches, if it does."""
    return [
        collective_arguments(issued, recorder.rank)
        if detail.arguments and issued.operation is not None and not issued.is_graph
        else {}
        for issued in (columns.issued[op] for op in ops.tolist())
    ]


def _time(start_ns: int, end_ns: int) -> Event:
    # As text digits: a float of so many microseconds would lose nanoseconds.
    return {
        "ts": orjson.Fragment(f"{start_ns // 1000}.{start_ns % 1000:03d}"),
        "dur": orjson.Fragment(f"{(end_ns - start_ns) // 1000}.{(end_ns - start_ns) % 1000:03d}"),
    }
