"""Every command that a page or a `--help` shows is executed on generated inputs, or says why not.

Tutorials are run whole by test_tutorials.py, scripts of examples/ are checked by
test_shown_commands.py. A new example that is neither executed nor has a reason fails here.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.integration.test_shown_commands import PAGES, require_valid, shown_commands
from tests.integration.test_shown_commands import wavescope_commands as commands_of
from tests.shown_inputs import write_captures, write_ranks, write_traces, write_workloads
from wavescope.cli.commands import COMMANDS, command_of
from wavescope.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PARSED_ONLY = {
    r"(trace|run|overhead (?!--load)) ?.*": "needs a program that uses a GPU; test_tutorials.py records one",
    r"(attach|snapshot|pause|resume) .*": "needs the process id of a running recording",
    r"recover .*": "needs the session folder of a killed recording",
    r"counters collect (?!--list|--plan).*": "needs rocprofv3 and an AMD GPU",
    r"capture (?!.*--dry-run).*": "needs rocprofv3 and an AMD GPU",
    r"capture .*--dry-run.*": "needs rocprofv3",
    r"ceilings.*": "needs a GPU",
    r"view .*": "stays until it is told to end; test_view_command.py runs it",
    r"softgpu .*--( |$).*": "becomes the program that it is given",
    r"softgpu --(fetch|remove-runtime).*": "changes the user's cache, over the network",
    r"ranks .*--(scheduler|ssh|slurm).*": "needs a cluster; test_workers_dask.py has one",
    r"overhead --load .*": "needs a measurement; test_tutorials.py makes and loads one",
    r"report .*--with .*": "needs a measurement; test_overhead_command.py makes one",
    r"roofline .*\.html": "takes seconds to draw; test_cli_roofline.py draws pages",
    r"demo( .*)?": "writes where it is told to; test_cli_demo.py runs it",
}
"""What cannot run here, by the command's arguments, and why."""
OTHER_CODES = {
    "findings trace.db --only gpu-idle --fail-on warning": {0, 1},
    "compare --base": {0, 1, 5},
    "compare A B --fail-above 3": {0, 1},
    "ranks run/ --fail": {0, 1, 5},
}
"""Exit codes of commands that give a verdict, by how they begin."""
FOLDERS: dict[str, Callable[[Path], None]] = {
    "traces": write_traces,
    "captures": write_captures,
    "workloads": write_workloads,
    "ranks": write_ranks,
}
EXPANDED = re.compile(r"rank_\*\.")
"""Patterns that shells replace; those of `ranks` are its own."""
OF_WORKLOADS = re.compile(r"(counters|roofline|traffic|metrics)\b|.*\bworkloads/")
OF_CAPTURES = re.compile(
    r"(hotspots|plan|occupancy)\b|compare (A|before)\b|.*\b(ui_output\w*|captures\.zip|DIR)\b"
)


@cache
def examples() -> tuple[str, ...]:
    """The arguments of every command of `--help` and of pages that are no tutorials, once each."""
    entries = [form for entry in COMMANDS for form in (entry, *entry.forms.values())]
    lines = [example.line for entry in entries for example in command_of(entry).examples]
    helped = [arguments for line in lines for arguments in commands_of(line)]
    pages = [page for page in PAGES if page.parent.name != "tutorials"]
    shown = [arguments for page in pages for arguments in shown_commands(page)]
    return tuple(dict.fromkeys(map(shlex.join, [*helped, *shown])))


def reason_not_to_run(example: str) -> str:
    """Why a command is only parsed, or nothing."""
    return next((why for how, why in PARSED_ONLY.items() if re.fullmatch(how, example)), "")


def folder_for(example: str) -> str:
    """Which of the folders of inputs a command is about."""
    if "--rank-pattern" in example:
        return "ranks"
    if OF_WORKLOADS.match(example):
        return "workloads"
    return "captures" if OF_CAPTURES.match(example) else "traces"


EXECUTED = [example for example in examples() if not reason_not_to_run(example)]
PARSED = [example for example in examples() if reason_not_to_run(example)]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {name: tmp_path_factory.mktemp(name) for name in FOLDERS}
    for name, write in FOLDERS.items():
        write(folders[name])
    return folders


def as_a_shell_has_them(example: str, folder: Path) -> list[str]:
    """The words of a command, patterns replaced by the names that they match."""
    words = shlex.split(example)
    found = {
        word: sorted(str(path.relative_to(folder)) for path in folder.glob(word))
        for word in words
        if EXPANDED.search(word)
    }
    return [name for word in words for name in found.get(word) or [word]]


@pytest.mark.parametrize("example", EXECUTED)
def test_an_example_runs_as_it_is_shown(
    example: str,
    inputs: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    words = as_a_shell_has_them(example, inputs[folder_for(example)])
    written = words[words.index("-o") + 1] if "-o" in words else ""
    for path in inputs[folder_for(example)].iterdir():
        if path.name != written:
            (tmp_path / path.name).symlink_to(path)

    code = main(words)

    told = capsys.readouterr()
    codes = next((each for head, each in OTHER_CODES.items() if example.startswith(head)), {0})
    assert code in codes, told.err
    assert told.out or "wrote " in told.err or "-q" in words
    assert "Traceback" not in told.err
    if written:
        assert (tmp_path / written).stat().st_size > 50
    if "--json" in words:
        assert json.loads(told.out)["schema"] == "wavescope.result/1"


@pytest.mark.parametrize("example", PARSED)
def test_an_example_that_cannot_run_here_is_at_least_understood(example: str) -> None:
    if "[" not in example:  # a synopsis
        require_valid(shlex.split(example))


def test_every_reason_is_needed_and_most_examples_run() -> None:
    used = {reason_not_to_run(example) for example in PARSED}

    assert used == set(PARSED_ONLY.values())
    assert len(EXECUTED) > 110
