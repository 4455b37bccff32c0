"""What a command's module offers to `cli.main`: a `COMMAND` that names its arguments and runs."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from wavescope.errors import UsageError

_HELP_WIDTH = 80


@dataclass(frozen=True)
class Example:
    """A command line that works as printed, and what it does."""

    line: str
    meaning: str


@dataclass(frozen=True)
class Command:
    """One verb of the command line; `run` returns the exit code."""

    name: str
    description: str
    examples: tuple[Example, ...]
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]

    def parser(self) -> argparse.ArgumentParser:
        """The argument parser of `wavescope NAME`."""
        parser = CommandParser(
            prog=f"wavescope {self.name}",
            description=textwrap.fill(self.description, _HELP_WIDTH),
            epilog=_examples_text(self.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.add_arguments(parser)
        return parser


class CommandParser(argparse.ArgumentParser):
    """Reports wrong arguments as a `UsageError` instead of exiting by itself."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"`{self.prog} --help` shows the arguments and examples")


def _examples_text(examples: tuple[Example, ...]) -> str:
    lines = ["examples:"]
    for example in examples:
        lines += [f"  {example.line}", f"      {example.meaning}"]
    return "\n".join(lines)
