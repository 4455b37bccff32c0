"""From a command to a trace, with a program that writes records as a collector would."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chunks import a_process
from wavescope.collect.record_options import RecordOptions
from wavescope.collect.recording import recorder
from wavescope.collect.recording.recorder import merge_session, record
from wavescope.errors import MachineError, OutputExistsError, UsageError, WavescopeError
from wavescope.formats import open_trace
from wavescope.formats.session.reading import reader
from wavescope.package_files import library_path

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _any_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Preload a library that does nothing, and keep out of the user's own folders."""
    library = library_path("wavescope_columns")
    if library is None:
        pytest.skip("there is no native library to preload")
    monkeypatch.setattr(recorder, "required_collector", lambda mode: library)
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))


def a_program(body: str) -> tuple[str, ...]:
    """A program that may use `process`, the maker of its own records."""
    start = f"""
        import os, sys
        sys.path.insert(0, {str(ROOT)!r})
        from pathlib import Path
        from tests.chunks import a_process
        process = a_process(Path(os.environ["WAVESCOPE_OUTPUT"]), pid=os.getpid())
    """
    return (sys.executable, "-c", textwrap.dedent(start) + textwrap.dedent(body))


BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def a_recording(tmp_path: Path, body: str, **options: object) -> RecordOptions:
    return RecordOptions(a_program(body), tmp_path / "trace.db", **options)  # type: ignore[arg-type]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "runtime")


def test_a_program_becomes_a_trace_and_nothing_else_is_left(tmp_path: Path) -> None:
    body = """
        process.with_agent(0).with_op(start=10, end=20).with_marker("decode", 1, 30, id=1).write()
        sys.exit(3)
    """
    recording = record(a_recording(tmp_path, body), os.environ)

    assert recording.end.exit_code == 3
    assert recording.output == tmp_path / "trace.db"
    assert recording.kept_session is None
    assert names(tmp_path) == ["trace.db"]
    assert list((tmp_path / "runtime" / "wavescope").iterdir()) == []
    with open_trace(tmp_path / "trace.db") as trace:
        assert trace.ops["start_ns"].tolist() == [10]
        assert trace.markers.strings("name") == ["decode"]
        assert trace.processes.strings("origin") == ["trace.db"]
        assert trace.metadata["program_end"] == "exit code 3"
        assert trace.metadata["recorded_by"].startswith("wavescope ")
        assert "output" not in trace.metadata
        assert trace.metadata["boot_id"] == BOOT_ID.read_text().strip()


def test_placeholders_are_filled_in_only_where_users_name_files(tmp_path: Path) -> None:
    options = a_recording(tmp_path / "100%pure", "process.with_marker('x', 1, 2, id=1).write()")
    options.output.parent.mkdir()

    assert record(options, os.environ).output == options.output
    run = recorder.run_recorded(replace(options, output=tmp_path / "t_%p.db"), os.environ)
    assert recorder.merged(run).output == tmp_path / f"t_{os.getpid()}.db"


def test_an_empty_recording_writes_nothing(tmp_path: Path) -> None:
    recording = record(a_recording(tmp_path, "sys.exit(4)"), os.environ)

    assert (recording.end.exit_code, recording.output) == (4, None)
    assert names(tmp_path) == []


def test_a_tree_of_processes_ends_in_one_trace(tmp_path: Path) -> None:
    body = """
        import subprocess
        process.with_op(start=10, end=20).write()
        if len(sys.argv) < 2:
            for _ in range(3):
                subprocess.run([sys.executable, "-c", PROGRAM, "child"], check=True)
    """
    command = a_program(body)
    program = f"PROGRAM = {command[2]!r}\n" + command[2]
    options = RecordOptions((sys.executable, "-c", program), tmp_path / "trace.db")
    record(options, os.environ)

    with open_trace(tmp_path / "trace.db") as trace:
        assert len(trace.processes) == 4
        assert sorted(trace.ops["process"].tolist()) == [0, 1, 2, 3]


def test_chunks_are_kept_when_asked_for_and_can_be_merged_again(tmp_path: Path) -> None:
    body = "process.with_op(start=10, end=20).write()"
    recording = record(a_recording(tmp_path, body, keep_chunks=True), os.environ)

    assert recording.kept_session is not None
    assert names(tmp_path) == ["trace.db", recording.kept_session.name]
    assert merge_session(recording.kept_session, tmp_path / "again.db", force=False) == ()
    with open_trace(tmp_path / "again.db") as again:
        assert again.ops["start_ns"].tolist() == [10]


def test_what_is_merged_while_it_changes_is_copied_beside_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be little room where temporary files lie."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "full"))
    monkeypatch.setattr(reader, "still_runs", lambda _: True)
    a_process(tmp_path / "session").with_op(start=10, end=20).write()
    (tmp_path / "session" / "session.json").write_text('{"kept_newest": "1 MB of each process"}')

    merge_session(tmp_path / "session", tmp_path / "trace.db", force=False)

    assert names(tmp_path) == ["session", "trace.db"]
    with open_trace(tmp_path / "trace.db") as trace:
        assert trace.ops["start_ns"].tolist() == [10]


def test_a_failed_merge_keeps_the_records_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(*arguments: object, **values: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recorder, "write_trace", full_disk)
    options = a_recording(tmp_path, "process.with_op(start=10, end=20).write()")
    with pytest.raises(WavescopeError, match="No space left on device") as caught:
        record(options, os.environ)
    monkeypatch.undo()
    (session,) = names(tmp_path)
    assert f"wavescope recover {shlex.quote(str(tmp_path / session))}" in caught.value.hint
    with open_trace(tmp_path / session) as trace:
        assert len(trace.ops) == 1


def test_what_cannot_succeed_is_refused_before_the_program_runs(tmp_path: Path) -> None:
    (tmp_path / "trace.db").write_text("mine")
    ran = tmp_path / "ran"
    options = a_recording(tmp_path, f"Path({str(ran)!r}).touch()")
    with pytest.raises(OutputExistsError):
        record(options, os.environ)
    with pytest.raises(UsageError, match="does not exist"):
        record(RecordOptions(options.command, tmp_path / "no" / "t.db"), os.environ)
    with pytest.raises(UsageError, match="there is no program"):
        record(RecordOptions(("nonesuch",), tmp_path / "t.db"), os.environ)
    assert not ran.exists()
    assert names(tmp_path) == ["trace.db"]
    assert (tmp_path / "trace.db").read_text() == "mine"


def test_a_foreign_file_in_the_session_folder_survives(tmp_path: Path) -> None:
    body = """
        process.with_op(start=10, end=20).write()
        Path(os.environ["WAVESCOPE_OUTPUT"], "precious.txt").write_text("mine")
    """
    record(a_recording(tmp_path, body), os.environ)

    (session,) = [name for name in names(tmp_path) if name != "trace.db"]
    assert names(tmp_path / session) == ["precious.txt"]


def test_records_of_processes_that_outlive_the_program_stay(tmp_path: Path) -> None:
    body = """
        import mmap, time
        heard, told = os.pipe()
        child = os.fork()
        if child == 0:
            now_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            mine = a_process(process.folder, pid=os.getpid(), start_ns=now_ns)
            mine.with_op(start=1, end=2).write(ended=False)
            with open(mine.folder / f"{mine.base}.facts", "r+b") as facts:
                mapped = mmap.mmap(facts.fileno(), 0)
            os.write(told, b"!")
            time.sleep(3600)  # until it is killed below
            os._exit(0)
        os.read(heard, 1)
        Path(os.environ["CHILD"]).write_text(str(child))
    """
    environment = {**os.environ, "CHILD": str(tmp_path / "child")}
    recording = record(a_recording(tmp_path, body), environment)
    child = int((tmp_path / "child").read_text())
    os.kill(child, 9)

    assert recording.running == (child,)
    assert recording.kept_session is not None
    assert f"process {child} is still being recorded" in dict(recording.notes)


def test_without_a_collector_the_way_to_get_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wavescope.collect import libraries

    monkeypatch.setattr(libraries, "library_path", lambda name: None)
    monkeypatch.setattr(recorder, "required_collector", libraries.required_collector)
    with pytest.raises(MachineError, match="no collector library") as caught:
        record(a_recording(tmp_path, ""), os.environ)
    assert caught.value.hint.endswith("pip install --force-reinstall wavescope")


def test_where_nothing_can_be_recorded_the_platform_is_told() -> None:
    from wavescope.collect.libraries import missing_collector

    what, hint = missing_collector("darwin")
    assert what == "recording needs Linux, and this is darwin"
    assert "open the trace here" in hint


def test_an_output_that_cannot_be_made_is_named_as_it_was_given() -> None:
    with pytest.raises(OSError) as refused:
        record(RecordOptions(("true",), output=Path("/proc/x.db")), os.environ)

    assert refused.value.filename == "/proc/x.db"
