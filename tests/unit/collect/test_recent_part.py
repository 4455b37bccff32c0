"""The newest part of a recording: what is older gives its space back and is counted."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.chunks import TIMES_LOST, ProcessMaker, a_cuda_process, a_process
from tests.few_descriptors import few_descriptors
from wavescope.collect.recent_part import RecentPart
from wavescope.collect.recording import recovered
from wavescope.collect.running_sessions import ControlPage
from wavescope.collect.windows import snapshots
from wavescope.errors import UsageError
from wavescope.formats import open_trace
from wavescope.formats.session import plain_file
from wavescope.formats.session.layout import CONTROL_PAGE, COUNTERS, MAGIC, PAGE_BYTES, VERSION
from wavescope.formats.session.reading import Window, open_session, recent_windows
from wavescope.formats.session.stillness import LONGEST_NS, boottime_ns
from wavescope.model.columns import COVERAGE, OLDER_THAN_KEPT

FELL_OUT = OLDER_THAN_KEPT["--last"]


def first_data(process: ProcessMaker) -> int:
    with process.path("ops").open("rb") as file:
        return os.lseek(file.fileno(), 4096, os.SEEK_DATA)


def grown(process: ProcessMaker, first: int, last: int) -> None:
    """What a process appends to its file."""
    for start in range(first, last):
        process.with_op(start=start, end=start + 1)
    data = process.stream_bytes("ops")
    written = 4096 + first * process.record_bytes["ops"]
    with process.path("ops").open("r+b") as file:
        file.seek(written)
        file.write(data[written:])


def test_records_that_were_there_a_whole_period_ago_are_forgotten_and_counted(
    tmp_path: Path,
) -> None:
    process = a_process(tmp_path).with_agent(0).with_counter(seen=900, timed=900)
    process.with_op(start=0, end=1).write(ended=False)
    recent = RecentPart(tmp_path, last_ns=800)
    grown(process, 1, 320)
    recent.keep(now_ns=10_000)
    grown(process, 320, 900)
    recent.keep(now_ns=10_050)  # too soon to look
    recent.keep(now_ns=10_799)
    assert first_data(process) == 4096
    recent.keep(now_ns=10_900)
    assert first_data(process) == 4096 + 320 * 64
    windows = recent_windows(tmp_path, [process.base], until_ns=1_200)
    assert windows is not None
    window = windows[process.base]
    assert (window.start_ns, window.fallen_out) == (400, {0: 320})
    with open_session(tmp_path, windows) as source:
        (small,) = source.batches(COVERAGE)
        assert small["seen"].tolist() == [900]
        assert small["timed"].tolist() == [500]
        assert small["skipped"].tolist() == [400]


def test_a_reader_that_was_stopped_keeps_no_space_for_longer_than_a_minute(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_agent(0)
    process.with_op(start=0, end=1).write(ended=False)
    recent = RecentPart(tmp_path, last_ns=800)
    grown(process, 1, 320)
    recent.keep(now_ns=10_000)
    grown(process, 320, 900)
    reader = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(reader, fcntl.LOCK_EX)
    recent.keep(now_ns=10_900)
    recent.keep(now_ns=10_900 + LONGEST_NS)
    assert first_data(process) == 4096
    recent.keep(now_ns=11_500 + LONGEST_NS)
    assert first_data(process) == 4096 + 320 * 64
    os.close(reader)


def test_many_processes_that_have_ended_keep_no_space_from_being_given_back(
    tmp_path: Path,
) -> None:
    process = a_process(tmp_path).with_agent(0)
    process.with_op(start=0, end=1).write(ended=False)
    for pid in range(10, 50):
        page = CONTROL_PAGE.pack(MAGIC, VERSION, 1)
        (tmp_path / f"{pid}-1000.control").write_bytes(page.ljust(PAGE_BYTES, b"\0"))
    recent = RecentPart(tmp_path, last_ns=800)
    grown(process, 1, 320)
    with few_descriptors(20):
        recent.keep(now_ns=10_000)
        grown(process, 320, 900)
        recent.keep(now_ns=10_900)

    assert first_data(process) == 4096 + 320 * 64


def test_dispatches_without_times_are_lost_and_did_not_fall_out(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_agent(0).with_counter(seen=320, timed=256, lost=(0, 0, 64))
    for start in range(320):
        process.with_op(start=start, end=start + 1, flags=TIMES_LOST * (start % 5 == 0))
    process.write(ended=False)
    recent = RecentPart(tmp_path, last_ns=800)
    recent.keep(now_ns=10_000)
    recent.keep(now_ns=10_900)

    windows = recent_windows(tmp_path, [process.base], until_ns=2_000)
    assert windows is not None
    assert windows[process.base].fallen_out == {0: 256}
    with open_session(tmp_path, windows) as source:
        columns = ("seen", "timed", "skipped", "lost")
        assert [
            row
            for batch in source.batches(COVERAGE)
            for row in zip(*(batch[name].tolist() for name in columns), strict=True)
        ] == [(320, 0, 256, 0), (0, 0, 0, 64)]


def an_old_part_of_every_kind(folder: Path) -> ProcessMaker:
    """640 ops of five kinds, 200 calls and 200 markers, one of each every time."""
    process = a_process(folder).with_agent(0).with_counter(seen=128, timed=128)
    for start in range(640):
        process.with_op(start=start, end=start + 1, kind=start % 5 + 1)
    for start in range(200):
        process.with_call(1, start, start + 1).with_marker("step", start, start + 1, id=start + 1)
    process.write(ended=False)
    return process


def notes_of_newest(process: ProcessMaker, until_ns: int) -> dict[str, int]:
    windows = recent_windows(process.folder, [process.base], until_ns)
    assert windows is not None
    with open_session(process.folder, windows) as source:
        found = {note: count for note, count in source.notes if note.endswith(FELL_OUT)}
    return {note.split(" that ")[0]: count for note, count in found.items()}


@pytest.mark.parametrize("looks_ns", [(), (900, 1_700)])
def test_whatever_is_older_is_told_by_kind_be_it_in_the_files_or_not(
    tmp_path: Path, looks_ns: tuple[int, ...]
) -> None:
    process = an_old_part_of_every_kind(tmp_path)
    recent = RecentPart(tmp_path, last_ns=800)
    for look_ns in looks_ns:
        recent.keep(look_ns)
    is_given_back = process.path("ops").stat().st_blocks * 512 < 640 * 64
    assert is_given_back == bool(looks_ns)

    assert notes_of_newest(process, until_ns=1_700) == {
        "copies": 128,
        "fills": 128,
        "barriers": 128,
        "runs of graphs": 128,
        "calls": 200,
        "markers": 200,
    }


def test_what_is_of_the_newest_part_is_not_told(tmp_path: Path) -> None:
    process = an_old_part_of_every_kind(tmp_path)
    RecentPart(tmp_path, last_ns=800)

    notes = notes_of_newest(process, until_ns=850)

    assert notes == {
        **dict.fromkeys(("copies", "fills", "barriers", "runs of graphs"), 10),
        **dict.fromkeys(("calls", "markers"), 49),
    }


def test_open_ranges_and_calls_did_not_fall_out(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_call(1, 1, 2).with_call(1, 3, 0)
    process.with_marker("over", 1, 2, id=1).with_marker("open", 3, 0, id=2, kind=3)
    process.write(ended=False)
    RecentPart(tmp_path, last_ns=100)

    assert notes_of_newest(process, until_ns=1_000) == {"calls": 1, "markers": 1}


def test_where_space_cannot_be_given_back_nothing_is_counted_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_file, "_fallocate", lambda *_: -1)
    process = an_old_part_of_every_kind(tmp_path)
    recent = RecentPart(tmp_path, last_ns=800)
    recent.keep(now_ns=900)
    recent.keep(now_ns=1_700)
    recent.keep(now_ns=2_500)

    notes = notes_of_newest(process, until_ns=2_500)

    assert (notes["copies"], notes["calls"], notes["markers"]) == (128, 200, 200)
    with open_trace(tmp_path) as trace:
        trace.coverage.load("seen", "timed", "skipped", "lost")
        found = [trace.coverage[name].tolist() for name in ("seen", "timed", "skipped", "lost")]
    assert found == [[128], [0], [128], [0]]


def test_copies_that_were_lost_are_told_of_the_newest_part_as_of_all(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_agent(0).with_copy(900, 910, 8, 0, 0)
    process.with_copy(100, 110, 8, 0, 0).with_counter(seen=7, timed=2, lost=(5,), queue=0xFFFF)
    process.write()
    RecentPart(tmp_path, last_ns=500)
    windows = recent_windows(tmp_path, [process.base], until_ns=1_000)

    with open_session(tmp_path, windows) as source:
        assert dict(source.notes) == {
            f"copies that are not in the trace: {FELL_OUT}": 1,
            "copies that are not in the trace: lost because the buffers were full": 5,
        }


def test_copies_that_an_attached_window_lost_are_told_and_those_before_it_are_not(
    tmp_path: Path,
) -> None:
    process = a_process(tmp_path).with_agent(0).with_copy(900, 910, 8, 0, 0)
    process.with_copy(100, 110, 8, 0, 0).with_counter(seen=9, timed=2, lost=(7,), queue=0xFFFF)
    process.with_call(1, 1, 2).with_marker("over", 1, 2, id=1)
    process.write(ended=False)
    counters = np.zeros(1, COUNTERS.record)
    counters["kind"], counters["queue"] = 1, 0xFFFF
    counters["seen"], counters["timed"], counters["lost"][0, 0] = 5, 1, 4

    with open_session(tmp_path, {process.base: Window(500, 1_000, counters)}) as source:
        assert dict(source.notes) == {
            "copies that are not in the trace: lost because the buffers were full": 4,
            "the recording of process 7 was cut off": 1,
        }


@pytest.mark.parametrize(("op_bytes", "forgotten"), [(64, 832), (72, 512), (80, 768), (96, 768)])
def test_records_of_any_size_are_forgotten_in_whole_pages(
    tmp_path: Path, op_bytes: int, forgotten: int
) -> None:
    """What is forgotten is counted, what stays on a page with it is not."""
    process = a_cuda_process(tmp_path, op_bytes).with_counter(seen=1500, timed=0, queue=0xFFFE)
    process.with_op(start=0, end=1).write(ended=False)
    recent = RecentPart(tmp_path, last_ns=800)
    grown(process, 1, 851)
    recent.keep(now_ns=10_000)
    grown(process, 851, 1500)
    recent.keep(now_ns=10_900)

    assert first_data(process) == 4096 + forgotten * op_bytes
    windows = recent_windows(tmp_path, [process.base], until_ns=2_000)
    assert windows is not None
    assert windows[process.base].fallen_out == {0: forgotten}
    with open_session(tmp_path, windows) as source:
        (coverage,) = source.batches(COVERAGE)
        assert coverage["timed"].tolist() == [300]
        assert coverage["skipped"].tolist() == [1200]
        assert coverage["lost"].tolist() == [0]


def test_a_session_that_is_opened_as_it_is_holds_the_newest_part_too(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_agent(0)
    for start in (100, 200, 300):
        process.with_op(start=start, end=start + 10)
    process.write(ended=False)
    note = {"last_ns": 150, "until_ns": 320, "end_ns": 310, "fallen_out": {}}
    (tmp_path / "recent.json").write_text(json.dumps(note))

    with open_trace(tmp_path) as trace:
        assert trace.ops["start_ns"].tolist() == [200, 300]


def test_recovering_a_session_says_the_same_as_opening_it(tmp_path: Path) -> None:
    process = an_old_part_of_every_kind(tmp_path / "session")
    recent = RecentPart(tmp_path / "session", last_ns=800)
    recent.keep(now_ns=900)
    recent.keep(now_ns=1_350)
    for start in range(640, 700):
        process.with_op(start=start, end=start + 1)
    data = process.stream_bytes("ops")[-60 * 64 :]
    with process.path("ops").open("ab") as file:
        file.write(data)
    recent.keep(now_ns=1_450)

    recovered(tmp_path / "session", tmp_path / "recovered.db")

    told = []
    for path in (tmp_path / "session", tmp_path / "recovered.db"):
        with open_trace(path) as trace:
            trace.coverage.load("seen", "timed", "skipped", "lost")
            counts = [trace.coverage[name].tolist() for name in ("seen", "timed", "skipped")]
            told.append((trace.ops["start_ns"].tolist(), counts, dict(trace.notes)))
    assert told[0] == told[1]
    assert told[0][0] == list(range(650, 700))


def test_a_snapshot_is_no_longer_than_the_newest_part_though_recording_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, last_ns = tmp_path / "session", 1_000_000_000
    session.mkdir()
    (session / "session.json").write_text("{}")
    process = a_process(session).with_agent(0)
    process.write(ended=False)
    RecentPart(session, last_ns)
    copy = snapshots.copy_processes

    def copy_late(*arguments: Any) -> None:
        now_ns = boottime_ns()
        process.with_op(start=now_ns - last_ns - 1, end=now_ns).with_op(
            start=now_ns, end=now_ns + 1
        )
        process.write(ended=False)
        copy(*arguments)

    monkeypatch.setattr(snapshots, "copy_processes", copy_late)
    page = ControlPage(1, session / f"{process.base}.control")
    output = tmp_path / "snapshot.db"

    snapshots.write_snapshot(session, [page], output, force=False)

    with open_trace(output) as trace:
        assert len(trace.ops) == 1


@pytest.mark.parametrize(
    ("facts", "hint"),
    [
        ('{"output": "/data/my trace.db"}', "its trace: wavescope summary '/data/my trace.db'"),
        ('{"output": "/data/trace.db", "dormant": "yes"}', ""),
    ],
)
def test_a_snapshot_whose_session_is_removed_meanwhile_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: str, hint: str
) -> None:
    """The recorder waits for who was stopped while copying, but not for ever."""
    session = tmp_path / "session"
    process = a_process(session).with_marker("step", 1, 2, id=1)
    process.write()
    (session / "session.json").write_text(facts)

    def removed(*_: Any) -> None:
        for path in session.iterdir():
            path.unlink()
        session.rmdir()

    monkeypatch.setattr(snapshots, "copy_processes", removed)
    page = ControlPage(1, session / f"{process.base}.control")

    with pytest.raises(UsageError, match="the recording has ended") as refused:
        snapshots.write_snapshot(session, [page], tmp_path / "snapshot.db", force=False)

    assert refused.value.hint == hint
    assert list(tmp_path.iterdir()) == []


def test_a_session_without_a_limit_is_whole(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_agent(0).with_op(start=1, end=2)
    process.write()
    assert recent_windows(tmp_path, [process.base]) is None


def test_a_damaged_note_of_what_is_kept_is_no_limit(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_agent(0).with_op(start=1, end=2)
    process.write()
    for text in (
        "",
        "[]",
        '{"last_ns": "x"}',
        '{"last_ns":1,"until_ns":2,"end_ns":3,"fallen_out":[]}',
        '{"last_ns":1,"until_ns":2,"end_ns":3,"fallen_out":{},"fallen_others":[]}',
        '{"last_ns":1,"until_ns":2,"end_ns":3,"fallen_out":{},"fallen_others":{"a":{"b":"c"}}}',
    ):
        (tmp_path / "recent.json").write_text(text)
        assert recent_windows(tmp_path, [process.base]) is None
