"""`wavescope completion`: scripts that let a shell complete commands, options and their values."""

from __future__ import annotations

import argparse
import sys

from wavescope.cli.command import Command, Example
from wavescope.cli.completion_scripts import SCRIPTS
from wavescope.cli.completion_words import completed_commands
from wavescope.cli.options import add_json_flag
from wavescope.cli.terminal import print_json
from wavescope.model.result import Result


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=tuple(SCRIPTS), help="your shell")
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    script = SCRIPTS[arguments.shell](completed_commands())
    if arguments.json:
        print_json(Result("Completion").with_facts({"shell": arguments.shell, "script": script}))
    else:
        sys.stdout.write(script)
    return 0


COMMAND = Command(
    "completion",
    "Print a script that lets a shell complete commands, options, their values and files. The "
    "script is plain text: pressing TAB does not start wavescope. Print it again after an update.",
    (
        Example(
            "wavescope completion bash > ~/.local/share/bash-completion/completions/wavescope",
            "for bash, from the next shell on",
        ),
        Example(
            "wavescope completion zsh > ~/.zfunc/_wavescope",
            "for zsh, with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc",
        ),
        Example(
            "wavescope completion fish > ~/.config/fish/completions/wavescope.fish",
            "for fish, from the next shell on",
        ),
    ),
    _add_arguments,
    _run,
)
