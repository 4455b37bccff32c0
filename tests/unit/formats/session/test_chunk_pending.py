"""What a killed process had in flight: complete by its signal, by its record, or not at all."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pytest

from tests.chunks import HEADER, OP, PAGE, RAW_TICKS, a_process
from wavescope.formats import open_trace
from wavescope.formats.session import pending
from wavescope.formats.session.layout import PENDING

SLOTS = 1024
NOWHERE = (1 << 64) - 1
LATER = NOWHERE - 1
SIGNAL = struct.Struct("<qqQQQQ16x")


class PendingMaker:
    """One block of dispatches in flight, slot by slot."""

    def __init__(self, base: str) -> None:
        pid, start = map(int, base.split("-"))
        self.header = HEADER.pack(b"WAVESCP1", 1, 5, PENDING.record.itemsize, pid, start)
        self.slots: list[tuple[int, bytes, bytes]] = []

    def slot(
        self,
        place: int,
        value: int,
        record: tuple[int, int] = (0, 0),
        ticks: tuple[int, int] = (0, 0),
        kind: int = 1,
    ) -> PendingMaker:
        op = OP.pack(kind, RAW_TICKS, 0, 5, *record, 0, 0x100, 64, 1, 1, 64, 1, 1, 0, 0)
        self.slots.append((place, SIGNAL.pack(1, value, 0, 0, *ticks), op))
        return self

    def data(self, session: str = "") -> bytes:
        places = b"".join(struct.pack("<Q", place) for place, _, _ in self.slots)
        signals = b"".join(signal for _, signal, _ in self.slots)
        records = b"".join(record for _, _, record in self.slots)
        return (
            (self.header + session.encode()).ljust(PAGE, b"\0")
            + struct.pack("<Q", len(self.slots)).ljust(PAGE, b"\0")
            + places.ljust(SLOTS * 8, b"\0")
            + signals.ljust(SLOTS * 64, b"\0")
            + records.ljust(SLOTS * 64, b"\0")
        )


def a_killed_process(folder: Path, written: int = 2, ended: bool = False) -> str:
    process = a_process(folder, pid=4194305).with_agent(0)
    process.with_fact("clock", gpu=0, ticks=0, ns=0).with_fact("clock", gpu=0, ticks=1000, ns=10000)
    for number in range(written):
        process.with_op(start=10 * number, end=10 * number + 5, flags=RAW_TICKS, kernel=0x100)
    process.with_counter(seen=9, timed=0)
    process.write(ended=ended)
    return process.base


def starts(folder: Path) -> list[int]:
    with open_trace(folder) as trace:
        return sorted(trace.ops["start_ns"].tolist())


def test_what_completed_and_was_not_written_is_rescued(tmp_path: Path) -> None:
    base = a_killed_process(tmp_path)
    made = (
        PendingMaker(base)
        .slot(place=2, value=1, record=(10, 15))  # is in the file
        .slot(place=3, value=1, record=(20, 25))  # was about to be written
        .slot(place=0, value=0, ticks=(30, 35))  # complete, and nobody had looked
        .slot(place=0, value=1)  # runs
        .slot(place=NOWHERE, value=1, record=(40, 45))  # counted as lost
        .slot(place=0, value=0, ticks=(60, 55))  # without sensible times
        .slot(place=0, value=0, ticks=(70, 75), kind=0)  # never filled in
    )
    (tmp_path / f"{base}.pending").write_bytes(made.data())

    assert starts(tmp_path) == [0, 100, 200, 300]
    with open_trace(tmp_path) as trace:
        assert trace.ops["end_ns"].tolist() == [50, 150, 250, 350]
        assert len(set(trace.ops["id"].tolist())) == 4
        assert "was cut off" in " ".join(sentence for sentence, _ in trace.notes)
        assert trace.coverage["timed"].tolist() == [4]
        assert trace.coverage["lost"].tolist() == [5]
        assert trace.coverage.strings("reason") == ["not finished when the process was killed"]


def test_times_that_the_program_s_signals_had_are_in_the_records(tmp_path: Path) -> None:
    base = a_killed_process(tmp_path)
    made = (
        PendingMaker(base)
        .slot(place=LATER, value=1, record=(30, 35))  # copied there, and not yet to be written
        .slot(place=LATER, value=1, record=(0, 0))  # the signal was destroyed too early
        .slot(place=0, value=1, record=(40, 45))  # a copy runs: when it was submitted, and a value
    )
    (tmp_path / f"{base}.pending").write_bytes(made.data())

    assert starts(tmp_path) == [0, 100, 300]
    with open_trace(tmp_path) as trace:
        assert trace.coverage["timed"].tolist() == [3]


def test_a_collector_that_had_no_time_at_the_end_leaves_as_much(tmp_path: Path) -> None:
    base = a_killed_process(tmp_path, ended=True)
    made = PendingMaker(base).slot(place=0, value=0, ticks=(30, 35)).slot(place=0, value=1)
    (tmp_path / f"{base}.pending").write_bytes(made.data())

    with open_trace(tmp_path) as trace:
        assert trace.ops["start_ns"].tolist() == [0, 100, 300]
        assert "cut_off_processes" not in trace.metadata
        assert trace.coverage["timed"].tolist() == [3]
        assert trace.coverage["lost"].tolist() == [6]
        assert trace.coverage.strings("reason") == [
            "not noted before the process ended: its machine was too busy"
        ]


def test_shared_memory_is_read_where_it_is_and_moved_by_the_recorder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, shared = tmp_path / "session", tmp_path / "shm"
    session.mkdir()
    shared.mkdir()
    monkeypatch.setattr(pending, "_SHARED_MEMORY", shared)
    base = a_killed_process(session)
    made = PendingMaker(base).slot(place=0, value=0, ticks=(30, 35))
    memory = shared / f"wavescope-{base}.pending"
    memory.write_bytes(made.data(str(session)))

    assert starts(session) == [0, 100, 300]
    pending.remove_forgotten()
    assert memory.exists()
    pending.move_into_session(session, base)
    assert not memory.exists()
    assert starts(session) == [0, 100, 300]


def test_forgotten_memory_is_freed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "_SHARED_MEMORY", tmp_path)
    removed, here = str(tmp_path / "removed"), Path("/proc/self/ns/pid").readlink()
    (tmp_path / "wavescope-5-6.pending").write_bytes(PendingMaker("5-6").data(f"{removed}\0{here}"))
    elsewhere = PendingMaker("5-7").data(f"{removed}\0pid:[1]")
    (tmp_path / "wavescope-5-7.pending").write_bytes(elsewhere)
    (tmp_path / "wavescope-7-8.pending").write_bytes(b"of something else")
    (tmp_path / "wavescope-9-9.pending").symlink_to(os.devnull)

    pending.remove_forgotten()

    assert (
        sorted(path.name for path in tmp_path.iterdir())
        == [
            "wavescope-5-7.pending",  # its number is one of another namespace: who knows whether it lives
            "wavescope-7-8.pending",
            "wavescope-9-9.pending",
        ]
    )


@pytest.mark.parametrize("damage", ["process", "short", "absurd", "random"])
def test_memory_that_makes_no_sense_adds_nothing_wrong(tmp_path: Path, damage: str) -> None:
    base = a_killed_process(tmp_path)
    data = PendingMaker(base).slot(place=0, value=0, ticks=(30, 35)).data()
    if damage == "process":
        data = PendingMaker("1-2").slot(place=0, value=0, ticks=(30, 35)).data()
    elif damage == "short":
        data = data[: PAGE + 5000]
    elif damage == "absurd":
        data = data[:PAGE] + b"\xff" * 8 + data[PAGE + 8 :]
    else:
        noise = np.random.default_rng(3).bytes(len(data) - PAGE)
        data = data[:PAGE] + noise
    (tmp_path / f"{base}.pending").write_bytes(data)

    expected = {"process": [0, 100], "short": [0, 100], "absurd": [0, 100, 300]}
    if damage in expected:
        assert starts(tmp_path) == expected[damage]
    else:
        assert {0, 100} <= set(starts(tmp_path))
