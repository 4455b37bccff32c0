"""Perfetto files by other producers: slices on tracks become host calls."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from tests.formats.timelines import by_reference
from wavescope.formats.perfetto.reader import open_perfetto
from wavescope.formats.protobuf_wire import (
    fixed64,
    integer,
    message,
    text,
)
from wavescope.model.trace import Trace


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
        with by_reference(monkeypatch):
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
    monkeypatch.setattr("wavescope.formats.perfetto.reader._BLOCK_BYTES", 16)
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
