"""Completion scripts: what bash and fish really complete, and that all three are sound."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run
from wavescope.cli.commands import COMMANDS, command_of
from wavescope.cli.completion_scripts import SCRIPTS

CASES = [
    (("tr",), ["trace", "traffic", "trim"]),
    (("report",), ["report", "report-att"]),
    (("comp",), ["compare", "completion"]),
    (("summary", "--ma"), ["--marker", "--max-unpacked"]),
    (("export", "--full"), ["--full-names"]),
    (("summary", "--format", ""), ["csv", "json", "markdown", "text"]),
    (("summary", "--format", "m"), ["markdown"]),
    (("trace", "-m", "l"), ["lite"]),
    (("completion", ""), ["bash", "fish", "zsh"]),
    (("counters", "col"), ["collect"]),
    (("counters", "collect", "--iter"), ["--iteration-multiplexing"]),
    (("counters", "--list-s"), ["--list-stats"]),
    (("report", "--counte"), ["--counters"]),
    (("diff-att", "--fail"), ["--fail-above"]),
]
"""Words behind `wavescope`, the last one unfinished, and what it can become."""


@pytest.fixture
def script(run: Run, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The script of the shell that the test names, skipped where that is not installed."""
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    ran = run("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    path = tmp_path / f".wavescope.{shell}"  # hidden: files are offered, too
    path.write_text(ran.out)
    return path


def completed_by_bash(script: Path, words: tuple[str, ...]) -> list[str]:
    code = (
        f"source {shlex.quote(str(script))}; COMP_WORDS=(wavescope {shlex.join(words)}); "
        f"COMP_CWORD={len(words)}; _wavescope; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=script.parent,
    )
    assert done.stderr == ""
    return sorted(done.stdout.split())


def completed_by_fish(script: Path, words: tuple[str, ...]) -> list[str]:
    line = " ".join(["wavescope", *words])
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}; complete -C {shlex.quote(line)}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=script.parent,
    )
    return sorted(completed.split("\t")[0] for completed in done.stdout.splitlines())


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(("words", "expected"), CASES)
def test_bash_completes(script: Path, words: tuple[str, ...], expected: list[str]) -> None:
    assert completed_by_bash(script, words) == expected


@pytest.mark.parametrize("script", ["fish"], indirect=True)
@pytest.mark.parametrize(("words", "expected"), CASES)
def test_fish_completes(script: Path, words: tuple[str, ...], expected: list[str]) -> None:
    assert completed_by_fish(script, words) == expected


@pytest.mark.parametrize("script", ["bash"], indirect=True)
def test_bash_offers_files_that_may_stand_alone(script: Path) -> None:
    (script.parent / "trace one.db").touch()
    (script.parent / "trace.db").touch()

    found = completed_by_bash(script, ("trace",))

    assert found == sorted(["trace", "trace", "one.db", "trace.db"])


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(
    "words",
    [
        ("trace", "--", "python3", "--mod"),
        ("summary", "--rules", ""),
        ("summary", "tra"),
        ("no-such-command", "--x"),
    ],
)
def test_bash_leaves_the_rest_to_its_own_completion_of_files(
    script: Path, words: tuple[str, ...]
) -> None:
    assert completed_by_bash(script, words) == []


@pytest.mark.parametrize("script", list(SCRIPTS), indirect=True)
def test_the_shell_understands_the_script(script: Path) -> None:
    shell = script.suffix[1:]

    done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", list(SCRIPTS))
def test_every_name_and_option_is_in_the_script(run: Run, shell: str) -> None:
    script = run("completion", shell).out

    for entry in COMMANDS:
        for each in (entry, *entry.forms.values()):
            for name in (*each.aliases, *entry.name.split()):
                assert name in script
            for action in command_of(each).parser()._actions:
                for flag in action.option_strings:
                    spelled = flag.lstrip("-") if shell == "fish" else flag
                    assert spelled in script


def test_the_zsh_script_describes_options_without_breaking_their_syntax(run: Run) -> None:
    script = run("completion", "zsh").out

    assert script.startswith("#compdef wavescope\n")
    assert "'*--format[output format (default text); csv prints one table]" not in script
    assert (
        r"'*--format[output format \(default text\); csv prints one table]:value:"
        "(text markdown csv json)'" in script
    )


def test_a_script_is_reported_as_json(run: Run) -> None:
    facts = json.loads(run("completion", "bash", "--json").out)["facts"]

    assert facts == {"shell": "bash", "script": run("completion", "bash").out}


def test_only_shells_that_are_known_are_taken(run: Run) -> None:
    ran = run("completion", "tcsh")

    assert ran.code == 2
    assert "invalid choice: 'tcsh'" in ran.err
