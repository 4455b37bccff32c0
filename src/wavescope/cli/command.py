"""What a command's module offers to `cli.main`: a `COMMAND` that names its arguments and runs."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn

from wavescope.cli.inputs import PACKABLE
from wavescope.cli.options import add_unpacking_flag
from wavescope.errors import UsageError

_HELP_WIDTH = 80


class Example(NamedTuple):
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
    more_help: str = ""
    """What the help says behind the examples."""
    computes: bool = True
    """Whether it works with arrays; importing NumPy takes longer than what others do."""

    def with_more_help(self, text: str) -> Command:
        """The same command with `text` at the end of its help."""
        return replace(self, more_help=text)

    def parser(self, name: str = "") -> argparse.ArgumentParser:
        """The argument parser of `wavescope NAME`; `name` is what it was called this time."""
        parser = CommandParser(
            prog=f"wavescope {name or self.name}",
            description=textwrap.fill(self.description, _HELP_WIDTH),
            epilog="\n\n".join(filter(None, (_examples_text(self.examples), self.more_help))),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.add_arguments(parser)
        if any(action.type in PACKABLE for action in parser._actions if action.type):
            add_unpacking_flag(parser)
        return parser


class CommandParser(argparse.ArgumentParser):
    """Reports wrong arguments as a `UsageError` instead of exiting by itself.

    An option with an optional value takes it after `=` only: in `trace --softgpu python3 x.py` the
    program is not the option's value. Where values are words of a list, one of them may follow.
    """

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """The values that `args` (the process's own by default) give."""
        given = list(sys.argv[1:] if args is None else args)
        return super().parse_args(self._with_explicit_values(given), namespace)

    def _with_explicit_values(self, arguments: list[str]) -> list[str]:
        """`arguments` with `--option` as `--option=` where its value is optional."""
        result = list(arguments)
        at = 0
        while at < len(result) and result[at].startswith("-") and result[at] not in {"-", "--"}:
            action = self._option_string_actions.get(result[at])
            if action is not None and action.nargs == "?":
                follows = action.choices is not None and result[at + 1 : at + 2]
                if follows and follows[0] in (action.choices or ()):
                    result[at] += f"={result.pop(at + 1)}"
                else:
                    result[at] += f"={action.const if action.choices else ''}"
            takes_next = action is not None and action.nargs is None
            at += 2 if takes_next else 1
        return result

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """As the base, of which some versions make a list of the value in `--option=--`."""
        if action.option_strings and arg_strings == ["--"]:
            self.error(f"argument {action.option_strings[-1]}: '--' is no value")
        return super()._get_values(action, arg_strings)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"`{self.prog} --help` shows the arguments and examples")


def _examples_text(examples: tuple[Example, ...]) -> str:
    lines = ["examples:"]
    for example in examples:
        lines += [f"  {example.line}", f"      {example.meaning}"]
    return "\n".join(lines)
