"""What collectors of CUDA programs write: longer op records, streams, graphs, counters per GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.chunks import (
    HOST,
    RAW_TICKS,
    ProcessMaker,
    a_cuda_process,
    a_process,
    with_cuda_calls,
)
from wavescope.formats import open_trace
from wavescope.formats.session import layout
from wavescope.formats.session.folder import write_session_facts
from wavescope.formats.session.reading import Window, open_session
from wavescope.formats.session.reading.graph_names import GraphNames
from wavescope.model.columns import COVERAGE, LINKS, QUEUES
from wavescope.model.op_kinds import OpKind
from wavescope.model.strings import StringTable
from wavescope.model.trace import Trace

BLOCKS = 16
GRAPH_RUN = 5
ALL_QUEUES = 0xFFFE
OUTSIDE_SLICES = "outside the slices of time that lite mode records: use --mode standard"


def rows_of(trace: Trace, table: str, *columns: str) -> list[tuple[int, ...]]:
    found = getattr(trace, table)
    found.load(*columns)
    return list(zip(*(found[name].tolist() for name in columns), strict=True))


def test_a_kernel_of_a_graph_names_its_stream_its_graph_and_its_memory(tmp_path: Path) -> None:
    folder = (
        a_cuda_process(tmp_path / "s")
        .with_op(start=100, end=150, kernel=1, queue=1, graph=12, graph_node=3 << 32)
        .with_op(start=200, end=260, kernel=1, queue=0)
        .with_op(start=300, end=360, kernel=2, queue=5)
        .write()
    )
    with open_trace(folder) as trace:
        columns = ("queue", "stream", "graph", "graph_node", "lds_bytes", "scratch_bytes")
        assert rows_of(trace, "ops", *columns) == [
            (1, 13, 12, 3 << 32, 49152, 16),
            (0, 7, -1, -1, 49152, 16),
            (2, -1, -1, -1, -1, -1),
        ]
        assert trace.ops.strings("name") == ["gemm(float*, int)"] * 2 + ["kernel at 0x2"]
        assert trace.table(QUEUES).strings("name") == ["stream 7", "stream 13", "queue 5"]
        assert trace.agents.strings("chip") == ["sm_90"]
        assert trace.agents.strings("model") == ["NVIDIA H200"]
        assert trace.agents["cu_count"].tolist() == [132]
        assert trace.kernels["vgprs"].tolist() == [128]
        assert not list(trace.notes)


def test_a_grid_in_blocks_becomes_work_items_of_any_size(tmp_path: Path) -> None:
    folder = (
        a_cuda_process(tmp_path / "s")
        .with_op(
            start=1, end=2, kernel=1, flags=BLOCKS, grid=(2**31 - 1, 7, 1), workgroup=(1024, 2, 3)
        )
        .with_op(start=1, end=2, kernel=1, grid=(256, 1, 1), workgroup=(64, 1, 1))
        .write()
    )
    with open_trace(folder) as trace:
        assert rows_of(trace, "ops", "grid_x", "grid_y", "grid_z") == [
            ((2**31 - 1) * 1024, 14, 3),
            (256, 1, 1),
        ]
        assert rows_of(trace, "ops", "workgroup_x", "workgroup_y")[0] == (1024, 2)


def test_copies_and_fills_are_on_the_queue_of_their_stream(tmp_path: Path) -> None:
    folder = (
        a_cuda_process(tmp_path / "s")
        .with_copy(10, 20, 4096, HOST, 0, queue=1, engine=HOST)
        .with_copy(30, 40, 64, 0, HOST, queue=0, engine=HOST, flags=BLOCKS)
        .with_op(start=50, end=60, kind=3, kernel=128, queue=1)
        .write()
    )
    with open_trace(folder) as trace:
        assert trace.ops.strings("type") == ["CopyHostToDevice", "CopyDeviceToHost", "FillMemory"]
        columns = ("queue", "stream", "size_bytes", "source_device", "target_device", "grid_x")
        assert rows_of(trace, "ops", *columns) == [
            (1, 13, 4096, -1, 0, -1),
            (0, 7, 64, 0, -1, -1),
            (1, 13, 128, -1, -1, -1),
        ]
        assert trace.table(QUEUES).strings("name") == ["stream 7", "stream 13"]


def test_the_run_of_a_graph_is_work_but_no_kernel(tmp_path: Path) -> None:
    folder = (
        a_cuda_process(tmp_path / "s")
        .with_op(start=100, end=900, kind=GRAPH_RUN, graph=12, correlation=4)
        .with_op(start=1000, end=1001, kind=GRAPH_RUN)
        .with_op(start=1100, end=1200, kernel=1)
        .with_op(start=1300, end=1400, kind=GRAPH_RUN + 1)
        .with_counter(seen=31, timed=1, queue=ALL_QUEUES, skipped=(0, 0, 0, 0, 0, 30))
        .write()
    )
    with open_trace(folder) as trace:
        assert trace.ops.strings("name") == ["graph 12", "graph", "gemm(float*, int)"]
        assert trace.ops.strings("type")[:2] == ["GraphExecution"] * 2
        assert trace.op_kind.tolist() == [OpKind.GRAPH_RUN, OpKind.GRAPH_RUN, OpKind.KERNEL]
        columns = ("end_ns", "graph", "graph_node", "kernel", "grid_x", "lds_bytes", "size_bytes")
        assert rows_of(trace, "ops", *columns) == [
            (900, 12, -1, -1, -1, -1, -1),
            (1001, -1, -1, -1, -1, -1, -1),
            (1200, -1, -1, 1, 64, 49152, -1),
        ]
        assert dict(trace.notes) == {"ops of a kind that this version does not know, left out": 1}
        assert rows_of(trace, "coverage", "queue", "seen", "timed", "skipped") == [(-1, 31, 1, 30)]
        assert trace.table(COVERAGE).strings("reason") == [OUTSIDE_SLICES]


def killed_between_slices(folder: Path) -> ProcessMaker:
    """Of 20 kernels 19 were counted as skipped before the records of eight came after all."""
    process = a_cuda_process(folder)
    for start in range(0, 80, 10):
        process = process.with_op(start=start, end=start + 5, kernel=1)
    return process.with_counter(seen=20, timed=1, queue=ALL_QUEUES, skipped=(0, 0, 0, 0, 0, 19))


def test_kernels_that_came_after_all_are_not_skipped_when_the_process_is_killed(
    tmp_path: Path,
) -> None:
    with open_trace(killed_between_slices(tmp_path / "s").write(ended=False)) as trace:
        assert rows_of(trace, "coverage", "seen", "timed", "skipped", "lost") == [(20, 8, 12, 0)]


def test_they_may_have_been_counted_as_skipped_on_another_gpu(tmp_path: Path) -> None:
    process = killed_between_slices(tmp_path / "s")
    for start in range(100, 130, 10):
        process = process.with_op(start=start, end=start + 5, kernel=1, gpu=1)
    # Three of the first GPU's graph ran on the second, whose own kernels agree.
    process = process.with_counter(
        seen=2, timed=0, gpu=1, queue=ALL_QUEUES, skipped=(0, 0, 0, 0, 0, 2)
    )
    with open_trace(process.write(ended=False)) as trace:
        assert rows_of(trace, "coverage", "seen", "timed", "skipped", "lost") == [
            (20, 8, 11, 0),
            (2, 3, 0, 0),
        ]


def test_what_a_pattern_leaves_out_stays_skipped_when_the_process_is_killed(tmp_path: Path) -> None:
    folder = killed_between_slices(tmp_path / "s").write(ended=False)
    write_session_facts(folder, {"kernel_filter": "no such kernel"})
    with open_trace(folder) as trace:
        counts = rows_of(trace, "coverage", "seen", "timed", "skipped", "lost")
        reasons = trace.coverage.strings("reason")
    assert counts == [(20, 0, 8, 0), (0, 0, 12, 0)]
    assert reasons == ["whose name does not match --kernel", OUTSIDE_SLICES]


def test_counts_of_a_process_that_ended_are_taken_as_they_are(tmp_path: Path) -> None:
    with open_trace(killed_between_slices(tmp_path / "s").write()) as trace:
        assert rows_of(trace, "coverage", "seen", "timed", "skipped", "lost") == [(20, 1, 19, 0)]


def test_what_was_skipped_in_graphs_is_said_as_it_is_on_cuda(tmp_path: Path) -> None:
    folder = (
        a_cuda_process(tmp_path / "s")
        .with_op(start=1, end=2, kernel=1)
        .with_counter(seen=6, timed=1, queue=ALL_QUEUES, skipped=(0, 3, 2))
        .write()
    )
    with open_trace(folder) as trace:
        assert rows_of(trace, "coverage", "seen", "timed", "skipped") == [(6, 1, 3), (0, 0, 2)]
        assert trace.coverage.strings("reason") == [
            "in graphs, which lite mode records as a whole: use --mode standard",
            "while recording was paused",
        ]
        assert len(trace.slices) == 0


def test_a_million_graphs_do_not_have_a_million_names() -> None:
    strings = StringTable()
    runs = np.zeros(20_000, layout.OPS.record_of(80))
    runs["graph"] = np.arange(1, len(runs) + 1)
    codes = GraphNames(strings).codes(runs)

    assert strings.decode(codes[[0, 9_999, 10_000, -1]].astype(np.int32)) == [
        "graph 1",
        "graph 10000",
        "graph",
        "graph",
    ]


def test_counters_of_a_gpu_stand_for_all_its_queues(tmp_path: Path) -> None:
    """Of a killed process the records tell what was timed, whatever the queue."""
    folder = (
        a_cuda_process(tmp_path / "s")
        .with_agent(1, name="sm_90", uuid="GPU-2")
        .with_op(start=1, end=2, kernel=1, queue=0)
        .with_op(start=3, end=4, kernel=1, queue=1)
        .with_op(start=5, end=6, kernel=1, queue=2, gpu=1)
        .with_copy(7, 8, 4, HOST, 0, queue=0)
        .with_counter(seen=10, timed=0, queue=ALL_QUEUES, lost=(0, 0, 3))
        .with_counter(seen=1, timed=0, queue=ALL_QUEUES, gpu=1)
        .write(ended=False)
    )
    with open_trace(folder) as trace:
        columns = ("gpu", "queue", "seen", "timed", "lost")
        assert rows_of(trace, "coverage", *columns) == [
            (0, -1, 10, 2, 3),
            (0, -1, 0, 0, 5),
            (1, -1, 1, 1, 0),
        ]
        assert trace.coverage.strings("reason") == [
            "for which the GPU left no times",
            "not finished when the process was killed",
            "",
        ]


def test_a_pattern_of_kernels_is_counted_by_gpu_and_leaves_runs_of_graphs(tmp_path: Path) -> None:
    write_session_facts(tmp_path, {"kernel_filter": "gemm"})
    (
        a_cuda_process(tmp_path)
        .with_fact("kernel", object=2, name="_Z3addPf")
        .with_op(start=1, end=2, kernel=1, queue=0)
        .with_op(start=3, end=4, kernel=2, queue=0)
        .with_op(start=5, end=6, kernel=2, queue=1)
        .with_op(start=7, end=9, kind=GRAPH_RUN, graph=3)
        .with_counter(seen=3, timed=3, queue=ALL_QUEUES)
        .write()
    )
    with open_trace(tmp_path) as trace:
        assert trace.ops["start_ns"].tolist() == [1, 7]
        assert rows_of(trace, "coverage", "seen", "timed", "skipped") == [(3, 1, 2)]


def test_a_window_counts_all_queues_of_a_gpu(tmp_path: Path) -> None:
    process = a_cuda_process(tmp_path).with_counter(seen=20, timed=20, queue=ALL_QUEUES)
    for start in (90, 100, 150, 200):
        process.with_op(start=start, end=start + 5, kernel=1, queue=start // 100)
    process.write()
    window = Window(100, 200, fallen_out={0: 5, 1: 4, 1 << 32: 100})
    with open_trace_of(tmp_path, {process.base: window}) as trace:
        assert trace.ops["start_ns"].tolist() == [100, 150]
        assert rows_of(trace, "coverage", "seen", "timed", "skipped") == [(19, 2, 10)]


def open_trace_of(folder: Path, windows: dict[str, Window]) -> Trace:
    return Trace(open_session(folder, windows))


def test_ticks_of_the_library_become_times_of_the_host(tmp_path: Path) -> None:
    folder = (
        a_cuda_process(tmp_path / "s")
        .with_fact("clock", gpu=0, ticks=5_000, ns=1_000_000, ticks_per_second=1_000_000_000)
        .with_fact("clock", gpu=0, ticks=1_005_000, ns=2_000_100)
        .with_op(start=505_000, end=605_000, kernel=1, flags=RAW_TICKS | BLOCKS, graph=3)
        .write()
    )
    with open_trace(folder) as trace:
        assert rows_of(trace, "ops", "start_ns", "end_ns") == [(1_500_050, 1_600_060)]


def test_streams_of_one_number_in_two_contexts_are_told_apart(tmp_path: Path) -> None:
    folder = (
        a_cuda_process(tmp_path / "s")
        .with_fact("queue", queue=2, gpu=0, stream=7, context=2, name="stream 7")
        .with_agent(1, uuid="GPU-2")
        .with_fact("queue", queue=3, gpu=1, stream=13, context=3, name="stream 13")
        .write()
    )
    with open_trace(folder) as trace:
        assert trace.table(QUEUES).strings("name") == [
            "stream 7 of context 1",
            "stream 13",
            "stream 7 of context 2",
            "stream 13",
        ]


def test_calls_say_of_which_interface_they_are(tmp_path: Path) -> None:
    with open_trace(with_cuda_calls(a_cuda_process(tmp_path / "s")).write()) as trace:
        assert trace.calls.strings("domain") == ["CUDA", "CUDA", "HIP", "HIP"]
        assert trace.calls.strings("category") == [
            "cuda_runtime",
            "cuda_driver",
            "hip_runtime",
            "hip_runtime",
        ]


def test_links_tell_epochs_apart(tmp_path: Path) -> None:
    with open_trace(with_cuda_calls(a_cuda_process(tmp_path / "s")).write()) as trace:
        links = trace.table(LINKS)
        assert list(zip(links["call"].tolist(), links["op"].tolist(), strict=True)) == [
            (1, 1),
            (2, 2),
            (3, 3),
        ]
        assert trace.ops["correlation"].tolist()[1] == 1 << 32 | 5
        assert trace.ops["stream"].tolist() == [7, 7, 7, 7]


def test_streams_of_calls_are_found_in_every_epoch(tmp_path: Path) -> None:
    """Where queues are not streams."""
    process = a_process(tmp_path / "s").with_agent(0).with_fact("queue", queue=0, gpu=0)
    with open_trace(with_cuda_calls(process).write()) as trace:
        assert trace.ops["stream"].tolist() == [0x50, 0x60, 0x70, -1]


def test_the_versions_of_the_library_and_the_driver_are_metadata(tmp_path: Path) -> None:
    folder = (
        a_cuda_process(tmp_path / "s")
        .with_fact("runtime", name="cuda", version="13.0", path="/lib/libcuda.so.1")
        .with_fact("runtime", name="cupti", version="2025.3.1", driver="580.159", path="/c.so")
        .write()
    )
    with open_trace(folder) as trace:
        assert trace.metadata["runtime cuda"] == "13.0 /lib/libcuda.so.1"
        assert trace.metadata["runtime cupti"] == "2025.3.1 with driver 580.159 /c.so"
