"""A session folder reads as the trace that was recorded, whatever state its files are in."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.chunks import HOST, OP, PAGE, RAW_TICKS, TIMES_LOST, ProcessMaker, a_process
from wavescope.errors import UnreadableInputError
from wavescope.formats import open_source, open_trace
from wavescope.formats.session.folder import write_session_facts
from wavescope.formats.session.reading import Window, open_session
from wavescope.formats.session.reading.reader import link_batches
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.columns import (
    COPIES,
    COVERAGE,
    LAUNCHES,
    LINKS,
    MARKERS,
    OPS,
    QUEUES,
    TABLES,
)
from wavescope.model.source import rows_of_room
from wavescope.model.trace import Trace


def notes_of(trace: Trace) -> dict[str, int]:
    return dict(trace.notes)


def rows_of(trace: Trace, table: str, *columns: str) -> list[tuple[int, ...]]:
    found = getattr(trace, table)
    found.load(*columns)
    return list(zip(*(found[name].tolist() for name in columns), strict=True))


def simple(folder: Path, **values: int) -> ProcessMaker:
    return (
        a_process(folder, **values)
        .with_agent(0, uuid="GPU-a", product="Soft", cu_count=104)
        .with_fact("queue", queue=0, gpu=0, address=0x7000, size=64)
        .with_fact("kernel", object=0x100, name="_Z4gemmPfi", vgprs=32, code_object="a.co")
        .with_op(start=100, end=150, kernel=0x100)
    )


def test_a_dispatch_becomes_an_op_with_its_kernel(tmp_path: Path) -> None:
    folder = (
        simple(tmp_path / "s")
        .with_op(start=200, end=260, kernel=0x100, grid=(256, 2, 3), workgroup=(64, 2, 1), thread=9)
        .write()
    )
    with open_trace(folder) as trace:
        columns = ("id", "gpu", "queue", "start_ns", "end_ns", "process", "thread", "kernel")
        assert rows_of(trace, "ops", *columns) == [
            (1, 0, 0, 100, 150, 0, 5, 1),
            (2, 0, 0, 200, 260, 0, 9, 1),
        ]
        assert trace.ops.strings("name") == ["gemm(float*, int)"] * 2
        assert trace.ops.strings("type") == ["KernelExecution"] * 2
        assert rows_of(trace, "ops", "grid_x", "grid_y", "grid_z", "workgroup_x", "workgroup_y")[
            1
        ] == (256, 2, 3, 64, 2)
        assert trace.ops["hardware_queue"].tolist() == [0x7000, 0x7000]
        assert trace.kernels.strings("mangled") == ["_Z4gemmPfi"]
        assert trace.kernels.strings("code_object") == ["a.co"]
        assert trace.kernels["vgprs"].tolist() == [32]
        assert trace.agents.strings("model") == ["Soft"]
        assert not notes_of(trace)


def test_copies_have_direction_size_and_a_queue_per_engine(tmp_path: Path) -> None:
    folder = (
        simple(tmp_path / "s")
        .with_agent(1, uuid="GPU-b")
        .with_copy(10, 20, 4096, HOST, 0)
        .with_copy(15, 25, 512, 0, HOST, engine=1)
        .with_copy(30, 40, 64, 0, 0)
        .with_copy(50, 60, 65, 0, 1)
        .with_op(start=70, end=80, kind=3, kernel=128)
        .with_op(start=80, end=81, kind=4)
        .write()
    )
    with open_trace(folder) as trace:
        assert trace.ops.strings("type")[1:] == [
            "CopyHostToDevice",
            "CopyDeviceToHost",
            "CopyDeviceToDevice",
            "CopyPeerToPeer",
            "FillMemory",
            "Barrier",
        ]
        assert trace.ops["size_bytes"].tolist() == [-1, 4096, 512, 64, 65, 128, -1]
        assert trace.ops["queue"].tolist() == [0, 1, 2, 1, 1, 0, 0]
        assert trace.ops["source_device"].tolist() == [-1, -1, 0, 0, 0, -1, -1]
        assert trace.ops["target_device"].tolist() == [-1, 0, -1, 0, 1, -1, -1]
        assert trace.ops.strings("name")[1:] == [""] * 6


def test_copies_of_unknown_engines_have_a_queue_per_direction(tmp_path: Path) -> None:
    folder = (
        simple(tmp_path / "s")
        .with_copy(10, 20, 4096, HOST, 0, engine=HOST)
        .with_copy(10, 20, 4096, 0, HOST, engine=HOST)
        .with_copy(10, 20, 4096, HOST, 0, engine=7)
        .write()
    )
    with open_trace(folder) as trace:
        names = trace.table(QUEUES).strings("name")
        assert names == ["queue 0", "copy engine 7", "copies to the device", "copies to the host"]
        assert trace.ops["queue"].tolist() == [0, 2, 3, 1]


def test_raw_ticks_are_converted_by_the_clock_of_their_gpu(tmp_path: Path) -> None:
    process = simple(tmp_path / "s").with_agent(1)
    for gpu, rate in ((0, 10), (1, 40)):
        process.with_fact("clock", gpu=gpu, ticks=1000, ns=1_000_000)
        process.with_fact("clock", gpu=gpu, ticks=2000, ns=1_000_000 + 1000 * rate)
    process.with_op(start=1500, end=1600, flags=RAW_TICKS)
    process.with_op(start=1500, end=1600, flags=RAW_TICKS, gpu=1)
    process.with_op(start=1500, end=1600, flags=RAW_TICKS, gpu=2)
    with open_trace(process.write()) as trace:
        assert rows_of(trace, "ops", "gpu", "start_ns", "end_ns") == [
            (0, 100, 150),
            (0, 1_005_000, 1_006_000),
            (1, 1_020_000, 1_024_000),
        ]
        assert notes_of(trace) == {
            "ops with GPU ticks but without clock readings to convert them, left out": 1
        }
        assert "100000000.000 ticks/s" in trace.metadata["clock of GPU 0"]


def test_an_object_that_is_given_out_again_is_told_by_time(tmp_path: Path) -> None:
    folder = (
        simple(tmp_path / "s")
        .with_fact("kernel", object=0x100, name="later", ns=400)
        .with_op(start=399, end=401, kernel=0x100)
        .with_op(start=400, end=402, kernel=0x100)
        .write()
    )
    with open_trace(folder) as trace:
        assert trace.ops.strings("name") == ["gemm(float*, int)", "gemm(float*, int)", "later"]
        assert trace.ops["kernel"].tolist() == [1, 1, 2]


def test_one_clock_reading_and_the_nominal_rate_are_enough(tmp_path: Path) -> None:
    folder = (
        a_process(tmp_path / "s")
        .with_agent(0)
        .with_fact("clock", gpu=0, ticks=1000, ns=50_000, ticks_per_second=100_000_000)
        .with_op(start=1010, end=1020, flags=RAW_TICKS)
        .write()
    )
    with open_trace(folder) as trace:
        assert rows_of(trace, "ops", "start_ns", "end_ns") == [(50_100, 50_200)]


def test_labels_and_costs_are_metadata(tmp_path: Path) -> None:
    folder = (
        simple(tmp_path / "s")
        .with_fact("label", what="hip_stream", id=0x50, name="decode")
        .with_fact("cost", worker_cpu_ns=1_500_000, sweeps=3, bytes=2048)
        .with_fact("cost", worker_cpu_ns=500_000, sweeps=1, bytes=0)
        .with_fact("runtime", name="hsa", version="1.5", path="/lib/libhsa.so")
        .write()
    )
    with open_trace(folder) as trace:
        assert trace.metadata["hip stream 0x50"] == "decode"
        assert trace.metadata["collector_cost"] == "2.000 ms of CPU in 4 sweeps, 2.048 kB written"
        assert trace.metadata["runtime hsa"] == "1.5 /lib/libhsa.so"
        assert "runtime hsa: limits" not in trace.metadata


def test_a_runtime_is_spelled_with_its_release_and_its_limits(tmp_path: Path) -> None:
    folder = (
        simple(tmp_path / "s")
        .with_fact(
            "runtime",
            name="hsa",
            version="1.1",
            extension="1.7",
            library="1.14.60403",
            rocm="6.4.3",
            path="/lib/libhsa.so.1.14.60403",
            limits=["does this", "does that"],
        )
        .write()
    )
    with open_trace(folder) as trace:
        assert trace.metadata["runtime hsa"] == (
            "ROCm 6.4.3, version 1.1 with AMD's extensions 1.7 /lib/libhsa.so.1.14.60403"
        )
        assert trace.metadata["runtime hsa: limits"] == "does this; does that"


def test_what_is_not_a_row_is_left_out_the_same_way_in_every_pass(tmp_path: Path) -> None:
    folder = (
        simple(tmp_path / "s")
        .with_empty("ops", 2)
        .with_op(start=0, end=0, flags=TIMES_LOST)
        .with_op(start=5, end=6, kind=77)
        .with_op(start=1 << 63, end=6)
        .with_op(start=300, end=200, kernel=0x999)
        .write()
    )
    with open_trace(folder) as trace:
        for column in ("id", "gpu", "name", "start_ns", "marker", "lds_bytes"):
            assert len(trace.ops[column]) == 2, column
        assert rows_of(trace, "ops", "id", "start_ns", "end_ns") == [(1, 100, 150), (7, 300, 300)]
        assert trace.ops.strings("name")[1] == "kernel at 0x999"
        assert notes_of(trace) == {
            "ops whose times the GPU did not leave, left out": 1,
            "ops of a kind that this version does not know, left out": 1,
            "ops with impossible times, left out": 1,
            "ops that end before they start: given no duration": 1,
        }


def test_markers_keep_the_ids_that_ops_refer_to(tmp_path: Path) -> None:
    folder = (
        simple(tmp_path / "s")
        .with_marker("inner", 50, 70, id=3, parent=1, depth=1)
        .with_empty("markers")
        .with_marker("prefill", 10, 90, id=1)
        .with_marker("a mark", 60, 0, id=2, kind=2)
        .with_marker("nvtx", 60, 61, id=6, flags=4)
        .with_op(start=400, end=500, marker=3)
        .with_op(start=400, end=500, marker=5)
        .write()
    )
    with open_trace(folder) as trace:
        assert rows_of(trace, "markers", "id", "start_ns", "end_ns", "flags") == [
            (1, 10, 90, 0),
            (2, 60, 60, 1),
            (3, 50, 70, 0),
            (6, 60, 61, 0),
        ]
        assert trace.markers.strings("name") == ["prefill", "a mark", "inner", "nvtx"]
        assert trace.markers.strings("category") == ["roctx", "roctx", "roctx", "nvtx"]
        assert trace.ops["marker"].tolist() == [-1, 3, -1]


def test_a_huge_id_of_a_marker_reserves_nothing(tmp_path: Path) -> None:
    huge = 2_751_463_413
    folder = (
        simple(tmp_path / "s").with_marker("far", 10, 90, id=huge).with_marker("near", 20, 30, id=1)
    )
    with open_trace(folder.with_op(start=400, end=500, marker=huge).write()) as trace:
        assert trace.source.row_count(MARKERS) == huge
        assert rows_of_room(trace.source, MARKERS) < 1_000
        assert trace.markers["id"].tolist() == [1, huge]
        assert trace.ops["marker"].tolist()[-1] == huge


def test_open_ranges_and_calls_end_with_the_last_event_and_say_so(tmp_path: Path) -> None:
    folder = (
        simple(tmp_path / "s", start_ns=50)
        .with_marker("decode", 120, 0, id=1, kind=3)
        .with_marker("of a thread that ended", 130, 140, id=2, kind=3)
        .with_fact("function", function=0, name="hipDeviceSynchronize", kind="sync", arguments=[])
        .with_call(0, 130, 0, flags=1)
        .with_op(start=400, end=500)
        .write(ended=False)
    )
    with open_trace(folder) as trace:
        assert rows_of(trace, "markers", "start_ns", "end_ns", "flags") == [
            (120, 500, 2),
            (130, 140, 2),
        ]
        assert rows_of(trace, "calls", "start_ns", "end_ns", "return_code") == [(130, 500, -1)]
        assert trace.metadata["cut_off_processes"] == "7"
        assert trace.processes["end_ns"].tolist() == [-1]
        assert notes_of(trace) == {
            "the recording of process 7 was cut off": 1,
            "calls that had not returned when recording ended: ended there": 1,
        }


def a_hip_process(folder: Path) -> ProcessMaker:
    process = simple(folder)
    kernel = process.text_id("_Z4gemmPfi")
    block = 64 | 2 << 21 | 1 << 42
    launch = ["kernel:text", "grid_x", "grid_y", "grid_z", "block:xyz", "shared_bytes"]
    copy = ["dst:address", "src:address", "bytes", "kind"]
    return (
        process.with_fact(
            "function", function=0, name="hipLaunchKernel", kind="launch", arguments=launch
        )
        .with_fact("function", function=3, name="hipMemcpyAsync", kind="copy", arguments=copy)
        .with_call(0, 90, 95, correlation=11, stream=0x50, arguments=(kernel, 4, 1, 1, block, 32))
        .with_empty("calls")
        .with_call(3, 96, 99, correlation=12, arguments=(0xA000, 0xB000, 4096, 1), result=1)
        .with_call(9, 99, 100)
        .with_op(start=300, end=310, kernel=0x100, correlation=11)
        .with_op(start=320, end=330, kernel=0x100, correlation=11)
        .with_copy(340, 350, 4096, HOST, 0, correlation=12)
        .with_op(start=360, end=370, kernel=0x100, correlation=99)
    )


def test_ops_of_a_replay_name_their_graph(tmp_path: Path) -> None:
    folder = (
        simple(tmp_path / "s")
        .with_fact(
            "function",
            function=5,
            name="hipGraphLaunch",
            kind="launch",
            arguments=["graph:address"],
        )
        .with_fact(
            "function",
            function=6,
            name="hipGraphDestroy",
            kind="graph",
            arguments=["graph:address"],
        )
        .with_call(5, 90, 95, correlation=11, stream=0x50, arguments=(0xE0,))
        .with_call(6, 96, 97, correlation=12, arguments=(0xF0,))
        .with_op(start=300, end=310, correlation=11)
        .with_op(start=320, end=330, correlation=12)
        .write()
    )
    with open_trace(folder) as trace:
        assert trace.ops["graph"].tolist()[-2:] == [0xE0, -1]
        assert trace.ops["stream"].tolist()[-2:] == [0x50, 0]
        assert len(trace.table(LAUNCHES)) == 0


def test_calls_are_linked_to_their_ops_and_keep_their_arguments(tmp_path: Path) -> None:
    with open_trace(a_hip_process(tmp_path / "s").write()) as trace:
        assert trace.calls.strings("name") == [
            "hipLaunchKernel",
            "hipMemcpyAsync",
            "(unknown function)",
        ]
        assert trace.calls.strings("args") == [
            (
                '{"kernel":"_Z4gemmPfi","grid_x":4,"grid_y":1,"grid_z":1,"block":"64,2,1",'
                '"shared_bytes":32}'
            ),
            '{"dst":"0xa000","src":"0xb000","bytes":4096,"kind":1}',
            "",
        ]
        assert rows_of(trace, "calls", "id", "correlation", "stream", "return_code") == [
            (1, 11, 0x50, 0),
            (3, 12, 0, 1),
            (4, 0, 0, 0),
        ]
        assert trace.ops["stream"].tolist() == [-1, 0x50, 0x50, 0, -1]
        links = trace.table(LINKS)
        assert list(zip(links["call"].tolist(), links["op"].tolist(), strict=True)) == [
            (1, 2),
            (1, 3),
            (3, 4),
        ]
        launches = trace.table(LAUNCHES)
        assert launches.strings("name") == ["gemm(float*, int)"]
        names = ("call", "stream", "grid_x", "workgroup_x", "workgroup_y", "lds_bytes")
        assert [launches[name].tolist() for name in names] == [[1], [0x50], [4], [64], [2], [32]]
        copies = trace.table(COPIES)
        names = ("call", "size_bytes", "kind", "target", "source", "synchronous")
        assert [copies[name].tolist() for name in names] == [
            [3],
            [4096],
            [1],
            [0xA000],
            [0xB000],
            [0],
        ]


def test_side_tables_keep_the_order_of_the_calls(tmp_path: Path) -> None:
    process = a_hip_process(tmp_path / "s")
    process.with_fact("function", function=1, name="hipMemcpy", kind="copy", arguments=["bytes"])
    for index in range(6):
        process.with_call(1 if index % 2 else 3, 200 + index, 201 + index, arguments=(index,))
    with open_trace(process.write()) as trace:
        copies = trace.table(COPIES)
        assert copies["call"].tolist() == [3, 5, 6, 7, 8, 9, 10]
        assert copies["size_bytes"].tolist() == [4096, 0, 1, 0, 3, 0, 5]
        assert copies["target"].tolist() == [0xA000, 0, -1, 2, -1, 4, -1]
        assert copies["synchronous"].tolist() == [0, 0, 1, 0, 1, 0, 1]
    with open_session(process.folder) as source:
        write_trace([source], tmp_path / "trace.db")


def test_links_are_the_same_when_calls_are_looked_up_in_parts(tmp_path: Path) -> None:
    source = open_session(a_hip_process(tmp_path / "s").write())
    (process,) = source._processes
    whole = list(link_batches(process.calls, process.ops, 3, 100))
    parts = list(link_batches(process.calls, process.ops, 3, 100, calls_in_memory=1))

    def pairs(batches: list[dict[str, np.ndarray]]) -> set[tuple[int, int]]:
        return {
            pair
            for batch in batches
            for pair in zip(batch["call"].tolist(), batch["op"].tolist(), strict=True)
        }

    assert pairs(whole) == pairs(parts) == {(1, 2), (1, 3), (3, 4)}


def test_coverage_says_in_words_why_dispatches_are_missing(tmp_path: Path) -> None:
    folder = (
        simple(tmp_path / "s")
        .with_counter(seen=100, timed=1, skipped=(0, 90, 4), lost=(5,))
        .with_counter(seen=2, timed=2, queue=1)
        .with_fact("note", text="device-side enqueue is not recorded", count=3)
        .write()
    )
    with open_trace(folder) as trace:
        table = trace.table(COVERAGE)
        columns = ("gpu", "queue", "seen", "timed", "skipped", "lost")
        assert rows_of(trace, "coverage", *columns) == [
            (0, 0, 100, 1, 90, 0),
            (0, 0, 0, 0, 4, 0),
            (0, 0, 0, 0, 0, 5),
            (0, -1, 2, 2, 0, 0),
        ]
        assert table.strings("reason") == [
            "that came in batches, as graph replays do, and were left alone: record again in standard mode",
            "while recording was paused",
            "lost because the buffers were full",
            "",
        ]
        assert table.strings("mode") == ["standard"] * 4
        assert notes_of(trace) == {
            "dispatches that were timed, but whose records are not in the files": 2,
            "device-side enqueue is not recorded": 3,
        }


def a_filtered_process(folder: Path, pattern: str) -> ProcessMaker:
    write_session_facts(folder, {"kernel_filter": pattern})
    process = a_process(folder).with_agent(0).with_counter(seen=6, timed=5, skipped=(0, 0, 1))
    process.with_fact("kernel", object=0x100, name="_Z4gemmPf", ns=0)
    process.with_fact("kernel", object=0x100, name="_Z4copyPf", ns=50)
    process.with_op(start=10, end=20, kernel=0x100).with_op(start=60, end=70, kernel=0x100)
    process.with_op(start=80, end=90, kernel=0x200).with_copy(91, 92, 4096, HOST, 0)
    process.with_op(start=95, end=99, kernel=0x100).with_op(start=96, end=99, kernel=0x100)
    return process


@pytest.mark.parametrize(
    ("pattern", "starts", "timed"),
    [
        ("(?i)GEMM", [10, 91], 1),
        (r"^copy\(float\*\)$", [60, 91, 95, 96], 3),
        ("at 0x200", [80, 91], 1),
        ("nothing", [91], 0),
    ],
)
def test_kernels_that_are_not_asked_for_are_counted_and_left_out(
    pattern: str, starts: list[int], timed: int, tmp_path: Path
) -> None:
    a_filtered_process(tmp_path, pattern).write()
    with open_trace(tmp_path) as trace:
        assert trace.ops["start_ns"].tolist() == starts
        assert trace.coverage["seen"].tolist() == [6, 0]
        assert trace.coverage["timed"].tolist() == [timed, 0]
        assert trace.coverage["skipped"].tolist() == [1, 5 - timed]
        assert trace.coverage.strings("reason")[1] == "whose name does not match --kernel"
        assert not list(trace.notes)


def test_kernels_of_a_killed_process_are_chosen_too(tmp_path: Path) -> None:
    a_filtered_process(tmp_path, "gemm").write(ended=False)
    with open_trace(tmp_path) as trace:
        assert trace.ops["start_ns"].tolist() == [10, 91]
        assert trace.coverage["timed"].tolist() == [1, 0]
        assert trace.coverage["skipped"].tolist() == [1, 4]


def test_kernels_of_a_window_are_chosen_within_it(tmp_path: Path) -> None:
    process = a_filtered_process(tmp_path, "copy")
    process.write()
    with Trace(open_session(tmp_path, {process.base: Window(50, 95)})) as trace:
        assert trace.ops["start_ns"].tolist() == [60, 91]
        assert trace.coverage["timed"].tolist() == [1, 0, 0]
        assert trace.coverage["seen"].tolist() == [4, 0, 0]
        assert trace.coverage["skipped"].tolist() == [1, 1, 1]  # too early, paused, another name


@pytest.mark.parametrize("pattern", ["(", "a{" + "1" * 5_000 + "}", "(" * 5_000])
def test_a_pattern_in_a_session_that_is_none_shows_all(tmp_path: Path, pattern: str) -> None:
    a_filtered_process(tmp_path, pattern).write()
    with open_trace(tmp_path) as trace:
        assert trace.ops["start_ns"].tolist() == [10, 60, 80, 91, 95, 96]
        assert trace.coverage["timed"].tolist() == [5]
        notes = [note for note, _ in trace.notes]
    assert notes == ["the pattern of kernels is not a regular expression: all are shown"]


def test_copies_are_no_dispatches_in_the_coverage(tmp_path: Path) -> None:
    folder = (
        simple(tmp_path / "s")
        .with_counter(seen=1, timed=1)
        .with_counter(seen=9, timed=4, queue=0xFFFF, skipped=(0, 0, 5))
        .write()
    )
    with open_trace(folder) as trace:
        assert rows_of(trace, "coverage", "seen", "timed") == [(1, 1)]
        assert notes_of(trace) == {
            "copies that are not in the trace: while recording was paused": 5
        }


def test_a_killed_process_explains_its_unfinished_dispatches(tmp_path: Path) -> None:
    folder = simple(tmp_path / "s").with_counter(seen=10, timed=1).write(ended=False)
    with open_trace(folder) as trace:
        assert trace.coverage["lost"].tolist() == [9]
        assert "killed" in trace.coverage.strings("reason")[0]


def test_processes_share_gpus_by_uuid_and_keep_their_own_queues(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    simple(folder, pid=8, start_ns=2000).with_fact("process", rank=1, world_size=2).with_marker(
        "b", 1, 2, id=1
    ).write()
    (
        a_process(folder, pid=9, start_ns=1000)
        .with_agent(0, uuid="GPU-b")
        .with_agent(1, uuid="GPU-a")
        .with_fact("queue", queue=0, gpu=0, address=1)
        .with_fact("queue", queue=1, gpu=1, address=2)
        .with_marker("a", 1, 2, id=4)
        .with_op(start=10, end=20, gpu=0, queue=0)
        .with_op(start=10, end=20, gpu=1, queue=1, marker=4)
        .write()
    )
    with open_trace(folder) as trace:
        assert rows_of(trace, "processes", "id", "pid", "rank") == [(0, 9, -1), (1, 8, 1)]
        assert rows_of(trace, "ops", "id", "process", "gpu", "queue", "marker") == [
            (1, 0, 0, 0, -1),
            (2, 0, 1, 0, 4),
            (3, 1, 1, 1, -1),
        ]
        assert rows_of(trace, "markers", "id", "process") == [(4, 0), (5, 1)]
        agents = zip(trace.agents["gpu"].tolist(), trace.agents.strings("uuid"), strict=True)
        assert sorted(agents) == [(0, "GPU-b"), (1, "GPU-a")]
        queues = trace.table(QUEUES)
        assert queues.strings("name") == [
            "queue 0 of process 9",
            "queue 1 of process 9",
            "queue 0 of process 8",
        ]


def test_a_session_survives_being_written_to_a_trace_file(tmp_path: Path) -> None:
    source = open_session(a_hip_process(tmp_path / "s").with_marker("m", 1, 2, id=9).write())
    write_trace([source], tmp_path / "trace.db")
    with open_trace(tmp_path / "trace.db") as stored, Trace(source) as session:
        for table in TABLES:
            if table.name == "metadata":
                continue
            assert len(stored.table(table)) == len(session.table(table)), table.name
        for column in ("gpu", "queue", "start_ns", "end_ns", "correlation", "size_bytes"):
            assert stored.ops[column].tolist() == session.ops[column].tolist(), column
        assert stored.ops.strings("name") == session.ops.strings("name")
        assert stored.calls.strings("args") == session.calls.strings("args")


def test_a_damaged_header_costs_its_stream_only(tmp_path: Path) -> None:
    process = simple(tmp_path / "s").with_marker("m", 1, 2, id=1)
    process.write()
    path = process.path("ops")
    good = path.read_bytes()
    cases = {
        b"XXXX" + good[4:]: "without a header",
        good[:8]
        + struct.pack("<I", 2)
        + good[12:]: "of version 2, which this version does not know",
        good[:12] + struct.pack("<I", 3) + good[16:]: "of stream 3 instead of 1",
        good[:16] + struct.pack("<I", 63) + good[20:]: "with records of 63 bytes",
        good[:16] + struct.pack("<I", 1 << 31) + good[20:]: "with records of 2147483648 bytes",
        good[:100]: "shorter than its header",
        b"": "shorter than its header",
    }
    for damaged, reason in cases.items():
        path.write_bytes(damaged)
        with open_trace(process.folder) as trace:
            assert len(trace.ops) == 0
            assert trace.markers.strings("name") == ["m"]
            assert notes_of(trace) == {f"file 7-1000.ops is {reason}: left out": 1}


def test_records_that_grew_at_their_end_are_read_in_their_steps(tmp_path: Path) -> None:
    process = simple(tmp_path / "s").with_op(start=7, end=8)
    process.write()
    data = process.stream_bytes("ops")
    header, records = data[:PAGE], data[PAGE:]
    wide = b"".join(records[at : at + 64] + b"new data" for at in range(0, len(records), 64))
    process.path("ops").write_bytes(header[:16] + struct.pack("<I", 72) + header[20:] + wide)
    with open_trace(process.folder) as trace:
        assert trace.ops["start_ns"].tolist() == [100, 7]


def test_truncation_at_every_byte_keeps_every_whole_record(tmp_path: Path) -> None:
    process = simple(tmp_path / "s").with_op(start=7, end=8).with_op(start=9, end=10)
    process.with_marker("name of a marker", 1, 2, id=1)
    process.write()
    for suffix in ("ops", "facts", "text", "markers"):
        whole = process.path(suffix).read_bytes()
        first = PAGE if suffix in ("ops", "markers") else 0
        for size in range(first, len(whole), 1 if suffix != "facts" else 3):
            process.path(suffix).write_bytes(whole[:size])
            with open_trace(process.folder) as trace:
                if suffix == "ops":
                    assert len(trace.ops) == (size - PAGE) // OP.size
                    assert bool(notes_of(trace)) == ((size - PAGE) % OP.size > 0)
                elif suffix == "text":
                    assert trace.markers.strings("name") == [""]
                elif suffix == "facts":
                    assert len(trace.ops) == 3
        process.path(suffix).write_bytes(whole)


def test_holes_are_skipped_without_reading_them(tmp_path: Path) -> None:
    process = simple(tmp_path / "s")
    process.write()
    with process.path("ops").open("r+b") as file:
        file.truncate(PAGE + 64 * (1 << 30))
        file.seek(PAGE + 64 * ((1 << 30) - 1))
        file.write(OP.pack(1, 0, 0, 5, 3, 4, 0, 0x100, 1, 1, 1, 1, 1, 1, 0, 0))
    source = open_source(process.folder)
    batches = list(source.batches(OPS, ("id", "start_ns")))

    assert [batch["id"].tolist() for batch in batches] == [[1], [1 << 30]]
    assert source.row_count(OPS) == 1 << 30


def test_a_pipe_in_the_place_of_a_stream_is_not_waited_on(tmp_path: Path) -> None:
    process = simple(tmp_path / "s").with_marker("m", 1, 2, id=1)
    process.write()
    process.path("ops").unlink()
    os.mkfifo(process.path("ops"))
    with open_trace(process.folder) as trace:
        assert notes_of(trace) == {"file 7-1000.ops is not a regular file: left out": 1}


def test_a_folder_without_records_is_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "1-2.control").write_bytes(b"WAVESCP1")
    with pytest.raises(UnreadableInputError, match="no process left records") as caught:
        open_session(tmp_path)
    assert "wavescope trace" in caught.value.hint


def test_duplicate_and_zero_marker_ids_are_left_out(tmp_path: Path) -> None:
    process = a_process(tmp_path / "s").with_marker("one", 1, 2, id=1)
    process.with_marker("two", 3, 4, id=1).with_marker("zero", 5, 6, id=0)
    with open_trace(process.write()) as trace:
        assert trace.markers.strings("name") == ["one"]
        assert notes_of(trace) == {
            "markers with the id of another one, left out": 1,
            "markers of a kind that this version does not know, left out": 1,
        }


def test_hostile_facts_are_counted_and_never_fatal(tmp_path: Path) -> None:
    process = simple(tmp_path / "s")
    process.facts += [
        b"not json\n",
        b"[]\n",
        b'{"fact":"agent","gpu":"zero"}\n',
        b'{"fact":"clock","gpu":0,"ticks":-1,"ns":1}\n',
        b'{"fact":"kernel","object":1e30,"name":7}\n',
        b'{"fact":"from the future","x":1}\n',
        b'{"fact":[],"x":1}\n',
        b'{"fact":"process","rank":99999999999999999999999,"hostname":[1]}\n',
        b'{"fact":"queue","queue":70000,"gpu":-5}\n',
        b'{"fact":"function","function":1,"name":null,"arguments":[1,{}]}\n',
        b'{"fact":"thread","thread":5,"name":"\\u0000<script>"}\n',
        b"\0" * 50,
    ]
    with open_trace(process.write()) as trace:
        assert len(trace.ops) == 1
        assert notes_of(trace)["facts that cannot be read, left out"] >= 5


@settings(max_examples=60)
@given(data=st.data())
def test_random_damage_never_crashes_and_every_pass_agrees(
    tmp_path: Path, data: st.DataObject
) -> None:
    process = a_hip_process(tmp_path / "s").with_marker("m", 1, 2, id=1)
    process.with_counter(seen=5, timed=4)
    process.write()
    suffix = data.draw(st.sampled_from(["ops", "calls", "markers", "counters", "facts", "text"]))
    content = bytearray(process.path(suffix).read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        low = PAGE if suffix in process.records and data.draw(st.booleans()) else 0
        content[data.draw(st.integers(low, len(content) - 1))] = data.draw(st.integers(0, 255))
    process.path(suffix).write_bytes(content)
    with open_trace(process.folder) as trace:
        for table in TABLES:
            lengths = {len(trace.table(table)[name]) for name in table.column_names}
            assert len(lengths) == 1, table.name
        ids = trace.ops["id"]
        assert (np.diff(ids) > 0).all()
        assert (trace.ops.duration_ns >= 0).all()
        assert (trace.table(MARKERS).duration_ns >= 0).all()
        assert (trace.calls.duration_ns >= 0).all()
        trace.calls.strings("args")
