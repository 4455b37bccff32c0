"""Chrome and Kineto JSON into trace tables, with the events beside the rows they become."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_trace
from tests.registered import exporter_called, importer_called
from wavescope.errors import UnreadableInputError
from wavescope.formats import ExportOptions
from wavescope.formats.chrome.reader import open_chrome_json
from wavescope.formats.sniff import Probe
from wavescope.model.columns import MARKER_INSTANT, QUEUES, THREADS
from wavescope.model.trace import Trace

IMPORTER = importer_called("Chrome JSON")

Event = dict[str, Any]


def kernel(name: str, ts: object, dur: object, **args: object) -> Event:
    """A kernel as Kineto writes it, on GPU 0 and stream 7 unless args say otherwise."""
    place = {"device": 0, "stream": 7}
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "pid": 0,
        "tid": 7,
        "ts": ts,
        "dur": dur,
        "args": place | args,
    }


def launch(name: str, ts: object, dur: object, correlation: int, **more: object) -> Event:
    args = {"correlation": correlation}
    return {
        "ph": "X",
        "cat": "cuda_runtime",
        "name": name,
        "pid": 40,
        "tid": 41,
        "ts": ts,
        "dur": dur,
        "args": args,
        **more,
    }


def complete(name: str, ts: object, dur: object, **more: object) -> Event:
    return {"ph": "X", "name": name, "pid": 40, "tid": 41, "ts": ts, "dur": dur, **more}


def named(pid: object, name: str, event: str = "process_name", tid: object = 0) -> Event:
    key = "labels" if event == "process_labels" else "name"
    return {"ph": "M", "name": event, "pid": pid, "tid": tid, "args": {key: name}}


class Files:
    """Writes documents and opens them as traces."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "trace.json"

    def trace(self, *events: Event, **members: object) -> Trace:
        """Events as a Kineto file unless members say otherwise."""
        return self.open(json.dumps({"schemaVersion": 1, **members, "traceEvents": events}))

    def plain(self, *events: Event) -> Trace:
        """Events as a bare array, as other tools write it."""
        return self.open(json.dumps(events))

    def open(self, text: str | bytes) -> Trace:
        self.path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return Trace(open_chrome_json(self.path))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def rows(trace: Trace, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Columns of a table as tuples, names as text."""
    loaded = getattr(trace, table) if isinstance(table, str) else trace.table(table)
    texts = {"name", "type", "category", "domain", "args", "model", "chip"}
    values = [loaded.strings(each) if each in texts else loaded[each].tolist() for each in columns]
    return list(zip(*values, strict=True))


def notes(trace: Trace) -> dict[str, int]:
    return dict(trace.notes)


def test_a_kernel_becomes_an_op_with_its_launch(files: Files) -> None:
    trace = files.trace(
        kernel(
            "gemm", 6520618853487.683, "38.304", correlation=33, grid=[2, 66, 1], block=[384, 1, 1],
            **{"registers per thread": 168, "shared memory": 213188, "graph id": 5, "graph node id": 8},
        )
    )  # fmt: skip

    assert rows(trace, "ops", "gpu", "queue", "start_ns", "end_ns", "name", "type") == [
        (0, 7, 6520618853487683, 6520618853525987, "gemm", "KernelExecution")
    ]
    assert rows(trace, "ops", "grid_x", "grid_y", "grid_z") == [(768, 66, 1)]
    assert rows(trace, "ops", "workgroup_x", "workgroup_y", "workgroup_z") == [(384, 1, 1)]
    assert rows(trace, "ops", "stream", "correlation", "lds_bytes") == [(7, 33, 213188)]
    assert rows(trace, "ops", "graph", "graph_node", "kernel") == [(5, 8, 1)]
    assert rows(trace, "kernels", "id", "name", "vgprs") == [(1, "gemm", 168)]


def test_a_grid_in_work_items_is_not_multiplied(files: Files) -> None:
    sizes = {"grid": [71680, 1, 1], "block": [256, 1, 1]}
    trace = files.trace(
        kernel("gemm", 5, 1, correlation=1, **sizes),
        kernel("add", 7, 1, correlation=2, **sizes),
        launch("hipExtModuleLaunchKernel", 0, 1, 1),
        launch("hipModuleLaunchKernel", 1, 1, 2),
    )

    assert rows(trace, "ops", "name", "grid_x") == [("gemm", 71680), ("add", 71680 * 256)]


@pytest.mark.parametrize(
    ("category", "name", "kind", "expected"),
    [
        ("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", None, "CopyHostToDevice"),
        ("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", None, "CopyDeviceToHost"),
        ("gpu_memcpy", "Memcpy DtoD (Device -> Device)", None, "CopyDeviceToDevice"),
        ("gpu_memcpy", "Memcpy PtoP (Device -> Device)", None, "CopyPeerToPeer"),
        ("gpu_memcpy", "CopyHostToDevice", None, "CopyHostToDevice"),
        ("gpu_memcpy", "copy", "DtoH", "CopyDeviceToHost"),
        ("gpu_memcpy", "something", None, "Copy"),
        ("gpu_memset", "Memset (Device)", None, "FillMemory"),
        ("Memcpy", "Memcpy DtoD", None, "CopyDeviceToDevice"),
    ],
)
def test_copies_and_fills_get_their_type(
    files: Files, category: str, name: str, kind: str | None, expected: str
) -> None:
    event = kernel(name, 1, 1, bytes=4096, kind=kind) | {"cat": category}

    trace = files.trace(event)

    assert rows(trace, "ops", "type", "size_bytes") == [(expected, 4096)]


def test_ops_take_gpu_and_queue_from_the_lane_when_args_do_not_say(files: Files) -> None:
    event = {"ph": "X", "cat": "kernel", "name": "k", "pid": 3, "tid": 9, "ts": 1, "dur": 1}

    assert rows(files.trace(event), "ops", "gpu", "queue") == [(3, 9)]


def test_calls_keep_category_args_and_correlation(files: Files) -> None:
    trace = files.trace(
        complete("aten::mm", 1, 5, cat="cpu_op", args={"Input Dims": [[2, 3]], "External id": 4}),
        launch("hipLaunchKernel", 2, 1, 77),
        complete("train.py(3): step", 0, 9, cat="python_function"),
    )

    assert rows(trace, "calls", "name", "category", "domain", "pid", "thread", "correlation") == [
        ("aten::mm", "cpu_op", "", 40, 41, -1),
        ("hipLaunchKernel", "cuda_runtime", "HIP", 40, 41, 77),
        ("train.py(3): step", "python_function", "", 40, 41, -1),
    ]
    assert rows(trace, "calls", "start_ns", "end_ns") == [(1000, 6000), (2000, 3000), (0, 9000)]
    assert trace.calls.strings("args") == [
        '{"Input Dims":[[2,3]],"External id":4}',
        '{"correlation":77}',
        "",
    ]


def test_ops_are_linked_to_their_launch_and_take_its_thread(files: Files) -> None:
    trace = files.trace(
        kernel("a", 10, 1, correlation=5),
        kernel("b", 11, 1, correlation=5),
        kernel("alone", 1, 1, correlation=6),
        kernel("nothing", 2, 1),
        complete("aten::mm", 0, 5, cat="cpu_op", args={"correlation": 5}),
        launch("cuLaunchKernel", 0, 1, 5, cat="cuda_driver"),
        launch("cudaGraphLaunch", 0, 1, 5),
    )

    assert rows(trace, "links", "call", "op") == [(3, 1), (3, 2)]
    assert rows(trace, "calls", "id", "name")[2] == (3, "cudaGraphLaunch")
    assert rows(trace, "ops", "name", "thread", "process") == [
        ("a", 41, 0),
        ("b", 41, 0),
        ("alone", -1, 0),
        ("nothing", -1, 0),
    ]
    assert notes(trace)["ops (of 4) have no launch record"] == 2


def test_annotations_are_markers_and_the_profilers_own_span_is_not(files: Files) -> None:
    trace = files.trace(
        complete("decode", 1, 4, cat="user_annotation"),
        {"ph": "X", "cat": "gpu_user_annotation", "name": "decode", "pid": 0, "tid": 7, "ts": 2, "dur": 2},
        complete("PyTorch Profiler (0)", 0, 9, cat="Trace", pid="Spans", tid="PyTorch Profiler"),
        {"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 9, "s": "g"},
        {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 40, "tid": 41, "ts": 3, "args": {"Bytes": 8}},
    )  # fmt: skip

    assert rows(trace, "markers", "name", "category", "start_ns", "end_ns", "flags", "process") == [
        ("decode", "user_annotation", 1000, 5000, 0, 0),
        ("decode", "gpu_user_annotation", 2000, 4000, 0, 0),
        ("Record Window End", "", 9000, 9000, MARKER_INSTANT, -1),
    ]
    assert rows(trace, "markers", "thread")[:2] == [(41,), (-1,)]
    assert rows(trace, "calls", "name", "start_ns", "end_ns", "args") == [
        ("[memory]", 3000, 3000, '{"Bytes":8}')
    ]
    assert notes(trace) == {}


def test_what_kineto_draws_on_a_gpu_beside_its_work_is_no_op(files: Files) -> None:
    trace = files.trace(
        kernel("k", 1, 1),
        kernel("Stream Sync", 2, 5) | {"cat": "cuda_sync"},
        kernel("something new", 2, 5) | {"cat": "invented_later"},
        complete("host side", 2, 5, cat="invented_later"),
        named(0, "GPU 0", "process_labels"),
    )

    assert trace.ops.strings("name") == ["k"]
    assert trace.calls.strings("name") == ["host side"]
    assert notes(trace)["events of category 'cuda_sync' were not imported"] == 1
    assert notes(trace)["events of category 'invented_later' were not imported"] == 1


def test_begin_and_end_events_are_paired_per_thread(files: Files) -> None:
    def event(phase: str, ts: int, name: str | None = None, tid: int = 1) -> Event:
        return {"ph": phase, "pid": 4, "tid": tid, "ts": ts} | ({"name": name} if name else {})

    trace = files.plain(
        event("E", 0),
        event("B", 1, "outer"),
        event("B", 2, "inner") | {"args": {"x": 1}},
        event("B", 3, "other", tid=2),
        event("E", 4),
        event("E", 6),
        event("E", 9, tid=2),
        event("B", 10, "open"),
        event("E", 12, tid=2),
    )

    assert rows(trace, "calls", "name", "thread", "start_ns", "end_ns", "args") == [
        ("inner", 1, 2000, 4000, '{"x":1}'),
        ("outer", 1, 1000, 6000, ""),
        ("other", 2, 3000, 9000, ""),
        ("open", 1, 10000, 12000, ""),
    ]
    assert notes(trace)["ends of events had no begin"] == 2
    assert notes(trace)["events never ended: their end is the last time seen"] == 1


def test_a_pair_longer_than_time_itself_is_cut_to_it(files: Files) -> None:
    place = {"pid": 1, "tid": 1}
    first, last = "-9223372036854775.808", "9223372036854775.807"

    trace = files.plain(
        {"ph": "B", "name": "all", "ts": first, **place}, {"ph": "E", "ts": last, **place}
    )

    assert rows(trace, "calls", "start_ns", "end_ns") == [(-(1 << 63), -1)]


def test_pairs_span_batches_of_events(files: Files) -> None:
    inner = [complete("x", ts, 1) for ts in range(70_000)]
    begin = {"ph": "B", "name": "all", "pid": 1, "tid": 1, "ts": 0}

    trace = files.plain(begin, *inner, {"ph": "E", "pid": 1, "tid": 1, "ts": 70_000})

    assert len(trace.calls) == 70_001
    assert ("all", 0, 70_000_000) in rows(trace, "calls", "name", "start_ns", "end_ns")


def test_other_tools_ops_are_told_by_the_name_of_their_process(files: Files) -> None:
    trace = files.plain(
        {},
        {"ph": "X", "name": "gemm", "pid": "0", "tid": "2", "ts": "5", "dur": "3", "args": {"desc": "KernelExecution"}},
        {"ph": "X", "name": "CopyDeviceToDevice", "pid": "0", "tid": "2", "ts": "9", "dur": "1", "args": {"desc": "CopyDeviceToDevice"}},
        {"ph": "X", "name": "hipLaunchKernel", "pid": "77", "tid": "78", "ts": "1", "dur": "2", "args": {"desc": "gridDim"}},
        {"ph": "s", "id": "1", "cat": "api_op", "name": "api_op", "pid": "77", "tid": "78", "ts": "2"},
        {"ph": "f", "id": "1", "cat": "api_op", "name": "api_op", "pid": "0", "tid": "2", "ts": "5", "bp": "e"},
        named("0", "GPU0"),
        named("77", "python"),
    )  # fmt: skip

    assert rows(trace, "ops", "name", "type", "gpu", "queue", "start_ns") == [
        ("gemm", "KernelExecution", 0, 2, 5000),
        ("", "CopyDeviceToDevice", 0, 2, 9000),
    ]
    assert rows(trace, "calls", "name", "pid", "thread") == [("hipLaunchKernel", 77, 78)]
    assert rows(trace, "links", "call", "op") == [(1, 1)]
    assert rows(trace, "ops", "thread") == [(78,), (-1,)]
    assert rows(trace, "processes", "pid", "name") == [(77, "python")]


def test_exports_of_rocpd_traces_are_told_by_the_op_type(files: Files) -> None:
    trace = files.open(
        json.dumps(
            {
                "traceEvents": [
                    named(1, "GPU 1"),
                    named(1000040, "Host (PID 40)"),
                    {"ph": "X", "cat": "KernelExecution", "name": "gem...", "pid": 1, "tid": 0, "ts": 1.5, "dur": 2.0,
                     "args": {"full_name": "gemm<float>", "gpu": 1, "queue": 3, "workgroup": "256,1,1", "grid": "1024,1,1"}},
                    {"ph": "X", "cat": "UserMarker", "name": "step", "pid": 0, "tid": 9, "ts": 0.5, "dur": 9.25},
                    {"ph": "X", "cat": "hip_api", "name": "hipMemcpy", "pid": 1000040, "tid": 41, "ts": 1, "dur": 1},
                ]
            }
        )
    )  # fmt: skip

    columns = ("name", "type", "gpu", "queue", "start_ns", "end_ns", "grid_x", "workgroup_x")
    assert rows(trace, "ops", *columns) == [
        ("gemm<float>", "KernelExecution", 1, 3, 1500, 3500, 1024, 256)
    ]
    assert rows(trace, "markers", "name", "start_ns", "end_ns") == [("step", 500, 9750)]
    assert rows(trace, "calls", "name", "category") == [("hipMemcpy", "hip_api")]


def test_two_gpu_processes_of_one_name_are_two_gpus(files: Files) -> None:
    trace = files.plain(
        named(1, "GPU 0"),
        named(2, "GPU 0"),
        {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
        {"ph": "X", "name": "b", "pid": 2, "tid": 1, "ts": 1, "dur": 1},
    )

    assert rows(trace, "ops", "name", "gpu") == [("a", 0), ("b", 1000)]


def test_processes_threads_queues_and_agents_are_named(files: Files) -> None:
    device = {
        "id": 0,
        "name": "NVIDIA H200",
        "computeMajor": 9,
        "computeMinor": 0,
        "warpSize": 32,
        "numSms": 132,
        "totalGlobalMem": 150109880320,
    }
    trace = files.trace(
        launch("cudaLaunchKernel", 0, 1, 1),
        complete("python", 0, 1, cat="python_function", pid=0, tid=0),
        kernel("k", 1, 1),
        named(40, "python3"),
        named(0, "python3"),
        named(0, "GPU 0", "process_labels"),
        named(40, "main", "thread_name", 41),
        named(0, "stream 7 ", "thread_name", 7),
        deviceProperties=[device],
        distributedInfo={"rank": 3, "world_size": 8},
        baseTimeNanoseconds=1751410836000000000,
    )  # fmt: skip

    assert rows(trace, "processes", "id", "pid", "name", "rank", "world_size") == [
        (0, 40, "python3", 3, 8)
    ]
    assert rows(trace, "calls", "pid", "process") == [(40, 0), (0, 0)]
    assert rows(trace, THREADS, "process", "thread", "name") == [(0, 41, "main")]
    assert rows(trace, QUEUES, "gpu", "queue", "name") == [(0, 7, "stream 7")]
    assert rows(
        trace, "agents", "gpu", "model", "chip", "cu_count", "wave_size", "memory_bytes"
    ) == [(0, "NVIDIA H200", "sm_90", 132, 32, 150109880320)]
    assert trace.metadata["chrome.baseTimeNanoseconds"] == "1751410836000000000"
    assert trace.metadata["chrome.distributedInfo"] == '{"rank":3,"world_size":8}'


def test_string_and_large_process_ids_stay_apart(files: Files) -> None:
    trace = files.plain(
        complete("a", 1, 1, pid=7, tid=1),
        complete("b", 1, 1, pid="7", tid=1),
        complete("c", 1, 1, pid="worker", tid="loop"),
        complete("d", 1, 1, pid=(1 << 63) - 1, tid=1),
        complete("e", 1, 1, pid=(1 << 64) - 1, tid=1),
    )

    pids = trace.calls["pid"].tolist()
    assert pids[0] == 7
    assert pids[3] == (1 << 63) - 1
    assert len(set(pids)) == 5
    assert trace.calls["process"].tolist() == [0, 1, 2, 3, 4]
    assert trace.processes.strings("name")[2] == "worker"


def test_what_cannot_be_placed_in_time_is_skipped_or_repaired_and_noted(files: Files) -> None:
    trace = files.trace(
        kernel("no time", None, 1),
        kernel("no duration", 1, None),
        kernel("negative", 5, -2),
        kernel("beyond", 9.3e15, 1),
        kernel("end beyond", "9223372036854775", "9223372036854775"),
        {"ph": "C", "name": "counter", "ts": 1, "args": {"v": 1}},
        {"ph": "b", "name": "async", "ts": 1, "id": 1},
    )

    assert rows(trace, "ops", "name", "start_ns", "end_ns") == [
        ("no duration", 1000, 1000),
        ("negative", 5000, 5000),
        ("end beyond", 9223372036854775000, 9223372036854775000),
    ]
    assert notes(trace) == {
        "events without a usable time stamp were skipped": 2,
        "events without a duration were read as zero-length": 1,
        "events ended before they began: their end is set to the start": 2,
        "times could not be read as numbers": 1,
        "events of phase 'C' were not imported": 1,
        "events of phase 'b' were not imported": 1,
        "ops (of 3) have no launch record": 3,
    }


def test_hostile_numbers_do_not_reach_small_columns(files: Files) -> None:
    huge = 1 << 62
    trace = files.trace(
        kernel("a", 1, 1, device=huge, stream=huge, grid=[huge] * 3, block=[huge] * 3),
        kernel("b", 1, 1, device=-5, correlation=-7, **{"registers per thread": huge}),
    )

    assert rows(trace, "ops", "gpu", "grid_x", "workgroup_x") == [(-1, -1, -1), (-1, -1, -1)]
    assert rows(trace, "ops", "queue", "kernel") == [(huge, -1), (7, -1)]


def test_hostile_names_are_kept_as_they_are(files: Files) -> None:
    names = ['"; DROP TABLE', "</script>", "a\nb\x00c", "../../etc", "é" * 70_000, "\ud800"]

    trace = files.trace(*(kernel(name, 1, 1) for name in names))

    assert trace.ops.strings("name") == [*names[:-1], "\ufffd"]


@pytest.mark.parametrize(
    "text",
    [
        b'{"schemaVersion": 1}',
        b'{"traceEvents": null}',
        b'{"traceEvents"',
        b'[{"ph":"X",}]',
        gzip.compress(b"[{]", mtime=0),
    ],
)
def test_what_holds_no_events_is_unreadable(files: Files, text: bytes) -> None:
    with pytest.raises(UnreadableInputError):
        files.open(text)


def test_elements_that_are_no_events_are_skipped_and_noted(files: Files) -> None:
    trace = files.open(json.dumps([1, "a", None, kernel("k", 1, 1), [2]]))

    assert trace.ops.strings("name") == ["k"]
    assert notes(trace)["elements of the event list are not objects"] == 4


def test_a_cut_file_gives_its_events_and_says_so(files: Files) -> None:
    whole = json.dumps({"traceEvents": [kernel("a", 1, 1), kernel("b", 2, 1)]})

    trace = files.open(whole[:-30])

    assert trace.ops.strings("name") == ["a"]
    assert notes(trace)["file is cut short: the events up to there were read"] == 1


def test_a_file_cut_before_its_events_gets_a_hint(files: Files) -> None:
    with pytest.raises(UnreadableInputError, match="it ends before events") as caught:
        files.open('{"traceEvents":')

    assert caught.value.hint == "was it copied completely, and had the program ended?"


def test_an_empty_list_is_a_trace_without_ops(files: Files) -> None:
    trace = files.open('{"traceEvents": []}')

    assert len(trace.ops) == 0
    assert len(trace.processes) == 0


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b'{"traceEvents": [', True),
        (b'\xef\xbb\xbf \n{"schemaVersion": 1, "deviceProperties": [', True),
        (b'[\n{"ph":"X"', True),
        (b'[{}, {"name": "a", "ph": "X"', True),
        (b"[]", True),
        (b"[1, 2, 3]", False),
        (b'{"rocprofiler-sdk-tool": [', False),
        (b"SQLite format 3\x00", False),
        (b"", False),
    ],
)
def test_the_format_is_told_by_content(head: bytes, expected: bool) -> None:
    assert IMPORTER.matches(Probe(Path("x"), head)) is expected


def test_our_own_export_reads_back_as_it_was(files: Files) -> None:
    maker = (
        a_trace()
        .with_process(40, name="python3")
        .with_call("hipLaunchKernel", 1_000_100, 1_000_300, pid=40, thread=41, args="grid=1", correlation=9, domain="HIP")
        .with_call("main", 1_000_000, 1_009_999, pid=40, thread=41, category="")
        .with_marker("step", 1_000_050, 1_005_000, thread=41, category="roctx")
        .with_kernel("void gemm<float>(int)", 1_000_400, 1_000_777, gpu=1, queue=5, stream=2, grid_x=1024, workgroup_x=256, grid_y=1, workgroup_y=1, grid_z=1, workgroup_z=1)
        .with_copy(1_000_800, 1_000_900, gpu=1, queue=6, size_bytes=64)
        .with_link(1, 1)
        .with_metadata("command", "python3 x.py")
    )  # fmt: skip
    before = maker.build()
    exporter_called("chrome-json").write(
        maker.builder, files.path, ExportOptions(), lambda done, total: None
    )

    after = Trace(open_chrome_json(files.path))

    for table, columns in {
        "ops": ("name", "type", "gpu", "queue", "stream", "start_ns", "end_ns", "grid_x", "workgroup_x", "size_bytes"),
        "markers": ("name", "category", "start_ns", "end_ns", "thread", "process"),
    }.items():  # fmt: skip
        assert rows(after, table, *columns) == rows(before, table, *columns)
    calls = (
        "name",
        "category",
        "domain",
        "args",
        "start_ns",
        "end_ns",
        "pid",
        "thread",
        "correlation",
    )
    assert sorted(rows(after, "calls", *calls)) == sorted(rows(before, "calls", *calls))
    assert after.metadata == {"command": "python3 x.py"}
    ((call, op),) = rows(after, "links", "call", "op")
    assert after.calls.strings("name")[call - 1] == "hipLaunchKernel"
    assert op == 1
