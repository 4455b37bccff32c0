"""Records that made room for newer ones: what the header counts of them, and what a trace says."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.chunks import ProcessMaker, a_process
from tests.few_descriptors import few_descriptors
from wavescope.formats.session import copying, layout, stillness
from wavescope.formats.session.plain_file import copy_plain, opened_plain
from wavescope.formats.session.reading import Window, open_session, open_steady_session
from wavescope.formats.session.reading import reader as session_reader
from wavescope.formats.session.spent_records import opened_stream
from wavescope.formats.session.stillness import boottime_ns, kept_still
from wavescope.model.columns import COVERAGE, MARKERS, OPS
from wavescope.model.progress import Notes

DROPPED = "older than the newest records, which are all that --max-size keeps"
CUT_OFF = {"the recording of process 7 was cut off": 1}
"""Of processes that have no end and of which the tests say only to readers that they run."""
DISPATCH, COPY, FILL, BARRIER, GRAPH_RUN = range(1, 6)
PATIENCE_S = 60


def drop(process: ProcessMaker, stream: str, records: int, *ops: tuple[int, int, int, int]) -> None:
    """As the collector leaves the page of the header: `ops` are GPU, queue, kind and count."""
    table = np.zeros(1, layout.DROPPED)
    table["records"], table["entries"] = records, len(ops)
    table["ops"][0, : len(ops)] = list(ops)
    with process.path(stream).open("r+b") as file:
        file.seek(layout.HEADER.size)
        file.write(table.tobytes())


def op_starts(folder: Path, windows: dict[str, Window] | None = None) -> list[int]:
    with open_session(folder, windows) as source:
        return [start for batch in source.batches(OPS) for start in batch["start_ns"].tolist()]


def coverage_rows(
    folder: Path, windows: dict[str, Window] | None = None
) -> list[tuple[object, ...]]:
    with open_session(folder, windows) as source:
        return [
            (*row, source.strings[reason])
            for batch in source.batches(COVERAGE)
            for *row, reason in zip(
                *(batch[name].tolist() for name in ("seen", "timed", "skipped", "lost", "reason")),
                strict=True,
            )
        ]


def with_ops(folder: Path, count: int, *, ended: bool = True, **counter: int) -> ProcessMaker:
    process = (
        a_process(folder).with_agent(0).with_counter(**{"seen": count, "timed": count} | counter)
    )
    for start in range(count):
        process.with_op(start=start, end=start + 1)
    process.write(ended=ended)
    return process


@pytest.mark.parametrize("ended", [True, False])
def test_ops_before_the_first_that_is_kept_are_counted_and_not_read(
    tmp_path: Path, ended: bool
) -> None:
    """They may still be there, where the process was killed before it gave their space back."""
    process = with_ops(tmp_path, 300, ended=ended)
    drop(process, "ops", 200, (0, 0, DISPATCH, 200))

    assert op_starts(tmp_path) == list(range(200, 300))
    assert coverage_rows(tmp_path) == [(300, 100, 200, 0, DROPPED)]


def test_of_a_killed_process_what_did_not_finish_is_told_apart(tmp_path: Path) -> None:
    process = with_ops(tmp_path, 300, ended=False, seen=310, timed=250)
    drop(process, "ops", 200, (0, 0, DISPATCH, 200))

    assert coverage_rows(tmp_path) == [
        (310, 100, 200, 0, DROPPED),
        (0, 0, 0, 10, "not finished when the process was killed"),
    ]


def test_each_queue_has_its_own(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_agent(0)
    process.with_counter(seen=5, timed=5).with_counter(seen=9, timed=9, queue=1)
    for place in range(4):
        process.with_op(start=place, end=place + 1, queue=place % 2)
    process.write()
    drop(process, "ops", 2, (0, 1, DISPATCH, 7), (0, 0, DISPATCH, 4), (0, 65535, COPY, 3))

    assert coverage_rows(tmp_path) == [(5, 1, 4, 0, DROPPED), (9, 1, 7, 0, DROPPED)]
    with open_session(tmp_path) as source:
        assert dict(source.notes) == {f"copies that are not in the trace: {DROPPED}": 3}


def test_queues_beyond_those_that_are_counted_have_a_row_together(tmp_path: Path) -> None:
    process = with_ops(tmp_path, 10)
    drop(process, "ops", 5, (0, 0, DISPATCH, 5), (layout.ANY_GPU, layout.ALL_QUEUES, DISPATCH, 8))

    assert coverage_rows(tmp_path) == [(10, 5, 5, 0, DROPPED), (-1, -1, 8, -1, DROPPED)]


def test_ops_that_are_no_dispatches_are_noted_kind_by_kind(tmp_path: Path) -> None:
    process = with_ops(tmp_path, 10)
    fills = ((0, 0, FILL, 300), (0, 1, FILL, 200))
    drop(process, "ops", 5, *fills, (0, 0, GRAPH_RUN, 7), (0, 1, COPY, 4), (0, 0, BARRIER, 2))

    with open_session(tmp_path) as source:
        assert dict(source.notes) == {
            "dispatches that were timed, but whose records are not in the files": 5,
            f"fills that are not in the trace: {DROPPED}": 500,
            f"runs of graphs that are not in the trace: {DROPPED}": 7,
            f"copies that are not in the trace: {DROPPED}": 4,
            f"barriers that are not in the trace: {DROPPED}": 2,
        }


def test_of_queues_beyond_those_that_are_counted_each_kind_is_told_for_itself(
    tmp_path: Path,
) -> None:
    process = with_ops(tmp_path, 10)
    beyond = (layout.ANY_GPU, layout.ALL_QUEUES)
    drop(process, "ops", 5, (0, 0, DISPATCH, 5), (*beyond, COPY, 6), (*beyond, DISPATCH, 8))

    assert coverage_rows(tmp_path) == [(10, 5, 5, 0, DROPPED), (-1, -1, 8, -1, DROPPED)]
    with open_session(tmp_path) as source:
        assert dict(source.notes) == {f"copies that are not in the trace: {DROPPED}": 6}


def test_all_of_a_killed_process_may_be_dropped(tmp_path: Path) -> None:
    """Then none of what it had in flight is taken for one that is in the file."""
    process = with_ops(tmp_path, 300, ended=False)
    os.truncate(process.path("ops"), layout.PAGE_BYTES)
    os.truncate(process.path("ops"), layout.PAGE_BYTES + 300 * 64)
    drop(process, "ops", 300, (0, 0, DISPATCH, 300))

    file = opened_stream(tmp_path, process.base, layout.OPS)
    assert file is not None
    assert file.filled_count == 300
    assert op_starts(tmp_path) == []


def test_calls_and_markers_are_noted(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_marker("kept", 5, 6, id=11).with_call(1, 5, 6)
    process.write()
    drop(process, "markers", 10)
    drop(process, "calls", 20)

    with open_session(tmp_path) as source:
        assert dict(source.notes) == {
            f"markers that are not in the trace: {DROPPED}": 10,
            f"calls that are not in the trace: {DROPPED}": 20,
        }
        (markers,) = source.batches(MARKERS)
        assert markers["id"].tolist() == [11]


def test_an_attached_window_counts_what_it_saw_and_lacks(tmp_path: Path) -> None:
    """What was dropped before it began is none of it."""
    process = with_ops(tmp_path, 300, ended=False)
    drop(process, "ops", 200, (0, 0, DISPATCH, 200))
    counters = np.zeros(1, layout.COUNTERS.record)
    counters["kind"], counters["seen"] = 1, 150
    window = {process.base: Window(150, 300, counters)}

    assert op_starts(tmp_path, window) == list(range(200, 300))
    assert coverage_rows(tmp_path, window) == [(150, 100, 50, 0, DROPPED)]


def test_counts_that_cannot_be_are_no_harm(tmp_path: Path) -> None:
    process = with_ops(tmp_path, 10)
    most = (1 << 64) - 1
    table = np.zeros(1, layout.DROPPED)
    table["records"] = table["entries"] = most
    table["ops"]["kind"] = DISPATCH
    table["ops"]["count"] = most
    with process.path("ops").open("r+b") as file:
        file.seek(layout.HEADER.size)
        file.write(table.tobytes())

    assert op_starts(tmp_path) == []
    ((seen, timed, skipped, lost, reason),) = coverage_rows(tmp_path)
    assert (seen, timed, lost, reason) == (10, 0, 0, DROPPED)
    assert isinstance(skipped, int) and skipped > 0


def test_what_goes_while_it_is_copied_is_not_in_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of it may have been copied before."""
    process = with_ops(tmp_path / "session", 1000)
    real_pread, copied = os.pread, 0

    def dropped_meanwhile(file: int, count: int, offset: int) -> bytes:
        nonlocal copied
        data = real_pread(file, count, offset)
        copied += 1
        if copied == 1:
            drop(process, "ops", 512, (0, 0, DISPATCH, 512))
            with process.path("ops").open("r+b") as own:
                _punch(own.fileno(), layout.PAGE_BYTES, 512 * 64)
        return data

    monkeypatch.setattr(os, "pread", dropped_meanwhile)
    (tmp_path / "copy").mkdir()
    with opened_plain(process.path("ops")) as file:
        copy_plain(file, tmp_path / "copy" / process.path("ops").name)
    monkeypatch.undo()
    for suffix in ("facts", "text", "counters"):
        (tmp_path / "copy" / process.path(suffix).name).write_bytes(
            process.path(suffix).read_bytes()
        )

    assert op_starts(tmp_path / "copy") == list(range(512, 1000))
    with (tmp_path / "copy" / process.path("ops").name).open("rb") as copy:
        assert (
            os.lseek(copy.fileno(), layout.PAGE_BYTES, os.SEEK_DATA) == layout.PAGE_BYTES + 512 * 64
        )


def _punch(file: int, start: int, size: int) -> None:
    from wavescope.formats.session.plain_file import give_back_pages

    give_back_pages(file, start, start + size)


def a_control_page(path: Path, dropping: int = 0) -> None:
    page = layout.CONTROL_PAGE.pack(layout.MAGIC, layout.VERSION, 1) + bytes(8)
    path.write_bytes((page + dropping.to_bytes(4, "little")).ljust(4096, b"\0"))


def still_until(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[16:24], "little")


@pytest.fixture
def all_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that left a control page or records run, whatever their numbers."""
    for module in (session_reader, copying, stillness):
        monkeypatch.setattr(module, "still_runs", lambda _: True)


@pytest.mark.usefixtures("all_run")
def test_a_process_is_asked_to_drop_nothing_and_told_when_it_may_again(tmp_path: Path) -> None:
    path = tmp_path / "7-8.control"
    a_control_page(path)

    with kept_still(tmp_path):
        assert boottime_ns() < still_until(path) <= boottime_ns() + 60_000_000_000
    assert still_until(path) == 0


@pytest.mark.usefixtures("all_run")
def test_who_asks_waits_until_what_was_begun_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stillness, "_DROPPING_PATIENCE_S", PATIENCE_S)
    path = tmp_path / "7-8.control"
    a_control_page(path, dropping=1)
    done_ns = 0

    def end_dropping() -> None:
        nonlocal done_ns
        time.sleep(0.05)
        done_ns = time.monotonic_ns()
        with path.open("r+b") as file:
            file.seek(layout.DROPPING_OFFSET)
            file.write(bytes(4))

    thread = threading.Thread(target=end_dropping)
    thread.start()
    with kept_still(tmp_path):
        assert 0 < done_ns < time.monotonic_ns()
    thread.join()


def test_a_process_that_was_killed_while_it_dropped_is_neither_asked_nor_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stillness, "_DROPPING_PATIENCE_S", PATIENCE_S)
    path = tmp_path / "7-8.control"
    a_control_page(path, dropping=1)
    before_s = time.monotonic()

    with kept_still(tmp_path):
        assert still_until(path) == 0
    assert time.monotonic() - before_s < PATIENCE_S


@pytest.mark.usefixtures("all_run")
def test_more_processes_are_kept_still_than_files_may_be_open(tmp_path: Path) -> None:
    paths = [tmp_path / f"{pid}-8.control" for pid in range(10, 50)]
    for path in paths:
        a_control_page(path)

    with few_descriptors(20), kept_still(tmp_path):
        assert all(still_until(path) > boottime_ns() for path in paths)
    assert not any(still_until(path) for path in paths)


@pytest.mark.usefixtures("all_run")
def test_what_is_no_control_page_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "7-8.control").write_bytes(b"mine" * 1024)
    (tmp_path / "8-9.control").symlink_to("/etc/passwd")

    with kept_still(tmp_path):
        pass

    assert (tmp_path / "7-8.control").read_bytes() == b"mine" * 1024


def a_session_that_drops(folder: Path, count: int) -> ProcessMaker:
    process = with_ops(folder, count, ended=False)
    (folder / "session.json").write_text('{"kept_newest": "20.5 kB of each process"}')
    a_control_page(folder / f"{process.base}.control")
    return process


@pytest.mark.usefixtures("all_run")
def test_nothing_is_dropped_while_a_running_session_is_copied_to_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = a_session_that_drops(tmp_path, 3)
    control = process.path("control")
    until: list[int] = []

    def copy_session(session: Path, target: Path) -> Notes:
        until.append(still_until(control))
        return copying.copy_session(session, target)

    monkeypatch.setattr(session_reader, "copy_session", copy_session)

    with open_steady_session(tmp_path) as source:
        assert source.row_count(OPS) == 3
        assert dict(source.notes) == CUT_OFF
    assert [at > boottime_ns() for at in until] == [True]
    assert still_until(control) == 0


@pytest.mark.usefixtures("all_run")
def test_a_session_whose_records_go_meanwhile_is_read_from_a_copy(tmp_path: Path) -> None:
    process = a_session_that_drops(tmp_path, 300)

    with open_steady_session(tmp_path) as source:
        drop(process, "ops", 256, (0, 0, DISPATCH, 256))
        with process.path("ops").open("r+b") as own:
            _punch(own.fileno(), layout.PAGE_BYTES, 256 * 64)
        (ops,) = source.batches(OPS)
        copies = source.copies
        assert len(ops["id"]) == 300
        assert source.path == str(tmp_path)
        assert copies is not None and Path(copies.name).exists()
    assert not Path(copies.name).exists()
    assert op_starts(tmp_path) == list(range(256, 300))


@pytest.mark.usefixtures("all_run")
def test_copies_lie_where_there_is_room_for_them(tmp_path: Path) -> None:
    a_session_that_drops(tmp_path / "session", 3)
    (tmp_path / "room").mkdir()

    with open_steady_session(tmp_path / "session", tmp_path / "room") as source:
        assert source.copies is not None
        assert Path(source.copies.name).parent == tmp_path / "room"


@contextmanager
def locked(session: Path) -> Iterator[None]:
    """As a reader that was stopped holds it."""
    folder = os.open(session, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


@pytest.mark.usefixtures("all_run")
def test_a_reader_that_was_stopped_holds_up_no_other_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first has asked of the processes is not taken back by the second."""
    monkeypatch.setattr(stillness, "_READER_PATIENCE_S", 0.05)
    process = a_session_that_drops(tmp_path, 3)
    with process.path("control").open("r+b") as control:
        control.seek(layout.STILL_UNTIL_OFFSET)
        control.write((77).to_bytes(8, "little"))

    with locked(tmp_path), open_steady_session(tmp_path) as source:
        assert source.copies is not None
        (ops,) = source.batches(OPS)
        assert len(ops["id"]) == 3
        assert dict(source.notes) == {
            "another reader held the session for long, "
            "so records may have been dropped while they were copied": 1,
            **CUT_OFF,
        }
    assert still_until(process.path("control")) == 77


def test_who_does_not_wait_hears_that_there_is_a_reader(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(BlockingIOError), kept_still(tmp_path, wait=False):
        pass


@pytest.mark.usefixtures("all_run")
@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK])
def test_where_nothing_can_be_locked_the_processes_are_asked_and_a_note_says_so(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = a_session_that_drops(tmp_path, 3)
    monkeypatch.setattr(fcntl, "flock", failing_with(number))

    with kept_still(tmp_path) as notes:
        assert still_until(process.path("control")) > boottime_ns()
    with open_steady_session(tmp_path) as source:
        assert source.row_count(OPS) == 3
        assert dict(source.notes) == {**dict(notes), **CUT_OFF}
    assert dict(notes) == {
        f"the session cannot be locked ({os.strerror(number)}), "
        "so records may have been dropped while they were copied": 1
    }


def failing_with(number: int) -> Callable[[int, int], None]:
    def flock(_file: int, _operation: int) -> None:
        raise OSError(number, os.strerror(number))

    return flock


@pytest.mark.usefixtures("all_run")
def test_who_waits_has_made_no_folder_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_session_that_drops(tmp_path / "session", 3)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    real_flock, seen = fcntl.flock, []

    def flock(file: int, operation: int) -> None:
        seen.append(list(temporary.iterdir()))
        real_flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", flock)

    with open_steady_session(tmp_path / "session"):
        assert len(list(temporary.iterdir())) == 1
    assert seen == [[]]


NO_END = (1 << 63) - 1


@pytest.mark.usefixtures("all_run")
@pytest.mark.parametrize(
    ("last_ns", "end_ns", "is_copied"),
    [("null", NO_END, False), ("5", NO_END, True), ("5", 300, False)],
    ids=["all is kept", "the newest are kept", "the end has come"],
)
def test_what_the_recorder_drops_nothing_of_is_read_where_it_is(
    last_ns: str, end_ns: int, is_copied: bool, tmp_path: Path
) -> None:
    with_ops(tmp_path, 300, ended=False)
    (tmp_path / "recent.json").write_text(
        f'{{"last_ns": {last_ns}, "until_ns": 300, "end_ns": {end_ns}, "fallen_out": {{}}}}'
    )

    with open_steady_session(tmp_path) as source:
        assert (source.copies is not None) == is_copied
        starts = [start for batch in source.batches(OPS) for start in batch["start_ns"].tolist()]
    assert starts == list(range(0 if last_ns == "null" else 295, 300))


def test_a_session_that_stays_as_it_is_is_read_where_it_is(tmp_path: Path) -> None:
    with_ops(tmp_path, 3)

    with open_steady_session(tmp_path) as source:
        assert source.copies is None
