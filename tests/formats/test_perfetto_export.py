"""Perfetto export, read back by Perfetto's own trace_processor."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.builders import a_trace, random_ops
from tests.formats.timelines import (
    by_reference,
    crowded_trace,
    exported,
    small_trace,
    varied_sizes,
    varied_values,
)
from tests.formats.trace_processor import ask
from tests.registered import exporter_called
from wavescope.formats import ExportOptions
from wavescope.formats.timeline import counter_series, host_slices
from wavescope.formats.timeline import slices as bodies

EXPORTER = exporter_called("perfetto")

SLICES = "SELECT ts, dur, name, category, depth FROM slice ORDER BY ts, -dur, name"
ARGUMENTS = """
    SELECT slice.name, substr(args.key, 7), args.display_value FROM slice JOIN args USING (arg_set_id)
    WHERE args.key GLOB 'debug.*' ORDER BY slice.ts, args.key
"""
TRACKS = """
    INCLUDE PERFETTO MODULE viz.summary.track_event;
    SELECT g.name, p.name FROM _track_event_tracks_ordered_groups g
    LEFT JOIN track p ON p.id = g.parent_id WHERE g.utid IS NULL
    ORDER BY coalesce(p.name, g.name), g.order_id
"""


def test_slices_have_their_times_names_categories_and_depths(tmp_path: Path) -> None:
    trace = exported(small_trace(), EXPORTER, tmp_path / "t.pftrace")

    (slices,) = ask(trace, SLICES)

    assert slices.rows == [
        [400, 600, "step", "marker,roctx", 0],
        [450, 0, "mark", "marker", 1],
        [500, 100, "hipLaunchKernel", "call,hip", 1],
        [510, 10, "inner", "call,hip", 2],
        [550, 350, "cross", "call,hip", 0],
        [1000, 1000, "gemm", "op,KernelExecution", 0],
        [1500, 200, "add", "op,KernelExecution", 0],
        [2000, 500, "add", "op,KernelExecution", 0],
        [2000, 0, "CopyHostToDevice", "op,CopyHostToDevice", 0],
    ]


def test_flows_lead_from_calls_to_their_ops(tmp_path: Path) -> None:
    trace = exported(small_trace(), EXPORTER, tmp_path / "t.pftrace")

    (flows,) = ask(
        trace,
        "SELECT o.name, i.name, i.ts FROM flow JOIN slice o ON slice_out = o.id "
        "JOIN slice i ON slice_in = i.id ORDER BY i.ts",
    )

    assert flows.rows == [
        ["hipLaunchKernel", "gemm", 1000],
        ["cross", "add", 1500],
        ["hipLaunchKernel", "add", 2000],
    ]


def test_arguments_are_kept(tmp_path: Path) -> None:
    trace = exported(small_trace(), EXPORTER, tmp_path / "t.pftrace")

    (arguments,) = ask(trace, ARGUMENTS)

    assert [row for row in arguments.rows if row[1] not in ("process", "type")] == [
        ["hipLaunchKernel", "args", '{"a": 1}'],
        ["hipLaunchKernel", "correlation", "7"],
        ["inner", "return_code", "0"],
        ["gemm", "correlation", "7"],
        ["gemm", "grid", "131072,2,1"],
        ["gemm", "stream", "3"],
        ["gemm", "workgroup", "256,1,1"],
        ["CopyHostToDevice", "size_bytes", "4096"],
    ]


def test_counters_state_queue_depth_and_busy_time(tmp_path: Path) -> None:
    trace = exported(small_trace(), EXPORTER, tmp_path / "t.pftrace")

    (counters,) = ask(
        trace,
        "SELECT p.name, t.name, t.unit, c.ts, c.value FROM counter c "
        "JOIN counter_track t ON t.id = c.track_id JOIN track k ON k.id = t.id "
        "JOIN track p ON p.id = k.parent_id "
        "ORDER BY p.name, t.name, c.ts",
    )

    assert counters.rows == [
        ["GPU 0 MI300X", "GPU busy", "%", 400, 0],
        ["GPU 0 MI300X", "GPU busy", "%", 1000, 100],
        ["GPU 0 MI300X", "GPU busy", "%", 2000, 0],
        ["GPU 0 MI300X", "queue 0 depth", "count", 500, 1],
        ["GPU 0 MI300X", "queue 0 depth", "count", 550, 2],
        ["GPU 0 MI300X", "queue 0 depth", "count", 1700, 1],
        ["GPU 0 MI300X", "queue 0 depth", "count", 2000, 0],
        ["GPU 1", "GPU busy", "%", 400, 0],
        ["GPU 1", "GPU busy", "%", 2000, 100],
        ["GPU 1", "GPU busy", "%", 2500, 0],
        ["GPU 1", "queue 1 depth", "count", 500, 1],
        ["GPU 1", "queue 1 depth", "count", 2500, 0],
    ]


def test_processes_threads_and_facts_are_named(tmp_path: Path) -> None:
    trace = exported(small_trace(), EXPORTER, tmp_path / "t.pftrace")

    processes, threads, facts = ask(
        trace,
        "SELECT name, pid FROM process WHERE pid > 0",
        "SELECT name, tid FROM thread WHERE name LIKE 'thread%'",
        "SELECT str_value FROM metadata WHERE name = 'cr-command'",
    )

    assert processes.rows == [["rank 0 python3", 4242]]
    assert threads.rows == [["thread 1", 1]]
    assert facts.value == "python3 train.py"


def test_tracks_are_in_order_of_their_numbers(tmp_path: Path) -> None:
    maker = a_trace()
    for gpu in (10, 9, 0):
        for queue in (12, 2, 1 << 40):
            maker.with_kernel("k", 5, 9, gpu=gpu, queue=queue)

    (tracks,) = ask(exported(maker, EXPORTER, tmp_path / "t.pftrace"), TRACKS)

    queues = ["queue 2", "queue 12", f"queue {1 << 40}"]
    children = ["GPU busy", *(name for queue in queues for name in (queue, f"{queue} depth"))]
    roots = ["GPU 00", "GPU 09", "GPU 10"]
    assert [row[0] for row in tracks.rows if row[1] is None] == roots
    for root in roots:
        assert [row[0] for row in tracks.rows if row[1] == root] == children


def test_overlapping_ops_of_a_queue_are_lanes_of_one_track(tmp_path: Path) -> None:
    maker = a_trace()
    for start, end in ((0, 10), (5, 15), (10, 20), (15, 15), (15, 30)):
        maker.with_kernel(f"{start}-{end}", start, end)
    trace = exported(maker, EXPORTER, tmp_path / "t.pftrace")

    slices, groups = ask(
        trace,
        "SELECT name, ts, ts + dur, depth FROM slice ORDER BY ts, dur",
        "INCLUDE PERFETTO MODULE viz.summary.track_event; SELECT name, "
        "length(track_ids) - length(replace(track_ids, ',', '')) + 1 "
        "FROM _track_event_tracks_ordered_groups WHERE name = 'queue 0'",
    )

    assert slices.rows == [
        ["0-10", 0, 10, 0],
        ["5-15", 5, 15, 0],
        ["10-20", 10, 20, 0],
        ["15-15", 15, 15, 0],
        ["15-30", 15, 30, 0],
    ]
    assert groups.rows == [["queue 0", 2]]


def test_no_slice_is_lost_or_swapped_in_a_crowd(tmp_path: Path) -> None:
    maker = crowded_trace()
    trace = maker.build()
    expected: Counter[tuple[int, int, str]] = Counter()
    for table in (trace.ops, trace.calls, trace.markers):
        rows = zip(table["start_ns"], table["end_ns"], table.strings("name"), strict=True)
        expected.update((int(start), int(end), name) for start, end, name in rows)

    slices, flows = ask(
        exported(maker, EXPORTER, tmp_path / "t.pftrace"),
        "SELECT ts, ts + dur, name FROM slice",
        "SELECT count(*) FROM flow",
    )

    assert Counter((start, end, name) for start, end, name in slices.rows) == expected
    assert flows.value == len(trace.links)


def test_a_large_trace_is_whole(tmp_path: Path) -> None:
    maker = random_ops(200_000)
    ops = maker.build().ops

    total, names, tracks = ask(
        exported(maker, EXPORTER, tmp_path / "t.pftrace"),
        "SELECT count(*), sum(dur), min(ts), max(ts + dur) FROM slice",
        "SELECT count(DISTINCT name) FROM slice",
        "SELECT count(DISTINCT track_id) FROM slice",
    )

    assert total.rows == [
        [
            200_000,
            int(ops.duration_ns.sum()),
            int(ops["start_ns"].min()),
            int(ops["end_ns"].max()),
        ]
    ]
    assert (names.value, tracks.value) == (150, 16)


def test_many_different_arguments_do_not_mix_when_strings_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "MOST_BODIES", 3)
    monkeypatch.setattr("wavescope.model.time_order.ROWS_IN_MEMORY", 0)
    monkeypatch.setattr("wavescope.model.time_order.BUCKET_ROWS", 10)
    maker = a_trace()
    for number in range(100):
        sizes = {"grid_x": number, "grid_y": 1, "grid_z": 1}
        maker.with_kernel(f"kernel {number}", 10 * number, 10 * number + 5, **sizes)
    trace = exported(maker, EXPORTER, tmp_path / "t.pftrace")

    (arguments,) = ask(trace, ARGUMENTS)

    grids = [row for row in arguments.rows if row[1] == "grid"]
    assert grids == [[f"kernel {n}", "grid", f"{n},1,1"] for n in range(100)]


@pytest.mark.parametrize("maker", [varied_sizes, varied_values])
def test_arguments_that_never_repeat_are_kept(tmp_path: Path, maker: type) -> None:
    queues = 3 if maker is varied_sizes else 5000
    expected: dict[str, list[str]] = {"grid": [], "workgroup": [], "hardware_queue": []}
    for number in range(5000):
        expected["grid"].append(f"{number + 1},{-1 if number % 3 == 0 else 2},-1")
        expected["workgroup"] += ["256,-1,-1"] if number % 5 else []
        expected["hardware_queue"] += [str(number % queues - 1)] if number % queues else []

    (arguments,) = ask(exported(maker(), EXPORTER, tmp_path / "t.pftrace"), ARGUMENTS)

    for name, values in expected.items():
        assert [row[2] for row in arguments.rows if row[1] == name] == values


def test_counters_of_large_traces_are_means_over_bins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter_series, "EXACT_STEPS", 2)
    monkeypatch.setattr(counter_series, "BIN_COUNT", 4)
    maker = a_trace().with_kernel("a", 0, 8).with_kernel("b", 4, 24).with_kernel("c", 30, 32)

    (counters,) = ask(
        exported(maker, EXPORTER, tmp_path / "t.pftrace"),
        "SELECT t.name, c.ts, c.value FROM counter c JOIN track t ON t.id = c.track_id ORDER BY 1, 2",
    )

    # Bins of 16 ns: 8 + 12 and 8 + 2 ns of queued work, and 16 and 8 + 2 ns with some work.
    assert counters.rows == [
        ["GPU busy", 0, 100],
        ["GPU busy", 16, 62.5],
        ["GPU busy", 32, 0],
        ["queue 0 depth", 0, 1.25],
        ["queue 0 depth", 16, 0.625],
        ["queue 0 depth", 32, 0],
    ]


def test_hostile_names_arrive_as_they_are(tmp_path: Path) -> None:
    names = [
        "</script><script>alert(1)</script>",
        'quote " backslash \\ newline \n tab \t bell \a',
        "../../etc/passwd",
        "smile \U0001f600 \u2028 \ufffd",
        "x" * 1_000_000,
    ]
    maker = a_trace().with_process(5, name=names[0]).with_agent(0, model=names[1])
    for index, name in enumerate(names):
        maker.with_kernel(name, 10 * index, 10 * index + 5)
        maker.with_call(name, 10 * index, 10 * index + 5, args=name[:1000])
        maker.with_marker(name, 10 * index, 10 * index + 5)
    options = ExportOptions(short_names=False)
    trace = exported(maker, EXPORTER, tmp_path / "t.pftrace", options)

    (slices,) = ask(trace, "SELECT name FROM slice ORDER BY ts")

    assert slices.column == [name for name in names for _ in range(3)]


def test_long_texts_are_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_slices, "_TEXT_ROWS", 3)
    monkeypatch.setattr(host_slices, "_TEXT_BYTES", 50)
    maker = a_trace().with_process(1)
    for number in range(20):
        maker.with_call("call", 10 * number, 10 * number + 5, args=str(number) * 7)

    (arguments,) = ask(exported(maker, EXPORTER, tmp_path / "t.pftrace"), ARGUMENTS)

    assert [row[2] for row in arguments.rows if row[1] == "args"] == [str(n) * 7 for n in range(20)]


def test_unpaired_surrogates_become_question_marks(tmp_path: Path) -> None:
    trace = exported(a_trace().with_kernel("a\ud800b", 1, 2), EXPORTER, tmp_path / "t.pftrace")

    assert ask(trace, "SELECT name FROM slice")[0].column == ["a?b"]


def test_short_names_are_shown_and_full_ones_kept(tmp_path: Path) -> None:
    name = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)"
    trace = exported(a_trace().with_kernel(name, 1, 2), EXPORTER, tmp_path / "t.pftrace")

    shown, arguments = ask(trace, "SELECT name FROM slice", ARGUMENTS)

    assert len(shown.value) < len(name)
    assert [shown.value, "full_name", name] in arguments.rows


def test_times_keep_every_nanosecond(tmp_path: Path) -> None:
    start = 1_712_345_678_901_234_567
    trace = exported(a_trace().with_kernel("k", start, start + 1), EXPORTER, tmp_path / "t.pftrace")

    assert ask(trace, "SELECT ts, dur FROM slice")[0].rows == [[start, 1]]


def test_negative_times_are_moved_to_zero(tmp_path: Path) -> None:
    maker = a_trace().with_kernel("k", -50, -40).with_kernel("l", 10, 20)

    trace = exported(maker, EXPORTER, tmp_path / "t.pftrace")

    assert ask(trace, "SELECT ts, dur FROM slice ORDER BY ts")[0].rows == [[0, 10], [60, 10]]


def test_processes_with_equal_or_huge_pids_stay_apart(tmp_path: Path) -> None:
    maker = a_trace().with_process(9, name="a").with_process(9, name="b").with_process(1 << 40)
    for process in range(3):
        maker.with_call("c", 10, 20, process=process, thread=9)
    maker.with_call("c", 10, 20, process=-1, pid=123456, thread=0)
    trace = exported(maker, EXPORTER, tmp_path / "t.pftrace")

    (slices,) = ask(
        trace,
        "SELECT process.name, count(*) FROM slice JOIN thread_track t ON t.id = slice.track_id "
        "JOIN thread USING (utid) JOIN process USING (upid) GROUP BY upid ORDER BY 1",
    )

    assert slices.rows == [["a", 1], ["b", 1], [f"process {1 << 40}", 1], ["process 123456", 1]]


def test_an_empty_trace_is_a_readable_file(tmp_path: Path) -> None:
    trace = exported(a_trace(), EXPORTER, tmp_path / "t.pftrace")

    assert ask(trace, "SELECT count(*) FROM slice")[0].value == 0


def test_compressed_output_holds_the_same_packets(tmp_path: Path) -> None:
    plain = exported(small_trace(), EXPORTER, tmp_path / "t.pftrace")
    packed = exported(small_trace(), EXPORTER, tmp_path / "t.pftrace.gz")

    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert ask(packed, "SELECT count(*) FROM slice")[0].value == 9


@pytest.mark.parametrize("maker", [small_trace, crowded_trace, varied_sizes, varied_values])
def test_native_and_python_write_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, maker: type
) -> None:
    native = exported(maker(), EXPORTER, tmp_path / "native.pftrace").read_bytes()
    with by_reference(monkeypatch):
        python = exported(maker(), EXPORTER, tmp_path / "python.pftrace").read_bytes()

    assert native == python


def test_a_stream_sorted_in_buckets_gives_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = ask(exported(crowded_trace(), EXPORTER, tmp_path / "a.pftrace"), SLICES)
    monkeypatch.setattr("wavescope.model.time_order.ROWS_IN_MEMORY", 0)
    monkeypatch.setattr("wavescope.model.time_order.BUCKET_ROWS", 64)
    in_buckets = ask(exported(crowded_trace(), EXPORTER, tmp_path / "b.pftrace"), SLICES)

    def without_depth(rows: list[list[object]]) -> list[tuple[object, ...]]:
        return sorted(tuple(row[:4]) for row in rows)

    assert without_depth(at_once[0].rows) == without_depth(in_buckets[0].rows)


def test_progress_ends_at_the_number_of_rows(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    EXPORTER.write(
        small_trace().build().source,
        tmp_path / "t.pftrace",
        ExportOptions(),
        lambda done, total: seen.append((done, total)),
    )

    assert seen[-1] == (9, 9)
    assert np.all(np.diff([done for done, _ in seen]) > 0)
