"""The commands that pages and the examples' scripts show exist with their options."""

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
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHELLS = {"", "sh", "console"}
COMMAND_LINE = re.compile(
    r"""^(?:    )?(?:\$ )?((?:\w+ -n \d+ )?wavescope (?:[^"\n]|"[^"]*")*)$""", re.MULTILINE
)


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


OTHER_TOOLS = (
    "trace -o trace.db python3 my_model.py",
    "trace python3 my_model.py",
    "summary trace.db",
    "export trace.db",
    "convert trace.db -o trace.json",
    "profile --name vcopy -- ./vcopy -n 1048576 -b 256",
    "profile --name vcopy -b 11.1.1 12.1.1 -- ./vcopy -n 1048576 -b 256",
    "profile --name vcopy -k vecCopy -- ./vcopy -n 1048576 -b 256",
    "profile --name vcopy -d 0 -- ./vcopy -n 1048576 -b 256",
    "profile --name vcopy --set compute_thruput_util -- ./vcopy -n 1048576 -b 256",
    "profile --name vcopy --iteration-multiplexing kernel -- ./vcopy -i 20 -n 1048576 -b 256",
    "profile --name occupancy --roof-only -- ./tests/occupancy -n 1048576 -b 256",
    "profile --name mnist --torch-trace -b 11 12 -- python train.py",
    "profile --output-directory out/%hostname%/%rank% -- ./laplace_eqn -n 1048576 -b 256",
    "profile --list-available-metrics",
    "profile --list-sets",
    "analyze -p workloads/vcopy/MI200 --list-stats",
    "analyze -p workloads/vcopy/MI200 -k 0 -d 1 -b 2 -n per_wave",
    "analyze --path before --path after",
    "hotspots ui_output_agent_1_dispatch_3 --topk 5 --mode src --detail --context 4",
)
"""What people know from the tools that wavescope takes the place of."""


@pytest.mark.parametrize("line", OTHER_TOOLS)
def test_command_lines_of_other_tools_are_understood(line: str) -> None:
    require_valid(line.split())


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


def shown_commands(page: Path) -> list[list[str]]:
    """The arguments of each command line in the blocks of a page, fenced or indented."""
    text = page.read_text(encoding="utf-8")
    fenced = [block for kind, block in BLOCK.findall(text) if kind in SHELLS]
    indented = re.findall(r"^    .*$", BLOCK.sub("", text), re.M)
    lines = COMMAND_LINE.findall("\n".join([*fenced, *indented]).replace("\\\n", " "))
    return [command for line in lines for command in wavescope_commands(line.replace("\n", " "))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_show_commands_that_exist_by_their_present_names(page: Path) -> None:
    for command in shown_commands(page):
        require_valid(command)
        # The reference shows examples of its own, in the words of each command's help.
        name, _ = split_name(command)
        assert page.name == "commands.md" or name == entry_for(name).name


def test_commands_are_found_in_every_kind_of_block(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```\nwavescope info a.db  # a word\n```\n"
        "```sh\nmpirun -n 4 wavescope trace \\\n    -o b.db ./app\n```\n"
        "```python\nwavescope.open\n```\n"
        "    $ wavescope steps c.db\n"
    )

    assert shown_commands(page) == [
        ["info", "a.db"],
        ["trace", "-o", "b.db", "./app"],
        ["steps", "c.db"],
    ]


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
