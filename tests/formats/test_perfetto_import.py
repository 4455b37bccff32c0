"""Perfetto import: our own files come back whole, damaged ones up to the damage with a note."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import TraceMaker, a_trace
from tests.formats.timelines import by_reference, crowded_trace, exported, small_trace
from tests.registered import exporter_called, importer_called
from wavescope.errors import UnreadableInputError
from wavescope.formats.perfetto.reader import open_perfetto
from wavescope.formats.protobuf_wire import (
    integer,
    message,
)
from wavescope.formats.sniff import probe
from wavescope.model.trace import Trace, TraceTable

IMPORTER = importer_called("Perfetto")
EXPORTER = exporter_called("perfetto")


def rows_of(table: TraceTable, without: tuple[str, ...]) -> list[tuple[object, ...]]:
    """Rows with their strings spelled out."""
    names = [name for name in table.column_names if name not in without]
    columns = [
        table.strings(name)
        if table.spec.column(name).type.name in ("STRING", "TEXT")
        else table[name].tolist()
        for name in names
    ]
    return list(zip(*columns, strict=True))


OP_REFERENCES = ("id", "kernel", "marker")


def links_of(trace: Trace) -> Counter[tuple[object, object]]:
    ops = dict(zip(trace.ops["id"].tolist(), rows_of(trace.ops, OP_REFERENCES), strict=True))
    calls = dict(zip(trace.calls["id"].tolist(), rows_of(trace.calls, ("id",)), strict=True))
    links = zip(trace.links["call"].tolist(), trace.links["op"].tolist(), strict=True)
    return Counter((calls[call], ops[op]) for call, op in links)


def reopened(maker: TraceMaker, path: Path) -> Trace:
    return Trace(open_perfetto(exported(maker, EXPORTER, path)))


def full_trace() -> TraceMaker:
    """Every column of ops and calls has a value somewhere."""
    op: dict[str, int | str] = {
        name: 10 + index
        for index, name in enumerate(
            (
                "sequence", "thread", "stream", "hardware_queue", "correlation", "grid_x", "grid_y", "grid_z",
                "workgroup_x", "workgroup_y", "workgroup_z", "lds_bytes", "scratch_bytes", "size_bytes",
                "source_device", "target_device", "graph", "graph_node",
            )
        )
    }  # fmt: skip
    long_name = (
        "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)"
    )
    return (
        small_trace()
        .with_process(4243, rank=1, host="node1", command="python3 x.py")
        .with_agent(1, chip="gfx942", cu_count=304)
        .with_kernel(long_name, 3000, 3100, process=1, gpu=1, queue=1 << 40, **op)
        .with_op("", 3100, 3150, type="Barrier")
        .with_op("Barrier", 3150, 3160, type="Barrier")
        .with_call(
            "hipMemcpy",
            2900,
            2950,
            process=1,
            pid=4243,
            thread=8,
            domain="HIP",
            stream=5,
            return_code=-3,
        )
        .with_marker("open", 2800, 2990, process=1, thread=8, category="nvtx", flags=2)
    )


def markers(trace: Trace) -> list[tuple[object, ...]]:
    """Without payloads: what is no number differs from itself."""
    return sorted(rows_of(trace.markers, ("id", "payload")))


def test_all_rows_of_our_own_file_come_back(tmp_path: Path) -> None:
    before, after = full_trace().build(), reopened(full_trace(), tmp_path / "t.pftrace")
    pids = {0: 4242, 1: 4243}

    def calls(trace: Trace) -> list[tuple[object, ...]]:
        return sorted(rows_of(trace.calls, ("id", "pid")))

    assert sorted(rows_of(after.ops, OP_REFERENCES)) == sorted(rows_of(before.ops, OP_REFERENCES))
    assert markers(after) == markers(before)
    assert calls(after) == calls(before)
    assert after.calls["pid"].tolist() == [pids[p] for p in after.calls["process"].tolist()]
    assert len(after.links) == 3
    assert list(after.notes) == []
    for name in ("processes", "agents"):
        assert rows_of(getattr(after, name), ()) == rows_of(getattr(before, name), ())
    assert after.metadata == before.metadata


@pytest.mark.parametrize("native", [True, False])
def test_a_crowd_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, native: bool) -> None:
    before = crowded_trace().build()
    flags = before.markers["flags"]
    flags[before.markers.duration_ns > 0] = 0
    if native:
        after = reopened(crowded_trace(), tmp_path / "t.pftrace")
    else:
        with by_reference(monkeypatch):
            after = reopened(crowded_trace(), tmp_path / "t.pftrace")

    assert sorted(rows_of(after.ops, OP_REFERENCES)) == sorted(rows_of(before.ops, OP_REFERENCES))
    assert sorted(rows_of(after.calls, ("id",))) == sorted(rows_of(before.calls, ("id",)))
    assert markers(after) == markers(before)
    assert links_of(after) == links_of(before)


def test_negative_times_come_back(tmp_path: Path) -> None:
    trace = reopened(
        a_trace().with_kernel("k", -50, -40).with_kernel("l", 10, 20), tmp_path / "t.pftrace"
    )

    assert trace.ops["start_ns"].tolist() == [-50, 10]
    assert trace.ops["end_ns"].tolist() == [-40, 20]


def test_an_empty_trace_comes_back(tmp_path: Path) -> None:
    assert len(reopened(a_trace(), tmp_path / "t.pftrace").ops) == 0


def test_compressed_files_are_read_and_recognised(tmp_path: Path) -> None:
    path = exported(small_trace(), EXPORTER, tmp_path / "t.pftrace.gz")

    assert IMPORTER.matches(probe(path))
    assert len(Trace(open_perfetto(path)).ops) == 4


@pytest.mark.parametrize(
    "content", [b'\n{"traceEvents": []}', b"\n\n\n\n", b"{}", b"\x0a", b"\n\x05hello"]
)
def test_other_files_are_not_taken_for_perfetto(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)

    assert not IMPORTER.matches(probe(path))


def test_a_file_cut_anywhere_is_read_up_to_there(tmp_path: Path) -> None:
    whole = exported(small_trace(), EXPORTER, tmp_path / "t.pftrace").read_bytes()
    path = tmp_path / "cut.pftrace"
    op_counts = []
    for size in range(1, len(whole)):
        path.write_bytes(whole[:size])
        try:
            trace = Trace(open_perfetto(path))
        except UnreadableInputError:
            op_counts.append(-1)
            continue
        op_counts.append(len(trace.ops))
        assert len(trace.calls) <= 3
        assert len(trace.markers) <= 2

    assert op_counts == sorted(op_counts)
    assert set(op_counts) == {-1, 0, 1, 2, 3, 4}


def test_a_cut_file_says_so(tmp_path: Path) -> None:
    path = exported(small_trace(), EXPORTER, tmp_path / "t.pftrace")
    path.write_bytes(path.read_bytes()[:-3])

    assert list(Trace(open_perfetto(path)).notes) == [
        ("the file ends within a packet: read up to there", 1)
    ]


def opened_or_refused(path: Path) -> None:
    try:
        trace = Trace(open_perfetto(path))
        for table in (trace.ops, trace.calls, trace.markers):
            assert (table.duration_ns >= 0).all()
            rows_of(table, ())
        trace.close()
    except UnreadableInputError:
        pass


@settings(max_examples=150)
@given(data=st.binary(max_size=200), framed=st.booleans())
def test_random_bytes_are_refused_or_read(tmp_path: Path, data: bytes, framed: bool) -> None:
    path = tmp_path / "random"
    path.write_bytes(message(1, data) if framed else data)

    opened_or_refused(path)


@settings(max_examples=150)
@given(
    changes=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), min_size=1, max_size=6)
)
def test_flipped_bytes_are_survived(tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    path = tmp_path / "t.pftrace"
    if not path.exists():
        exported(small_trace(), EXPORTER, path)
    damaged = bytearray(path.read_bytes())
    for position, value in changes:
        damaged[position % len(damaged)] = value
    other = tmp_path / "damaged.pftrace"
    other.write_bytes(damaged)

    opened_or_refused(other)


@pytest.mark.parametrize("size", [1 << 31, 1 << 40, (1 << 63) + 5])
def test_absurd_sizes_end_the_reading(tmp_path: Path, size: int) -> None:
    path = exported(small_trace(), EXPORTER, tmp_path / "t.pftrace")
    oversized = message(1, b"")[:1] + integer(1, size)[1:]
    path.write_bytes(path.read_bytes() + oversized + b"x" * 1000)

    trace = Trace(open_perfetto(path))

    assert len(trace.ops) == 4
    assert list(trace.notes) == [("the file is damaged: read up to there", 1)]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="nothing here"):
        open_perfetto(tmp_path / "nothing here")


def test_gzip_data_cut_short_is_read_up_to_there(tmp_path: Path) -> None:
    plain = exported(crowded_trace(), EXPORTER, tmp_path / "t.pftrace").read_bytes()
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(plain)[:30_000])

    trace = Trace(open_perfetto(path))

    assert 0 < len(trace.ops) + len(trace.calls) < 6000
    assert ("the file ends within a packet: read up to there", 1) in list(trace.notes)
