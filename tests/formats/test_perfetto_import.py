"""Perfetto import: our own files come back whole, others as host calls, damaged ones with a note."""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.builders import TraceMaker, a_trace
from tests.formats.timelines import crowded_trace, exported, python_only, small_trace
from wavescope.errors import UnreadableInputError
from wavescope.export.perfetto import EXPORTER
from wavescope.export.protobuf import fixed64, integer, message, text
from wavescope.load.perfetto import IMPORTER, open_perfetto
from wavescope.load.sniff import probe
from wavescope.model.trace import Trace, TraceTable


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


def test_all_rows_of_our_own_file_come_back(tmp_path: Path) -> None:
    before, after = full_trace().build(), reopened(full_trace(), tmp_path / "t.pftrace")
    pids = {0: 4242, 1: 4243}

    def calls(trace: Trace) -> list[tuple[object, ...]]:
        return sorted(rows_of(trace.calls, ("id", "pid")))

    assert sorted(rows_of(after.ops, OP_REFERENCES)) == sorted(rows_of(before.ops, OP_REFERENCES))
    assert sorted(rows_of(after.markers, ("id",))) == sorted(rows_of(before.markers, ("id",)))
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
        with python_only(monkeypatch):
            after = reopened(crowded_trace(), tmp_path / "t.pftrace")

    assert sorted(rows_of(after.ops, OP_REFERENCES)) == sorted(rows_of(before.ops, OP_REFERENCES))
    assert sorted(rows_of(after.calls, ("id",))) == sorted(rows_of(before.calls, ("id",)))
    assert sorted(rows_of(after.markers, ("id",))) == sorted(rows_of(before.markers, ("id",)))
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


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=200), framed=st.booleans())
def test_random_bytes_are_refused_or_read(tmp_path: Path, data: bytes, framed: bool) -> None:
    path = tmp_path / "random"
    path.write_bytes(message(1, data) if framed else data)

    opened_or_refused(path)


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
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


def packet(*fields: bytes) -> bytes:
    return message(1, *fields)


def event(time_ns: int, kind: int, *fields: bytes, sequence: int = 1) -> bytes:
    header = (integer(8, time_ns), integer(10, sequence)) if sequence else (integer(8, time_ns),)
    return packet(*header, message(11, integer(9, kind), *fields))


def begin(time_ns: int, track: int, name: str) -> bytes:
    return event(time_ns, 1, integer(11, track), text(23, name))


def end(time_ns: int, track: int) -> bytes:
    return event(time_ns, 2, integer(11, track))


THREAD = packet(
    message(60, integer(1, 31), message(4, integer(1, 100), integer(2, 101), text(5, "main")))
)
PROCESS = packet(message(60, integer(1, 30), message(3, integer(1, 100), text(6, "server"))))
CUSTOM = packet(message(60, integer(1, 32), integer(5, 30), text(2, "async")))


def foreign(path: Path, *packets: bytes) -> Trace:
    path.write_bytes(b"".join(packets))
    return Trace(open_perfetto(path))


@pytest.mark.parametrize("native", [True, False])
def test_slices_of_other_producers_are_host_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, native: bool
) -> None:
    packets = (
        PROCESS,
        THREAD,
        CUSTOM,
        begin(10, 31, "outer"),
        begin(20, 31, "inner"),
        begin(25, 32, "other"),
        end(30, 31),
        event(35, 3, integer(11, 31), text(23, "instant")),
        end(40, 31),
        end(45, 32),
    )
    if native:
        trace = foreign(tmp_path / "t", *packets)
    else:
        with python_only(monkeypatch):
            trace = foreign(tmp_path / "t", *packets)

    calls = zip(
        trace.calls.strings("name"),
        trace.calls["start_ns"].tolist(),
        trace.calls["end_ns"].tolist(),
        trace.calls["pid"].tolist(),
        trace.calls["thread"].tolist(),
        trace.calls["process"].tolist(),
        strict=True,
    )
    assert sorted(calls) == [
        ("inner", 20, 30, 100, 101, 0),
        ("instant", 35, 35, 100, 101, 0),
        ("other", 25, 45, 100, 32, 0),
        ("outer", 10, 40, 100, 101, 0),
    ]
    assert trace.processes["pid"].tolist() == [100]
    assert trace.processes.strings("name") == ["server"]
    assert [note for note, _ in trace.notes] == [
        "another producer's Perfetto file: every slice was read as a host call"
    ]


def test_slices_may_end_in_a_later_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wavescope.load.perfetto._BLOCK_BYTES", 16)
    trace = foreign(
        tmp_path / "t",
        THREAD,
        *(begin(n, 31, f"n{n}") for n in range(20)),
        *(end(100 + n, 31) for n in range(20)),
    )

    assert dict(zip(trace.calls.strings("name"), trace.calls["end_ns"].tolist(), strict=True)) == {
        f"n{n}": 119 - n for n in range(20)
    }


def test_interned_names_follow_their_sequence(tmp_path: Path) -> None:
    def named(sequence: int, flags: int, name: str, *fields: bytes) -> bytes:
        return packet(
            integer(8, 5),
            integer(10, sequence),
            integer(13, flags),
            message(12, message(2, integer(1, 1), text(2, name))),
            *fields,
        )

    use = integer(9, 1), integer(11, 31), integer(10, 1)
    trace = foreign(
        tmp_path / "t",
        THREAD,
        named(1, 1, "first"),
        named(2, 1, "second", message(11, *use)),
        event(6, 2, integer(11, 31), sequence=2),
        event(7, 1, *use[1:]),
        event(8, 2, integer(11, 31)),
        named(1, 1, "third"),
        event(9, 1, *use[1:]),
        event(10, 2, integer(11, 31)),
    )

    assert sorted(
        zip(trace.calls["start_ns"].tolist(), trace.calls.strings("name"), strict=True)
    ) == [
        (5, "second"),
        (7, "first"),
        (9, "third"),
    ]


def test_default_tracks_and_incremental_clocks(tmp_path: Path) -> None:
    clock = message(1, integer(1, 64), integer(2, 0), integer(3, 1), integer(4, 1000))
    boot = message(1, integer(1, 6), integer(2, 1_000_000))
    trace = foreign(
        tmp_path / "t",
        THREAD,
        packet(
            integer(10, 1),
            integer(13, 1),
            message(59, integer(58, 64), message(11, integer(11, 31))),
        ),
        packet(integer(10, 1), message(6, clock, boot)),
        event(5, 1, text(23, "tick")),
        event(7, 2),
    )

    assert trace.calls["start_ns"].tolist() == [1_005_000]
    assert trace.calls["end_ns"].tolist() == [1_012_000]
    assert trace.calls["thread"].tolist() == [101]


def test_compressed_packets_are_read(tmp_path: Path) -> None:
    packed = zlib.compress(THREAD + begin(10, 31, "inside") + end(20, 31))
    trace = foreign(tmp_path / "t", packet(message(50, packed)))

    assert trace.calls.strings("name") == ["inside"]


def test_damaged_and_unknown_packets_are_skipped_and_counted(tmp_path: Path) -> None:
    trace = foreign(
        tmp_path / "t",
        THREAD,
        packet(b"\xff\xff"),
        packet(message(500, b"?")),
        begin(10, 31, "kept"),
        end(20, 31),
        end(30, 31),
        begin(40, 31, "unfinished"),
    )

    assert trace.calls.strings("name") == ["kept"]
    assert dict(trace.notes) == {
        "another producer's Perfetto file: every slice was read as a host call": 1,
        "damaged packets were skipped": 1,
        "packets of other kinds were skipped": 1,
        "slices without an end were left out": 1,
        "ends of slices without a beginning were left out": 1,
    }


def test_a_packet_with_very_many_flows_is_read(tmp_path: Path) -> None:
    flows = [fixed64(47, number) for number in range(200_000)]
    trace = foreign(
        tmp_path / "t", THREAD, event(1, 1, integer(11, 31), text(23, "launch"), *flows), end(2, 31)
    )

    assert trace.calls.strings("name") == ["launch"]


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
