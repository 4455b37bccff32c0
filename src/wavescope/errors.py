"""The error tree, and every exit code.

WavescopeError                 exit code 1
├── UsageError                 exit code 2   the command line asks for something that cannot be
│   └── OutputExistsError                    the output is there already, or is the input
├── UnreadableInputError       exit code 3   a trace, folder or rule file cannot be read
│   └── UnknownFormatError                   readable, but no importer knows it
└── MachineError               exit code 4   this machine lacks a tool, a permission, space

A message names the thing, a hint the next step. Only `cli.main` turns an error into an exit code.
Commands that check something end with EXIT_CHECK_FAILED or EXIT_INCONCLUSIVE without an error.
"""

from __future__ import annotations

import os

EXIT_OK = 0
EXIT_CHECK_FAILED = 1
EXIT_USAGE = 2
EXIT_UNREADABLE_INPUT = 3
EXIT_MACHINE = 4
EXIT_INCONCLUSIVE = 5
EXIT_BUG = 70
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141

EXIT_CODES = {
    EXIT_OK: "it worked",
    EXIT_CHECK_FAILED: "a check failed",
    EXIT_USAGE: "the command line asks for something that cannot be",
    EXIT_UNREADABLE_INPUT: "an input cannot be read",
    EXIT_MACHINE: "this machine lacks something: a tool, a permission, space, memory",
    EXIT_INCONCLUSIVE: "a check is inconclusive: it needs more or quieter runs",
    EXIT_BUG: "a bug in wavescope",
    EXIT_INTERRUPTED: "interrupted with Ctrl-C",
    EXIT_BROKEN_PIPE: "the reader of the output went away",
}
"""What each exit code means, for docs/commands.md."""


class WavescopeError(Exception):
    """Anything wavescope tells a user instead of showing a traceback."""

    exit_code = EXIT_CHECK_FAILED

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(WavescopeError):
    """The request itself is wrong: an unknown option value, an impossible combination."""

    exit_code = EXIT_USAGE


class OutputExistsError(UsageError):
    """Writing would overwrite a file; nothing has been changed.

    `meanwhile`: it was not there when the command began.
    """

    def __init__(self, path: str | os.PathLike[str], *, meanwhile: bool = False) -> None:
        who = ": another process wrote it meanwhile" if meanwhile else ""
        super().__init__(
            f"{os.fspath(path)} already exists{who}", hint="choose another -o, or add --force"
        )


class UnreadableInputError(WavescopeError):
    """An input cannot be read; `reason` is a short clause such as 'the file is empty'."""

    exit_code = EXIT_UNREADABLE_INPUT

    def __init__(self, path: str | os.PathLike[str], reason: str, *, hint: str = "") -> None:
        if "no such file" in reason.lower() and _is_missing(os.fspath(path)):
            hint = hint or _CHECK_THE_NAME
        super().__init__(f"cannot read {os.fspath(path)}: {reason}", hint=hint)
        self.path = os.fspath(path)
        self.reason = reason


_CHECK_THE_NAME = "check the name; relative paths begin at the current folder"


def _is_missing(path: str) -> bool:
    """Whether nothing is there; a file inside of an archive, after a colon, is another matter."""
    return ":" not in path and not os.path.lexists(path)


class UnknownFormatError(UnreadableInputError):
    """The input is readable, but its content matches no importer."""


class MachineError(WavescopeError):
    """This machine lacks something: a tool, a library, a permission, disk space."""

    exit_code = EXIT_MACHINE
