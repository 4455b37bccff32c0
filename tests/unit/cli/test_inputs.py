"""Inputs of every command: declared, told by their kind, and never a fault of the machine."""

from __future__ import annotations

import argparse
import errno
import os
from pathlib import Path

import pytest

from tests.capture_folders import a_capture, step
from tests.counters_builder import a_workload
from tests.unit.cli.conftest import Run
from wavescope.cli.commands import COMMANDS, command_of, entry_for
from wavescope.cli.inputs import GivenInput, Input, given_inputs
from wavescope.errors import UnreadableInputError

INPUTS = {
    "info IN": "trace",
    "summary IN": "trace",
    "phases IN": "trace",
    "steps IN": "trace",
    "work IN": "trace",
    "flame IN": "trace",
    "findings IN": "trace",
    "query IN SQL": "trace",
    "convert IN -o OUT.db": "trace",
    "merge TRACE IN -o OUT.db": "trace",
    "trim IN -o OUT.db --gpu 0": "trace",
    "report IN -o OUT.html": "trace",
    "view IN --no-browser": "trace",
    "compare TRACE IN": "trace",
    "compare --base IN --new TRACE": "trace",
    "compare --base TRACE --new IN": "trace",
    "ranks IN": "trace of a rank",
    "ranks TRACE --base IN": "trace of a rank",
    "hotspots IN": "capture",
    "plan IN": "capture",
    "occupancy IN": "capture",
    "report-att IN -o OUT.html": "capture",
    "diff-att CAPTURE IN": "capture",
    "plan CAPTURE --counters IN": "counter file",
    "hotspots CAPTURE --plan --counters IN": "counter file",
    "report-att CAPTURE -o OUT.html --counters IN": "counter file",
    "traffic IN": "counter file",
    "counters -p IN": "counter folder",
    "counters -p COUNTERS IN": "counter folder",
    "roofline -p IN": "counter folder",
    "counters -p COUNTERS --metrics IN": "file of metrics",
    "roofline -p COUNTERS --metrics IN": "file of metrics",
    "metrics --metrics IN": "file of metrics",
    "summary TRACE --rules IN": "file of rules",
    "phases TRACE --rules IN": "file of rules",
    "phases TRACE --without-markers --phase-rules IN": "file of rules",
    "compare TRACE TRACE --rules IN": "file of rules",
    "recover IN -o OUT.db": "session folder",
    "report TRACE -o OUT.html --with IN": "saved result",
    "overhead --load IN": "saved measurement",
    "overhead --against IN -- true": "saved measurement",
    "softgpu --durations IN": "file of durations",
}
"""Command lines with an input of each kind; other words in capitals are inputs that can be read."""
NO_RULES_ARE_RULES = ("file of rules", "file of metrics", "file of durations")
"""Kinds of which an empty file can be read; `metrics` calls one without metrics a usage error."""


def missing(folder: Path) -> Path:
    return folder / "absent"


def a_loop(folder: Path) -> Path:
    """What the system refuses to open, whoever asks."""
    path = folder / "loop"
    path.symlink_to(path)
    return path


def empty_folder(folder: Path) -> Path:
    path = folder / "empty folder"
    path.mkdir()
    return path


def empty_file(folder: Path) -> Path:
    path = folder / "empty"
    path.touch()
    return path


@pytest.fixture
def words(tmp_path: Path, trace_file: Path) -> dict[str, str]:
    """Inputs that can be read, and where to write, by their words in `INPUTS`."""
    capture = (
        a_capture()
        .with_code(("s_waitcnt vmcnt(0)", "/k.py:2"), "s_endpgm")
        .with_wave([step(1, stall=9), step(2)])
        .write(tmp_path / "captured")
    )
    counters = tmp_path / "counters"
    a_workload(counters).with_dispatch("gemm", 1_000, SQ_WAVES=4).write()
    return {
        "TRACE": str(trace_file),
        "CAPTURE": str(capture),
        "COUNTERS": str(counters),
        "OUT.db": str(tmp_path / "out.db"),
        "OUT.html": str(tmp_path / "out.html"),
    }


UNREADABLE = {"missing": missing, "loop": a_loop, "folder": empty_folder, "file": empty_file}
CASES = [
    (line, name)
    for line, kind in INPUTS.items()
    for name in UNREADABLE
    if not (name == "file" and kind in NO_RULES_ARE_RULES)
]


@pytest.mark.parametrize(("line", "name"), CASES)
def test_what_cannot_be_read_is_said_with_exit_code_3(
    run: Run, tmp_path: Path, words: dict[str, str], line: str, name: str
) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    path = UNREADABLE[name](folder)

    ran = run(*({**words, "IN": str(path)}.get(word, word) for word in line.split()))

    first, *others = ran.err.splitlines()
    assert first.startswith(f"error: cannot read {path}: ")
    assert all(line.startswith("hint: ") for line in others)
    assert (ran.code, ran.out) == (3, "")
    if INPUTS[line] != "trace":
        assert "trace format" not in ran.err


@pytest.mark.parametrize("line", INPUTS)
def test_commands_declare_what_they_read(line: str) -> None:
    verb, *words = line.split()
    parser = command_of(entry_for(verb)).parser()

    given = given_inputs(parser, parser.parse_args(words))

    assert GivenInput("IN", INPUTS[line]) in given
    assert {each.path for each in given} == {"IN", "TRACE", "CAPTURE", "COUNTERS"} & set(words)


def test_every_command_that_takes_a_path_to_read_is_in_the_table() -> None:
    declared = {
        entry.name
        for entry in COMMANDS
        if any(isinstance(action.type, Input) for action in command_of(entry).parser()._actions)
    }

    assert declared == {entry_for(line.split()[0]).name for line in INPUTS}


def test_what_no_command_knows_is_called_no_counter_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no counters here")

    ran = run("traffic", path)

    assert ran.code == 3
    assert ran.err.startswith(
        f"error: cannot read {path}: it is not a counter file: neither a counter CSV nor a trace\n"
    )


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOENT, "there is no such session folder"),
        (errno.EISDIR, "it is a folder, not a session folder"),
        (errno.ENOTDIR, "it is a file, not a session folder"),
        (errno.EACCES, "Permission denied"),
    ],
)
def test_what_the_system_refuses_is_told_by_kind(number: int, reason: str) -> None:
    told = GivenInput("in", "session folder").error_for(OSError(number, "Permission denied", "in"))

    assert (told.path, told.reason) == ("in", reason) if told else False


def test_a_file_inside_an_input_is_part_of_it(tmp_path: Path) -> None:
    inside = tmp_path / "pmc_perf.csv"
    inside.touch()
    given = GivenInput(str(tmp_path), "counter folder")

    told = given.error_for(PermissionError(errno.EACCES, "Permission denied", str(inside)))

    assert str(told) == f"cannot read {inside}: Permission denied"


@pytest.mark.parametrize("name", ["", "elsewhere", "given/not there yet"])
def test_errors_about_other_files_are_not_the_inputs(tmp_path: Path, name: str) -> None:
    (tmp_path / "given").mkdir()
    given = GivenInput(str(tmp_path / "given"), "counter folder")
    error = PermissionError(errno.EACCES, "Permission denied", name and str(tmp_path / name))

    assert given.error_for(error) is None


def test_lists_of_lists_are_inputs_too() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-p", type=Input("folder"), nargs="+", action="append")
    parser.add_argument("--other", type=Input("file"))

    given = given_inputs(parser, parser.parse_args(["-p", "a", "b", "-p", "c"]))

    assert given == [GivenInput(name, "folder") for name in "abc"]


@pytest.mark.parametrize(
    "line", ["summary", "report", "info", "counters", "hotspots", "traffic", "recover"]
)
def test_what_is_not_there_gets_a_hint(line: str, run: Run, tmp_path: Path) -> None:
    ran = run(line, str(tmp_path / "nothing"))

    assert ran.code == 3
    assert ran.err.startswith(f"error: cannot read {tmp_path / 'nothing'}: ")
    assert "\nhint: " in ran.err


def test_a_file_missing_in_an_archive_has_no_hint_about_paths() -> None:
    assert UnreadableInputError("a.zip:code.json", "there is no such file").hint == ""
    assert "current folder" in UnreadableInputError("/no/where", "there is no such file").hint


def test_a_folder_that_may_not_be_entered_is_an_unreadable_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = str(tmp_path / "code.json")
    error = PermissionError(errno.EACCES, "Permission denied", inside)
    given = GivenInput(str(tmp_path), "capture")
    assert given.error_for(error) is None

    # As for everybody but root.
    monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (tmp_path, os.X_OK))
    told = given.error_for(error)

    assert str(told) == f"cannot read {inside}: Permission denied"
