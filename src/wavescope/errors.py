"""The error tree.

WavescopeError                 exit code 1
├── UsageError                 exit code 2   the command line asks for something that cannot be
│   └── OutputExistsError                    the output is there already, or is the input
├── UnreadableInputError       exit code 3   a trace, folder or rule file cannot be read
│   └── UnknownFormatError                   readable, but no importer knows it
└── MachineError               exit code 4   this machine lacks a tool, a permission, space

A message names the thing, a hint the next step. Only `cli.main` turns an error into an exit code.
"""

from __future__ import annotations

import os


class WavescopeError(Exception):
    """Anything wavescope tells a user instead of showing a traceback."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(WavescopeError):
    """The request itself is wrong: an unknown option value, an impossible combination."""

    exit_code = 2


class OutputExistsError(UsageError):
    """Writing would overwrite a file; nothing has been changed."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(
            f"{os.fspath(path)} already exists", hint="choose another -o, or add --force"
        )


class UnreadableInputError(WavescopeError):
    """An input cannot be read; `reason` is a short clause such as 'the file is empty'."""

    exit_code = 3

    def __init__(self, path: str | os.PathLike[str], reason: str, *, hint: str = "") -> None:
        super().__init__(f"cannot read {os.fspath(path)}: {reason}", hint=hint)
        self.path = os.fspath(path)
        self.reason = reason


class UnknownFormatError(UnreadableInputError):
    """The input is readable, but its content matches no importer."""


class MachineError(WavescopeError):
    """This machine lacks something: a tool, a library, a permission, disk space."""

    exit_code = 4
