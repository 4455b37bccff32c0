"""`wavescope demo` from end to end."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from tests.recorded import collector
from tests.softgpu_programs import require_softgpu
from tests.unit.cli.conftest import Run
from wavescope.collect import RecordMode, demo
from wavescope.collect.demo import DemoOptions, demo_trace, programs
from wavescope.errors import MachineError


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A demo of a few thousand ops is enough here, and no program is recorded."""
    small = DemoOptions(layers=4, requests=1, decode_steps=12)
    monkeypatch.setattr(demo, "demo_trace", lambda: demo_trace(small))
    without = [
        replace(program, why_not_recordable=lambda _: "this is a test")
        for program in programs.DEMO_PROGRAMS
    ]
    monkeypatch.setattr(programs, "DEMO_PROGRAMS", without)


def test_it_shows_a_summary_and_writes_two_files(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "tour"

    ran = run("demo", "-o", folder)

    assert ran.code == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "report.html",
        "trace.db",
        "trace.pftrace",
    ]
    trace = shlex.quote(f"{folder}/trace.db")
    assert ran.out.startswith("Summary\n")
    assert "Findings\n" in ran.out
    assert "note: not recorded: llama.cpp's llama-bench with a small random model" in ran.err
    assert "LLM inference on two software GPUs: this is a test\n" in ran.err
    assert "note: the trace is generated instead\n" in ran.err
    assert f"$ wavescope summary {trace} -n 12\n" in ran.err
    assert f"wrote {folder}/trace.db, {folder}/trace.pftrace and {folder}/report.html\n" in ran.err
    assert f"  wavescope query {trace} 'SELECT * FROM top LIMIT 5'\n" in ran.err


def test_the_commands_it_names_work(run: Run, tmp_path: Path) -> None:
    import shlex

    ran = run("demo", "-o", tmp_path / "a tour")

    lines = [line.strip() for line in ran.err.splitlines()]
    named = [shlex.split(line)[1:] for line in lines if line.startswith("wavescope ")]
    assert len(named) == 3
    for arguments in named:
        assert run(*arguments).code == 0, arguments


def test_it_may_be_run_again_but_replaces_nobody_elses_files(
    run: Run, tmp_path: Path, trace_file: Path
) -> None:
    folder = tmp_path / "tour"
    assert run("demo", "-o", folder, "-q").code == 0
    assert run("demo", "-o", folder, "-q").code == 0

    shutil.copy(trace_file, folder / "trace.db")
    mine = (folder / "trace.db").read_bytes()
    refused = run("demo", "-o", folder)

    assert refused.code == 2
    assert "already exists" in refused.err
    assert (folder / "trace.db").read_bytes() == mine


def test_json_is_the_summary(run: Run, tmp_path: Path) -> None:
    ran = run("demo", "-o", tmp_path / "tour", "--json", "-q")

    assert ran.err == ""
    assert json.loads(ran.out)["facts"]["gpu_count"] == 2


def test_a_file_in_the_way(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    ran = run("demo", "-o", tmp_path / "file")

    assert ran.code == 2
    assert "is not a folder" in ran.err


def test_a_chosen_program_that_cannot_run_is_an_error(run: Run, tmp_path: Path) -> None:
    ran = run("demo", "--program", "llama", "-o", tmp_path / "tour")

    assert ran.code == 4
    assert "the demo cannot record llama.cpp's llama-bench" in ran.err
    assert ": this is a test\n" in ran.err
    assert not (tmp_path / "tour" / "trace.db").exists()


@pytest.mark.parametrize("recordable", ["llama", "hip", "python"])
def test_the_first_program_that_runs_here_is_recorded(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recordable: str
) -> None:
    def prepared(*_: object) -> NoReturn:
        raise MachineError(f"{recordable} was tried")

    with_one = [
        replace(program, why_not_recordable=lambda _: "", prepared=prepared)
        if program.name == recordable
        else program
        for program in programs.DEMO_PROGRAMS
    ]
    monkeypatch.setattr(programs, "DEMO_PROGRAMS", with_one)

    ran = run("demo", "-o", tmp_path / "tour")

    assert ran.code == 0
    assert f": {recordable} was tried\n" in ran.err
    assert ran.err.count("this is a test") == 2


def test_a_program_that_fails_is_named_with_its_last_words(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_softgpu()
    collector()
    command = ("sh", "-c", "echo to the user; echo the reason >&2; exit 3")
    failing = replace(
        programs.DEMO_PROGRAMS[1],
        why_not_recordable=lambda _: "",
        prepared=lambda *_: programs.PreparedDemo(command, "gfx90a", RecordMode.STANDARD),
    )
    monkeypatch.setattr(programs, "DEMO_PROGRAMS", [failing])

    ran = run("demo", "-o", tmp_path / "tour", "--json")

    assert ran.code == 0
    assert "to the user\n" in ran.err
    assert ": the program failed (exit code 3): the reason\n" in ran.err
    assert json.loads(ran.out)["facts"]["gpu_count"] == 2
