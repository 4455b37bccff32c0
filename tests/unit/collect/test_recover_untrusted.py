"""Session folders that anybody made: nothing in them changes, and no link is followed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import wavescope
from tests.chunks import ProcessMaker, a_process
from wavescope.collect.recording import recorder
from wavescope.errors import UnreadableInputError
from wavescope.formats import open_trace
from wavescope.formats.session import copying
from wavescope.formats.session.reading import open_session
from wavescope.formats.session.stillness import kept_still

SECRET = "root:x:0:0"
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")


def a_session(folder: Path) -> ProcessMaker:
    """Two ops and a marker, of a process that did not come to an end."""
    process = a_process(folder).with_agent(0).with_op(start=10, end=20).with_op(start=30, end=40)
    process.with_marker("step", 5, 50, id=1).write(ended=False)
    return process


def state(folder: Path) -> dict[str, object]:
    """Everything that can be seen of a folder but when it was last read."""
    found: dict[str, object] = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        facts = path.lstat()
        content = path.read_bytes() if path.is_file() and facts.st_size < 1 << 20 else None
        found[str(path)] = (
            *(facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns),
            *(facts.st_ino, facts.st_nlink, content),
        )
    return found


def op_starts(path: Path) -> list[int]:
    with open_trace(path) as trace:
        return [int(start) for start in trace.ops["start_ns"]]


def test_what_is_wrong_is_told_of_the_session_not_of_its_copy(tmp_path: Path) -> None:
    session = tmp_path / "session"
    session.mkdir()
    (session / "1-1.facts").symlink_to("/etc/passwd")

    with pytest.raises(UnreadableInputError) as caught:
        wavescope.recover(session, tmp_path / "trace.db")

    assert str(caught.value) == f"cannot read {session}: no process left records in it"
    assert [path.name for path in tmp_path.iterdir()] == ["session"]


def test_recovering_changes_nothing_in_the_session(tmp_path: Path) -> None:
    session = a_session(tmp_path / "session").folder
    session.chmod(0o500)
    before = state(session)

    wavescope.recover(session, tmp_path / "trace.db")

    assert state(session) == before
    assert op_starts(tmp_path / "trace.db") == [10, 30]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["session", "trace.db"]


def test_a_file_is_no_session_and_stays_as_it_is(tmp_path: Path) -> None:
    given = tmp_path / "trace.db"
    given.write_bytes(b"SQLite format 3\0")

    with pytest.raises(UnreadableInputError) as caught:
        wavescope.recover(given, tmp_path / "recovered.db")

    assert str(caught.value) == f"cannot read {given}: it is a file, not a session folder"
    assert caught.value.hint == "`wavescope trace` writes such folders while it records"
    assert [path.name for path in tmp_path.iterdir()] == ["trace.db"]


def test_what_was_in_flight_is_taken_from_shared_memory_and_stays_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setattr("wavescope.formats.session.pending._SHARED_MEMORY", shared)
    process = a_session(tmp_path / "session")
    (shared / f"wavescope-{process.base}.pending").write_bytes(b"not a header")
    before = state(shared), state(process.folder)

    found = wavescope.recover(process.folder, tmp_path / "trace.db")

    assert (state(shared), state(process.folder)) == before
    assert (f"file {process.base}.pending is shorter than its header: left out", 1) in found.notes


def link_to_a_secret(path: Path, secret: Path) -> None:
    path.symlink_to(secret)


def pipe(path: Path, secret: Path) -> None:
    del secret
    os.mkfifo(path)


def another_users_file(path: Path, secret: Path) -> None:
    os.chown(secret, 65534, 65534)
    os.link(secret, path)


TRAPS = [
    (link_to_a_secret, "a link, which is not followed"),
    (pipe, "not a regular file"),
    pytest.param(another_users_file, "another user's file under a second name", marks=needs_root),
]


@pytest.mark.parametrize(("trap", "reason"), TRAPS)
@pytest.mark.parametrize("suffix", ["ops", "markers", "calls", "counters", "text", "facts"])
def test_what_is_no_plain_file_is_left_out_and_said(
    tmp_path: Path, trap: Callable[[Path, Path], None], reason: str, suffix: str
) -> None:
    process = a_session(tmp_path / "session")
    secret = tmp_path / "secret"
    place = process.path(suffix)
    if place.exists():
        shutil.move(place, secret)
    else:
        secret.write_text(SECRET)
    trap(place, secret)
    before = state(process.folder)

    found = wavescope.recover(process.folder, tmp_path / "trace.db")
    with open_session(process.folder) as source:
        direct = dict(source.notes)

    note = f"file {place.name} is {reason}: left out"
    assert (note, 1) in found.notes
    assert direct[note] == 1
    assert state(process.folder) == before
    with open_trace(tmp_path / "trace.db") as trace:
        assert len(trace.ops) == (0 if suffix == "ops" else 2)
        assert len(trace.markers) == (0 if suffix == "markers" else 1)


@pytest.mark.parametrize("name", ["session.json", "recent.json"])
def test_what_the_recorder_left_is_read_from_plain_files_only(tmp_path: Path, name: str) -> None:
    process = a_session(tmp_path / "session")
    (tmp_path / "secret").write_text('{"recorded_command": "secret", "last_ns": 1}')
    (process.folder / name).symlink_to(tmp_path / "secret")

    found = wavescope.recover(process.folder, tmp_path / "trace.db")

    assert (f"file {name} is a link, which is not followed: left out", 1) in found.notes
    with open_trace(tmp_path / "trace.db") as trace:
        assert "secret" not in trace.metadata.values()
        assert len(trace.ops) == 2


def test_other_names_are_nobodys_records(tmp_path: Path) -> None:
    process = a_session(tmp_path / "session")
    for number in range(3000):
        (process.folder / f"junk\n{number}.ops").touch()
    (process.folder / "8-9.ops\n").symlink_to("/etc/passwd")
    (process.folder / "-1.ops").symlink_to("/etc/passwd")

    found = wavescope.recover(process.folder, tmp_path / "trace.db")

    assert op_starts(tmp_path / "trace.db") == [10, 30]
    assert not [note for note, _ in found.notes if "passwd" in note or "junk" in note]


def test_space_that_was_never_written_is_not_read(tmp_path: Path) -> None:
    process = a_session(tmp_path / "session")
    for suffix in ("ops", "markers", "text", "facts"):
        os.truncate(process.path(suffix), 1 << 40)

    wavescope.recover(process.folder, tmp_path / "trace.db")

    assert op_starts(tmp_path / "trace.db") == [10, 30]
    assert (tmp_path / "trace.db").stat().st_size < 1 << 20


@pytest.mark.parametrize("change", ["grows", "is cut off", "becomes a link"])
def test_files_that_change_meanwhile_make_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    process = a_session(tmp_path / "session")

    def copied_before_the_change(session: Path, target: Path) -> object:
        notes = copying.copy_session(session, target)
        ops = process.path("ops")
        if change == "grows":
            process.with_op(start=50, end=60).write(ended=False)
        elif change == "is cut off":
            os.truncate(ops, 4096)
        else:
            ops.unlink()
            ops.symlink_to("/dev/zero")
        return notes

    monkeypatch.setattr(recorder, "copy_session", copied_before_the_change)

    wavescope.recover(process.folder, tmp_path / "trace.db")

    assert op_starts(tmp_path / "trace.db") == [10, 30]


def test_a_folder_without_records_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "session").mkdir()

    with pytest.raises(UnreadableInputError, match=f"cannot read {tmp_path / 'session'}: no proc"):
        wavescope.recover(tmp_path / "session", tmp_path / "trace.db")

    assert [path.name for path in tmp_path.iterdir()] == ["session"]


def test_the_command_line_says_what_it_left_out(tmp_path: Path) -> None:
    process = a_session(tmp_path / "session")
    process.path("ops").unlink()
    process.path("ops").symlink_to("/etc/passwd")
    for command in (["recover", "-o", "trace.db"], ["summary"]):
        done = subprocess.run(
            [sys.executable, "-m", "wavescope", *command, "session"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

        assert done.returncode == 0, done.stderr
        said = done.stdout + done.stderr
        assert f"file {process.base}.ops is a link, which is not followed" in said
    with open_trace(tmp_path / "trace.db") as trace:
        assert (len(trace.ops), len(trace.markers)) == (0, 1)


def test_a_session_that_is_written_to_changes_only_by_its_program(tmp_path: Path) -> None:
    """The recorder keeps the newest part meanwhile; recovering neither waits nor writes."""
    process = a_session(tmp_path / "session")
    with kept_still(process.folder):
        before = state(process.folder)
        wavescope.recover(process.folder, tmp_path / "trace.db")
        assert state(process.folder) == before
    process.with_op(start=50, end=60).write(ended=False)
    after = state(process.folder)
    wavescope.recover(process.folder, tmp_path / "later.db")

    assert state(process.folder) == after
    assert op_starts(tmp_path / "trace.db") == [10, 30]
    assert op_starts(tmp_path / "later.db") == [10, 30, 50]
