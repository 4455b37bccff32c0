"""Recordings are found by the recorder's process, a recorded one, or one above it."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest

from wavescope.collect.running_sessions import (
    after_a_moment,
    pages_of,
    registered,
    sessions_folder,
    set_recording,
)
from wavescope.errors import MachineError, UsageError

PAGE = struct.Struct("<8sII")
NO_PROCESS = 2**22 + 1
"""Linux gives no process a number as large."""


def a_page(session: Path, pid: int, recording: int = 1) -> Path:
    path = session / f"{pid}-123.control"
    path.write_bytes(PAGE.pack(b"WAVESCP1", 1, recording).ljust(4096, b"\0"))
    return path


class PlayedTime:
    """A clock that only sleeping moves on."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def test_who_ends_right_after_the_program_does_not_outlive_it() -> None:
    time = PlayedTime()
    looks = iter([(7, 8), (8,), ()])

    assert after_a_moment(lambda: next(looks), time.clock, time.sleep) == ()
    assert time.now_s < 101


def test_who_stays_is_waited_for_no_longer_than_a_second() -> None:
    time = PlayedTime()

    assert after_a_moment(lambda: (7,), time.clock, time.sleep) == (7,)
    assert 101 <= time.now_s < 101.1


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    session = tmp_path / "session"
    session.mkdir()
    return session, {"XDG_RUNTIME_DIR": str(tmp_path)}


def test_pages_of_recorder_process_and_ancestor(place: tuple[Path, dict[str, str]]) -> None:
    session, environment = place
    child = subprocess.Popen(["sleep", "3600"])
    try:
        path = a_page(session, child.pid)
        a_page(session, NO_PROCESS)
        with registered(session, environment):
            for process in (os.getpid(), child.pid, os.getppid()):
                assert [page.path for page in pages_of(process, environment)] == [path]
            set_recording(pages_of(child.pid, environment)[0], recording=False)
            assert PAGE.unpack(path.read_bytes()[:16]) == (b"WAVESCP1", 1, 0)
            set_recording(pages_of(child.pid, environment)[0], recording=True)
            assert PAGE.unpack(path.read_bytes()[:16]) == (b"WAVESCP1", 1, 1)
        with pytest.raises(UsageError, match="no recording of process"):
            pages_of(child.pid, environment)
    finally:
        child.kill()
        child.wait()


def test_entries_of_recorders_that_died_are_removed(place: tuple[Path, dict[str, str]]) -> None:
    session, environment = place
    stale = sessions_folder(environment) / str(NO_PROCESS)
    stale.write_text(str(session))
    with pytest.raises(UsageError):
        pages_of(os.getpid(), environment)
    assert not stale.exists()


def test_only_control_pages_are_written_to(place: tuple[Path, dict[str, str]]) -> None:
    session, environment = place
    path = session / f"{os.getpid()}-1.control"
    path.write_bytes(b"something else entirely")
    with registered(session, environment):
        (page,) = pages_of(os.getpid(), environment)
        with pytest.raises(MachineError, match="not a control page"):
            set_recording(page, recording=False)
    assert path.read_bytes() == b"something else entirely"
    path.unlink()
    path.symlink_to("/etc/hostname")
    with registered(session, environment), pytest.raises(OSError, match="symbolic"):
        set_recording(pages_of(os.getpid(), environment)[0], recording=False)


def test_a_folder_that_is_no_folder_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    for name in ("wavescope", f"wavescope-{os.geteuid()}"):
        (tmp_path / name).symlink_to("elsewhere")
    environment = {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path / "home")}

    folder = sessions_folder(environment)

    assert folder == tmp_path / "home/.cache/wavescope" / f"running-{os.uname().nodename}"
    assert folder.stat().st_mode & 0o777 == 0o700
    with pytest.raises(MachineError, match=f"{tmp_path / 'wavescope'} is not a folder, "):
        sessions_folder({"XDG_RUNTIME_DIR": str(tmp_path)})


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_folder_that_others_can_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    environment = {"XDG_RUNTIME_DIR": str(tmp_path)}
    session = tmp_path / "session"
    session.mkdir()
    (session / f"{os.getpid()}-1.control").touch()
    with registered(session, environment):
        assert len(pages_of(os.getpid(), environment)) == 1
        (tmp_path / "wavescope").chmod(mode)
        with pytest.raises(UsageError, match="no recording of process"):
            pages_of(os.getpid(), environment)
    assert sessions_folder(environment) == tmp_path / f"wavescope-{os.geteuid()}"


def test_a_folder_that_others_can_replace_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "shared"))
    for name, mode in (("runtime", 0o777), ("shared", 0o1777)):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(mode)

    folder = sessions_folder({"XDG_RUNTIME_DIR": str(tmp_path / "runtime")})

    assert folder == tmp_path / "shared" / f"wavescope-{os.geteuid()}"
