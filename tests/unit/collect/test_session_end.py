"""A session that is over is removed, unless somebody needs it who removes it later."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.chunks import a_process
from tests.few_descriptors import few_descriptors
from wavescope.collect import session_end
from wavescope.collect.session_end import LEFT, end_session, remove_if_left
from wavescope.formats.session.layout import CONTROL_PAGE, MAGIC, PAGE_BYTES, VERSION


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of two processes; nobody waits for its readers for long."""
    monkeypatch.setattr(session_end, "PATIENCE_S", 0.05)
    folder = tmp_path / "session"
    for pid in (7, 8):
        process = a_process(folder, pid).with_marker("step", 1, 2, id=1)
        process.write()
        a_page(process.path("control"))
    (folder / "session.json").write_text("{}")
    (folder / "recent.json").write_text("{}")
    return folder


def a_page(path: Path) -> None:
    path.write_bytes(CONTROL_PAGE.pack(MAGIC, VERSION, 1).ljust(PAGE_BYTES, b"\0"))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """As another process has it: locks are those of an opened file."""
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def names(session: Path) -> set[str]:
    return {path.name for path in session.iterdir()}


def test_it_is_removed_at_once_where_nobody_reads_it(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_end.time, "sleep", None)

    assert end_session(session) is None
    assert not session.exists()


def test_it_is_left_to_who_is_attached_and_does_not_let_go(session: Path) -> None:
    before = names(session)

    with locked(session / "8-1000.control"):
        assert end_session(session) == session
        assert names(session) == before | {LEFT}
        assert not remove_if_left(session)
    assert names(session) == before | {LEFT}
    assert remove_if_left(session)
    assert not session.exists()


def test_the_last_of_several_removes_it(session: Path) -> None:
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(locked(session / "7-1000.control"))
        second.enter_context(locked(session / "8-1000.control"))
        end_session(session)
        first.close()
        assert not remove_if_left(session)
        second.close()
        assert remove_if_left(session)


def test_who_lets_go_before_it_is_left_leaves_nothing(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has looked before the recorder gave up, and will not look again."""
    with ExitStack() as attached:
        attached.enter_context(locked(session / "7-1000.control"))
        touch = Path.touch

        def let_go_and_touch(path: Path) -> None:
            attached.close()
            touch(path)

        monkeypatch.setattr(Path, "touch", let_go_and_touch)

        assert end_session(session) is None
    assert not session.exists()


def test_who_does_not_want_to_wait_loses_nothing_of_it(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(session_end.time, "sleep", interrupted)

    with locked(session / "7-1000.control"):
        with pytest.raises(KeyboardInterrupt):
            end_session(session)
        assert LEFT in names(session)
    assert remove_if_left(session)


def test_a_session_whose_recorder_has_not_left_it_stays(session: Path) -> None:
    before = names(session)

    assert not remove_if_left(session)
    assert names(session) == before


def test_who_copies_it_is_waited_for_but_not_for_long(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as copying:
        copying.enter_context(locked(session))
        waits: list[float] = []

        def done_at_the_second_look(seconds: float) -> None:
            assert session.exists()
            waits.append(seconds)
            if len(waits) == 2:
                copying.close()

        monkeypatch.setattr(session_end, "PATIENCE_S", 60.0)
        monkeypatch.setattr(session_end.time, "sleep", done_at_the_second_look)
        assert end_session(session) is None
        assert len(waits) == 2


def test_who_was_stopped_while_it_copied_keeps_nothing(session: Path) -> None:
    with locked(session):
        assert end_session(session) is None
    assert not session.exists()


def test_there_may_be_more_processes_than_files_may_be_open(session: Path) -> None:
    for pid in range(10, 50):
        a_page(session / f"{pid}-1000.control")

    with locked(session / "49-1000.control"), few_descriptors(20):
        assert end_session(session) == session
    assert remove_if_left(session)


def test_what_is_not_of_the_recording_stays(session: Path) -> None:
    (session / "notes.txt").write_text("mine")

    assert end_session(session) is None
    assert names(session) == {"notes.txt"}
