"""The commands of the examples' scripts and of docs/engines.md exist with their options."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from wavescope.cli.commands import command_of, entry_for, split_name
from wavescope.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "examples").glob("*.sh"))
ENGINES = ROOT / "docs" / "engines.md"
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def wavescope_commands(script: str) -> Iterator[list[str]]:
    """The arguments of each call of wavescope in a shell script."""
    for line in script.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        command: list[str] = []
        for word in [*words, ";"]:
            if set(word) <= set("();<>|&"):
                if "wavescope" in command:
                    yield command[command.index("wavescope") + 1 :]
                command = []
            else:
                command.append(word)


def require_valid(arguments: list[str]) -> None:
    """UsageError when there is no such command or option."""
    name, rest = split_name(arguments)
    parser = command_of(entry_for(name)).parser()
    # A process id is a number; in scripts it is a variable.
    numbers = ["1" if word in {"$recorder", "$!", "PID"} else word for word in rest]
    values = ["5" if word.startswith("$") else word for word in numbers]
    parser.parse_args(values)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_use_commands_that_exist(script: Path) -> None:
    commands = list(wavescope_commands(script.read_text()))

    assert any(command[0] == "trace" for command in commands)
    for command in commands:
        require_valid(command)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_are_clean(script: Path) -> None:
    assert script.stat().st_mode & 0o111, "not executable"
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_servers_are_recorded_between_start_and_stop() -> None:
    for name in ("record_vllm", "record_sglang"):
        commands = list(wavescope_commands((ROOT / "examples" / f"{name}.sh").read_text()))
        assert [command[0] for command in commands][:3] == ["trace", "resume", "pause"]
        assert "--start-paused" in commands[0]


def test_the_page_on_engines_shows_commands_that_exist() -> None:
    blocks = SHELL_BLOCK.findall(ENGINES.read_text())
    commands = [command for block in blocks for command in wavescope_commands(block)]

    assert len(commands) > 10
    for command in commands:
        require_valid(command)


def test_a_command_that_does_not_exist_is_found_out() -> None:
    for line in ("wavescope trace --no-such-option ./app", "srun wavescope record ./app"):
        (command,) = wavescope_commands(line)
        with pytest.raises(UsageError):
            require_valid(command)
