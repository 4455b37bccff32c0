"""What is done to each item, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """A function that every worker can import, and what it is told beside the item.

    `function` is "package.module:name", a function (item: str, options: bytes) -> bytes. Items that
    are files are absolute paths: workers on other machines begin in another folder.
    """

    function: str
    options: bytes = b""

    def __post_init__(self) -> None:
        module, colon, name = self.function.partition(":")
        if not (module and colon and name):
            raise ValueError(f"'{self.function}' is not of the form package.module:name")


@dataclass(frozen=True)
class Outcome:
    """What came of one item: a value, or a sentence that says why there is none, and what to do.

    `details` is for those who debug wavescope: a traceback, or what a lost worker said last.
    """

    index: int
    item: str
    value: bytes | None
    problem: str
    attempts: int
    details: str = ""
    hint: str = ""
