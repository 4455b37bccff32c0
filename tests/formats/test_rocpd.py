"""rocpd files of rocprofiler-sdk, schema 3: several processes in one file, ids shifted."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.registered import importer_called
from wavescope.errors import UnreadableInputError
from wavescope.formats.rocpd import ops, regions
from wavescope.formats.sniff import Probe, probe
from wavescope.formats.sqlite import lookup as sqlite_lookup
from wavescope.model.columns import (
    AGENTS,
    CALLS,
    COUNTERS,
    KERNELS,
    LINKS,
    MARKER_INSTANT,
    MARKERS,
    OPS,
    PROCESSES,
    QUEUES,
    THREADS,
)
from wavescope.model.trace import Trace

IMPORTER = importer_called("rocpd")

FIRST, SECOND = "_0000a_1", "_0000b_2"
TABLES = {
    "rocpd_metadata": "tag, value",
    "rocpd_string": "guid, string",
    "rocpd_info_node": "guid, machine_id, hostname",
    "rocpd_info_process": "guid, nid, ppid, pid, init, fini, start, end, command, environment",
    "rocpd_info_thread": "guid, nid, ppid, pid, tid, name",
    "rocpd_info_agent": "guid, nid, pid, type, absolute_index, logical_index, type_index, uuid,"
    " name, model_name, product_name, extdata",
    "rocpd_info_queue": "guid, nid, pid, name",
    "rocpd_info_stream": "guid, nid, pid, name",
    "rocpd_info_pmc": "guid, agent_id, name, symbol",
    "rocpd_info_code_object": "guid, agent_id, uri",
    "rocpd_info_kernel_symbol": "guid, nid, pid, code_object_id, kernel_name, display_name,"
    " kernarg_segment_size, group_segment_size, private_segment_size, sgpr_count,"
    " arch_vgpr_count, accum_vgpr_count",
    "rocpd_track": "guid, nid, pid, tid, name_id",
    "rocpd_event": "guid, category_id, stack_id, parent_stack_id, correlation_id, extdata",
    "rocpd_arg": "guid, event_id, position, type, name, value",
    "rocpd_pmc_event": "guid, event_id, pmc_id, value",
    "rocpd_region": "guid, nid, pid, tid, start, end, name_id, event_id",
    "rocpd_sample": "guid, track_id, timestamp, event_id",
    "rocpd_kernel_dispatch": "guid, nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id,"
    " stream_id, start, end, private_segment_size, group_segment_size, workgroup_size_x,"
    " workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, event_id",
    "rocpd_memory_copy": "guid, nid, pid, tid, start, end, name_id, dst_agent_id, src_agent_id,"
    " size, queue_id, stream_id, event_id",
    "rocpd_memory_allocate": "guid, nid, pid, tid, agent_id, type, level, start, end, address,"
    " size, queue_id, stream_id, event_id",
}
STRINGS = (
    "KERNEL_DISPATCH",
    "HIP_RUNTIME_API",
    "MARKER_CORE_RANGE_API",
    "MEMORY_COPY",
    "hipLaunchKernel",
    "roctxRangePushA",
    "MEMORY_COPY_HOST_TO_DEVICE",
    "MEMORY_COPY_DEVICE_TO_HOST",
    "hipMemcpy",
)
DISPATCHED, HIP, ROCTX, COPIED, LAUNCH, PUSH, TO_DEVICE, TO_HOST, MEMCPY = range(1, 10)


class RocpdFile:
    """A file in the making: rows by table and column, for one suffix at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = sqlite3.connect(path)
        self.connection.execute("PRAGMA synchronous = OFF")
        self.without: Iterable[str] = ()

    def add_part(
        self, suffix: str, *, pid: int, machine: str = "m1", without: Iterable[str] = ()
    ) -> RocpdFile:
        """The tables of one process, with a node, the process, a CPU, two GPUs and strings."""
        self.without = without
        for name, columns in TABLES.items():
            if name not in without:
                # Untyped columns take whatever a test puts in.
                self.connection.execute(
                    f'CREATE TABLE "{name}{suffix}" (id INTEGER PRIMARY KEY, {columns})'
                )
        self.add(suffix, "rocpd_metadata", tag="schema_version", value="3.0.1")
        for index, string in enumerate(STRINGS, 1):
            self.add(suffix, "rocpd_string", id=index, string=string)
        self.add(suffix, "rocpd_info_node", id=1, machine_id=machine, hostname=f"host-{machine}")
        self.add(
            suffix,
            "rocpd_info_process",
            id=pid,
            nid=1,
            ppid=1,
            pid=pid,
            start=100,
            end=900,
            command='["/usr/bin/python3", "train it.py"]',
            environment='{"TOKEN": "secret"}',
        )
        self.add(
            suffix, "rocpd_info_agent", id=1, nid=1, type="CPU", absolute_index=0, type_index=0
        )
        for gpu in (0, 1):
            self.add(
                suffix,
                "rocpd_info_agent",
                id=2 + gpu,
                nid=1,
                type="GPU",
                absolute_index=1 + gpu,
                type_index=gpu,
                name="gfx942",
                product_name="AMD Instinct MI300X",
                extdata=json.dumps(agent_description(gpu)),
            )
        return self

    def add(self, suffix: str, table: str, **values: Any) -> RocpdFile:
        if table in self.without:
            return self
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        self.connection.execute(
            f'INSERT INTO "{table}{suffix}" ({names}) VALUES ({marks})', tuple(values.values())
        )
        return self

    def dispatch(self, suffix: str, start: Any, end: Any, **values: Any) -> RocpdFile:
        row = {"pid": 10, "agent_id": 2, "kernel_id": 5, "dispatch_id": 1, "queue_id": 3}
        return self.add(suffix, "rocpd_kernel_dispatch", start=start, end=end, **{**row, **values})

    def event(self, suffix: str, event: int, category: int, stack: int, **values: Any) -> RocpdFile:
        return self.add(
            suffix, "rocpd_event", id=event, category_id=category, stack_id=stack, **values
        )

    def opened(self) -> Trace:
        return Trace(IMPORTER.open(self.closed()))

    def closed(self) -> Path:
        self.connection.commit()
        self.connection.close()
        return self.path


def agent_description(gpu: int) -> dict[str, Any]:
    return {
        "cu_count": 304,
        "wave_front_size": 64,
        "max_engine_clk_fcompute": 2100,
        "mem_banks": [{"size_in_bytes": 1000}, {"size_in_bytes": 24}],
        "uuid": {"bytes": {f"value{place}": gpu + 1 if place < 2 else 0 for place in range(16)}},
    }


@pytest.fixture
def file(tmp_path: Path) -> RocpdFile:
    return RocpdFile(tmp_path / "1_results.db")


def rows(trace: Trace, table: Any, *names: str) -> list[tuple[Any, ...]]:
    columns = trace.table(table)
    columns.load(*names)
    return list(zip(*(columns[name].tolist() for name in names), strict=True))


def test_dispatches_become_ops(file: RocpdFile) -> None:
    file.add_part(FIRST, pid=10)
    file.add(FIRST, "rocpd_info_thread", id=7, pid=10, tid=4711, name="worker")
    file.add(FIRST, "rocpd_info_thread", id=8, pid=10, tid=4712)
    file.add(FIRST, "rocpd_info_queue", id=3, name="Queue 3")
    file.add(FIRST, "rocpd_info_code_object", id=1, uri="file://k.co")
    file.add(
        FIRST,
        "rocpd_info_kernel_symbol",
        id=5,
        pid=10,
        code_object_id=1,
        kernel_name="_Z4gemmv.kd",
        display_name="gemm()",
        kernarg_segment_size=16,
        group_segment_size=512,
        private_segment_size=0,
        sgpr_count=32,
        arch_vgpr_count=64,
        accum_vgpr_count=4,
    )
    file.event(FIRST, 1, DISPATCHED, 77)
    sizes = {
        f"{size}_size_{axis}": base + i
        for size, base in (("grid", 10), ("workgroup", 20))
        for i, axis in enumerate("xyz")
    }
    file.dispatch(
        FIRST, 5, 9, tid=7, stream_id=6, dispatch_id=42, agent_id=3, event_id=1,
        group_segment_size=1024, private_segment_size=8, **sizes,
    )  # fmt: skip
    with file.opened() as trace:
        assert trace.format == "rocpd"
        assert rows(trace, OPS, "id", "gpu", "queue", "sequence", "start_ns", "end_ns") == [
            (1, 1, 3, 42, 5, 9)
        ]
        assert trace.ops.strings("name") == ["gemm()"]
        assert trace.ops.strings("type") == ["KernelExecution"]
        assert rows(trace, OPS, "process", "thread", "stream", "correlation", "kernel") == [
            (0, 4711, 6, 77, 5)
        ]
        assert rows(trace, OPS, "grid_x", "grid_y", "grid_z") == [(10, 11, 12)]
        assert rows(trace, OPS, "workgroup_x", "workgroup_y", "workgroup_z") == [(20, 21, 22)]
        assert rows(trace, OPS, "lds_bytes", "scratch_bytes", "graph") == [(1024, 8, -1)]
        registers = ("id", "vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes", "kernarg_bytes")
        assert rows(trace, KERNELS, *registers) == [(5, 64, 4, 32, 512, 0, 16)]
        assert trace.kernels.strings("name") == ["gemm()"]
        assert trace.kernels.strings("mangled") == ["_Z4gemmv"]
        assert trace.kernels.strings("code_object") == ["file://k.co"]
        assert rows(trace, THREADS, "process", "thread") == [(0, 4711)]
        assert trace.table(THREADS).strings("name") == ["worker"]
        assert rows(trace, QUEUES, "gpu", "queue") == [(1, 3)]
        assert trace.table(QUEUES).strings("name") == ["Queue 3"]
        assert dict(trace.notes) == {}


def test_processes_and_agents(file: RocpdFile) -> None:
    file.add_part(FIRST, pid=10)
    with file.opened() as trace:
        assert rows(trace, PROCESSES, "id", "pid", "parent_pid", "start_ns", "end_ns") == [
            (0, 10, 1, 100, 900)
        ]
        assert trace.processes.strings("command") == ["/usr/bin/python3 'train it.py'"]
        assert trace.processes.strings("name") == ["python3"]
        assert trace.processes.strings("host") == ["host-m1"]
        facts = ("gpu", "local_index", "cu_count", "clock_mhz", "wave_size", "memory_bytes")
        assert rows(trace, AGENTS, *facts) == [
            (0, 0, 304, 2100, 64, 1024),
            (1, 1, 304, 2100, 64, 1024),
        ]
        assert trace.agents.strings("chip") == ["gfx942"] * 2
        assert trace.agents.strings("model") == ["AMD Instinct MI300X"] * 2
        assert trace.agents.strings("uuid") == ["0101" + "00" * 14, "0202" + "00" * 14]
        assert not any("secret" in string for string in trace.strings)


def test_copies_are_ops_with_sizes(file: RocpdFile) -> None:
    file.add_part(FIRST, pid=10)
    file.dispatch(FIRST, 1, 2)
    copy = {"pid": 10, "stream_id": 4}
    for start, direction, target, source in ((5, TO_DEVICE, 3, 1), (7, TO_HOST, 1, 2)):
        file.add(
            FIRST, "rocpd_memory_copy", start=start, end=start + 1, name_id=direction,
            dst_agent_id=target, src_agent_id=source, size=4096, **copy,
        )  # fmt: skip
    with file.opened() as trace:
        names = ("id", "gpu", "size_bytes", "source_device", "target_device", "stream", "queue")
        assert rows(trace, OPS, *names)[1:] == [
            (2, 1, 4096, -1, 1, 4, -1),
            (3, 0, 4096, 0, -1, 4, -1),
        ]
        assert trace.ops.strings("type")[1:] == ["CopyHostToDevice", "CopyDeviceToHost"]
        assert trace.ops.strings("name")[1:] == ["", ""]


def test_regions_are_calls_and_markers(file: RocpdFile) -> None:
    file.add_part(FIRST, pid=10)
    file.add(FIRST, "rocpd_info_thread", id=7, pid=10, tid=70)
    file.event(FIRST, 1, HIP, 5).event(FIRST, 2, ROCTX, 6, extdata='{"message": "prefill"}')
    file.event(FIRST, 3, ROCTX, 0, extdata="not json").event(FIRST, 4, ROCTX, 0, extdata="{}")
    for start, end, name, event in (
        (1, 5, LAUNCH, 1),
        (2, 9, PUSH, 2),
        (3, 3, PUSH, 3),
        (4, 4, LAUNCH, None),
    ):
        file.add(
            FIRST, "rocpd_region", pid=10, tid=7, start=start, end=end, name_id=name, event_id=event
        )
    file.add(FIRST, "rocpd_track", id=2, pid=10, tid=7, name_id=PUSH)
    file.add(FIRST, "rocpd_sample", track_id=2, timestamp=12, event_id=4)
    file.add(FIRST, "rocpd_sample", track_id=2, timestamp=13, event_id=1)
    with file.opened() as trace:
        names = ("id", "pid", "thread", "start_ns", "end_ns", "process", "correlation")
        assert rows(trace, CALLS, *names) == [(1, 10, 70, 1, 5, 0, 5), (4, 10, 70, 4, 4, 0, -1)]
        assert trace.calls.strings("name") == ["hipLaunchKernel"] * 2
        assert trace.calls.strings("category") == ["HIP_RUNTIME_API", ""]
        assert trace.calls.strings("domain") == ["HIP", ""]
        assert trace.calls["args"].tolist() == [-1, -1]
        names = ("id", "start_ns", "end_ns", "process", "thread", "flags")
        assert rows(trace, MARKERS, *names) == [
            (2, 2, 9, 0, 70, 0),
            (3, 3, 3, 0, 70, MARKER_INSTANT),
            (5, 12, 12, 0, 70, MARKER_INSTANT),
        ]
        assert trace.markers.strings("name") == ["prefill", "roctxRangePushA", "roctxRangePushA"]
        assert trace.markers.strings("category") == ["roctx"] * 3


def test_calls_and_ops_with_one_correlation_are_linked(file: RocpdFile) -> None:
    file.add_part(FIRST, pid=10)
    events = (
        (1, HIP, 5),
        (2, ROCTX, 5),
        (3, DISPATCHED, 5),
        (4, DISPATCHED, 5),
        (5, HIP, 6),
        (6, COPIED, 6),
        (7, DISPATCHED, 0),
        (8, HIP, 0),
    )
    for event, category, stack in events:
        file.event(FIRST, event, category, stack)
    for event in (2, 1, 5, 8):
        file.add(FIRST, "rocpd_region", pid=10, start=1, end=2, name_id=LAUNCH, event_id=event)
    for event in (3, 4, 7, None):
        file.dispatch(FIRST, 5, 6, event_id=event)
    file.add(FIRST, "rocpd_memory_copy", start=1, end=2, name_id=TO_HOST, event_id=6, size=1)
    with file.opened() as trace:
        assert rows(trace, LINKS, "call", "op") == [(2, 1), (2, 2), (3, 5)]


def test_links_in_several_passes_are_the_same(
    file: RocpdFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ops, "_CALLS_PER_PASS", 3)
    file.add_part(FIRST, pid=10)
    for number in range(1, 12):
        file.event(FIRST, number, HIP, number).event(FIRST, 100 + number, DISPATCHED, number)
        file.add(FIRST, "rocpd_region", start=1, end=2, name_id=LAUNCH, event_id=number)
        file.dispatch(FIRST, 5, 6, event_id=100 + number)
    with file.opened() as trace:
        assert sorted(rows(trace, LINKS, "call", "op")) == [(n, n) for n in range(1, 12)]


def test_arguments_are_json_in_the_order_of_their_positions(file: RocpdFile) -> None:
    file.add_part(FIRST, pid=10)
    for event in (1, 2, 3):
        file.event(FIRST, event, HIP, event)
        file.add(FIRST, "rocpd_region", start=1, end=2, name_id=MEMCPY, event_id=event)
    for event, position, name, value in (
        (1, 1, "size", "64"),
        (1, 0, "dst", '0x7"f'),
        (3, 0, "kind", None),
    ):
        file.add(FIRST, "rocpd_arg", event_id=event, position=position, name=name, value=value)
    with file.opened() as trace:
        texts = trace.calls.strings("args")
        assert texts == ['{"dst":"0x7\\"f","size":"64"}', "", '{"kind":null}']


@pytest.mark.parametrize("in_order", [True, False])
def test_arguments_are_found_among_many(
    file: RocpdFile, monkeypatch: pytest.MonkeyPatch, in_order: bool
) -> None:
    monkeypatch.setattr(regions, "_STRIDE", 7)
    file.add_part(FIRST, pid=10)
    events = list(range(1, 200))
    for event in events:
        file.event(FIRST, event, HIP, event)
        file.add(FIRST, "rocpd_region", start=1, end=2, name_id=MEMCPY, event_id=event)
    for event in events if in_order else reversed(events):
        for position in range(event % 12):
            file.add(
                FIRST,
                "rocpd_arg",
                event_id=event,
                position=position,
                name=f"a{position}",
                value=str(event),
            )
    with file.opened() as trace:
        handles = np.array([150, 7, -1, 12, 199, 150, 23, 1], np.int64)
        found = [json.loads(text) if text else {} for text in trace.source.texts(handles)]
        expected = [
            {f"a{i}": str(event) for i in range(max(0, event) % 12)} for event in handles.tolist()
        ]
        expected[2] = {}
        assert found == expected


def test_allocations_are_calls(file: RocpdFile) -> None:
    file.add_part(FIRST, pid=10)
    file.event(FIRST, 1, HIP, 9)
    file.add(FIRST, "rocpd_region", start=1, end=2, name_id=LAUNCH)
    for kind, level in (("ALLOC", "REAL"), ("FREE", "VIRTUAL"), ("RECLAIM", "SCRATCH")):
        file.add(
            FIRST, "rocpd_memory_allocate", pid=10, type=kind, level=level, start=5, end=6,
            size=2**40, address=16, event_id=1,
        )  # fmt: skip
    with file.opened() as trace:
        assert trace.calls["id"].tolist() == [1, 2, 3, 4]
        assert trace.calls.strings("name") == [
            "hipLaunchKernel",
            "MEMORY_ALLOCATION_ALLOCATE",
            "MEMORY_ALLOCATION_VMEM_FREE",
            "SCRATCH_MEMORY_ASYNC_RECLAIM",
        ]
        assert trace.calls["correlation"].tolist() == [-1, 9, 9, 9]
        assert trace.calls.strings("args")[1] == '{"size":1099511627776,"address":16}'


def test_counters_are_summed_over_the_parts_that_counted(file: RocpdFile) -> None:
    file.add_part(FIRST, pid=10)
    file.add(FIRST, "rocpd_info_pmc", id=4, name="SQ_WAVES", symbol="SQ_WAVES")
    file.add(FIRST, "rocpd_info_pmc", id=5, name="TCC_HIT", symbol="TCC_HIT")
    for event in (1, 2):
        file.event(FIRST, event, DISPATCHED, event)
        file.dispatch(FIRST, event, event + 1, event_id=event)
    values = ((1, 4, 1.5), (1, 4, 2.0), (1, 5, 8.0), (2, 5, 3.0), (2, 5, 4.0), (99, 5, 1.0))
    for event, counter, value in values:
        file.add(FIRST, "rocpd_pmc_event", event_id=event, pmc_id=counter, value=value)
    path = file.closed()
    for size in (1, 2, 3, 100):
        source = IMPORTER.open(path)
        found = [
            (op, source.strings[name], value)
            for batch in source.batches(COUNTERS, rows=size)
            for op, name, value in zip(
                *(batch[n].tolist() for n in COUNTERS.column_names), strict=True
            )
        ]
        assert found == [(1, "SQ_WAVES", 3.5), (1, "TCC_HIT", 8.0), (2, "TCC_HIT", 7.0)]
        assert dict(source.notes) == {"counters belong to no kernel in the file: skipped": 1}
        source.close()


def test_processes_of_one_file_are_kept_apart(file: RocpdFile) -> None:
    for suffix, pid in ((FIRST, 10), (SECOND, 20)):
        file.add_part(suffix, pid=pid)
        file.add(suffix, "rocpd_info_kernel_symbol", id=5, pid=pid, display_name=f"kernel of {pid}")
        file.add(suffix, "rocpd_info_queue", id=3, name=f"queue of {pid}")
        file.event(suffix, 1, HIP, 1).event(suffix, 2, DISPATCHED, 1)
        file.add(suffix, "rocpd_region", pid=pid, start=1, end=2, name_id=LAUNCH, event_id=1)
        file.dispatch(suffix, pid, pid + 1, pid=pid, event_id=2)
        file.dispatch(suffix, pid, pid + 1, pid=pid, agent_id=3)
        file.add(suffix, "rocpd_arg", event_id=1, position=0, name="who", value=str(pid))
    with file.opened() as trace:
        assert rows(trace, OPS, "id", "start_ns", "process", "gpu") == [
            (1, 10, 0, 0),
            (2, 10, 0, 1),
            (3, 20, 1, 0),
            (4, 20, 1, 1),
        ]
        assert trace.ops.strings("name") == ["kernel of 10"] * 2 + ["kernel of 20"] * 2
        assert trace.ops["kernel"].tolist() == [5, 5, 10, 10]
        assert trace.kernels["id"].tolist() == [5, 10]
        assert trace.ops["queue"].tolist() == [3, 3, 7, 7]
        assert rows(trace, QUEUES, "gpu", "queue") == [(0, 3), (1, 3), (0, 7), (1, 7)]
        assert trace.table(QUEUES).strings("name") == ["queue of 10"] * 2 + ["queue of 20"] * 2
        assert rows(trace, LINKS, "call", "op") == [(1, 1), (2, 3)]
        assert trace.calls.strings("args") == ['{"who":"10"}', '{"who":"20"}']
        assert trace.processes["pid"].tolist() == [10, 20]
        assert trace.agents["gpu"].tolist() == [0, 1]
        assert trace.source.row_count(OPS) == 4


def test_gpus_of_two_machines_get_numbers_of_their_own(file: RocpdFile) -> None:
    file.add_part(FIRST, pid=10).add_part(SECOND, pid=20, machine="m2")
    file.dispatch(FIRST, 1, 2).dispatch(SECOND, 1, 2, agent_id=3)
    with file.opened() as trace:
        assert trace.ops["gpu"].tolist() == [0, 3]
        assert rows(trace, AGENTS, "gpu", "local_index") == [(0, 0), (1, 1), (2, 0), (3, 1)]
        assert trace.agents.strings("host") == ["host-m1"] * 2 + ["host-m2"] * 2


def test_indexes_that_no_gpu_has_are_replaced(file: RocpdFile) -> None:
    file.add_part(FIRST, pid=10).dispatch(FIRST, 1, 2, agent_id=3)
    file.connection.execute(f"UPDATE rocpd_info_agent{FIRST} SET type_index = 2*id*1000000000000")
    with file.opened() as trace:
        assert trace.ops["gpu"].tolist() == [1]
        assert rows(trace, AGENTS, "gpu", "local_index") == [(0, -1), (1, -1)]
        assert dict(trace.notes) == {
            "agents hold a number in local_index that is too large: taken as unknown": 2
        }


def test_damage_is_counted(file: RocpdFile) -> None:
    file.add_part(FIRST, pid=10)
    file.dispatch(FIRST, 9, 5, agent_id=99, kernel_id=12345, event_id=2**62, queue_id="x")
    file.dispatch(FIRST, None, 5).dispatch(FIRST, "then", 5)
    with file.opened() as trace:
        trace.ops.load(*OPS.column_names)
        assert rows(trace, OPS, "gpu", "start_ns", "end_ns", "correlation") == [(-1, 9, 9, -1)]
        assert trace.ops.strings("name") == [""]
        assert dict(trace.notes) == {
            "ops ended before they started: taken as ending there": 1,
            "ops have no start or end: skipped": 2,
            "ops hold something else than a number in queue_id: taken as unknown": 1,
            "ops hold something else than a number in start: taken as unknown": 1,
            "ops name a kernel that is not in the file: shown as empty": 1,
            "ops ran on an agent that the file does not describe as a GPU": 1,
        }


@pytest.mark.parametrize("missing", [name for name in TABLES if name != "rocpd_kernel_dispatch"])
def test_missing_tables_are_empty_tables(file: RocpdFile, missing: str) -> None:
    file.add_part(FIRST, pid=10, without=[missing])
    file.dispatch(FIRST, 1, 2, event_id=1)
    with file.opened() as trace:
        for table in (OPS, CALLS, MARKERS, LINKS, COUNTERS, KERNELS, THREADS, QUEUES, AGENTS):
            trace.table(table).load(*table.column_names)
        assert trace.ops["end_ns"].tolist() == [2]


def test_a_file_with_views_only_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "views.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE VIEW rocpd_kernel_dispatch AS SELECT 1 AS id")
    connection.close()
    with pytest.raises(UnreadableInputError, match="no table rocpd_kernel_dispatch"):
        IMPORTER.open(path)


def test_ids_too_large_to_be_shifted_are_refused(file: RocpdFile) -> None:
    file.add_part(FIRST, pid=10).add_part(SECOND, pid=20)
    file.dispatch(FIRST, 1, 2, id=2**62 + 1)
    path = file.closed()
    with pytest.raises(UnreadableInputError, match="row ids are too large"):
        IMPORTER.open(path)


def test_an_unknown_schema_is_read_and_noted(file: RocpdFile) -> None:
    file.add_part("", pid=10)
    file.connection.execute("UPDATE rocpd_metadata SET value = '4.1.0'")
    file.dispatch("", 1, 2)
    with file.opened() as trace:
        assert trace.ops["end_ns"].tolist() == [2]
        assert dict(trace.notes)["schema 4.1.0 is not known: columns may be missing"] == 1


@pytest.mark.parametrize("description", ["[1]", "{", '{"mem_banks": 5, "uuid": {"bytes": [1]}}', None, b"\xff", '{"cu_count": 1e400}'])  # fmt: skip
def test_odd_descriptions_of_agents_say_nothing(file: RocpdFile, description: Any) -> None:
    file.add_part(FIRST, pid=10)
    file.connection.execute(f"UPDATE rocpd_info_agent{FIRST} SET extdata = ?", (description,))
    with file.opened() as trace:
        assert rows(trace, AGENTS, "cu_count", "memory_bytes") == [(-1, -1)] * 2
        assert trace.agents.strings("uuid") == ["", ""]


def test_it_is_known_by_its_tables(file: RocpdFile) -> None:
    seen = probe(file.add_part(FIRST, pid=10).closed())
    assert IMPORTER.matches(seen)
    ours = seen.sqlite_tables | {"wavescope_op"}
    assert not IMPORTER.matches(Probe(seen.path, b"", sqlite_tables=ours))
    assert not IMPORTER.matches(Probe(seen.path, b"", sqlite_tables=frozenset(("rocpd_op",))))


def test_nothing_beside_the_file_appears(file: RocpdFile) -> None:
    path = file.add_part(FIRST, pid=10).dispatch(FIRST, 1, 2).closed()
    before = path.read_bytes(), path.stat().st_mtime_ns
    with Trace(IMPORTER.open(path)) as trace:
        trace.ops.load(*OPS.column_names)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert list(path.parent.iterdir()) == [path]


@settings(max_examples=20)
@given(
    ids=st.lists(st.integers(1, 60), unique=True, max_size=30),
    asked=st.lists(st.integers(-5, 70), max_size=40),
    block_rows=st.integers(1, 9),
)
def test_events_are_found_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, ids: list[int], asked: list[int], block_rows: int
) -> None:
    path = tmp_path_factory.mktemp("rocpd") / "trace.db"
    file = RocpdFile(path).add_part(FIRST, pid=10)
    for event in ids:
        file.event(FIRST, event, HIP, event * 10)
    for event in asked:
        file.dispatch(FIRST, 1, 2, event_id=event)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_lookup, "_BLOCK_ROWS", block_rows)
        patch.setattr(sqlite_lookup, "_BLOCKS_KEPT", 2)
        with file.opened() as trace:
            expected = [event * 10 if event in ids else -1 for event in asked]
            assert trace.ops["correlation"].tolist() == expected
