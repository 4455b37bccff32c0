"""What the numbers of a call record stand for: functions and the kinds of their arguments."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from wavescope.formats.session.facts import Fact, text, words

_SIZE_MASK = (1 << 21) - 1


class ArgumentKind(enum.Enum):
    """How a stored argument is spelled."""

    NUMBER = "number"
    ADDRESS = "address"
    TEXT = "text"
    SIZES = "xyz"
    """Three sizes of 21 bits each."""

    def spelled(self, value: int, text_of: Callable[[int], str]) -> str | int:
        """The argument as JSON can hold it."""
        if self is ArgumentKind.ADDRESS:
            return f"{value:#x}"
        if self is ArgumentKind.TEXT:
            return text_of(value)
        if self is ArgumentKind.SIZES:
            return ",".join(str(value >> shift & _SIZE_MASK) for shift in (0, 21, 42))
        return value if value < 1 << 63 else value - (1 << 64)


@dataclass(frozen=True)
class Argument:
    """One kept argument."""

    name: str
    kind: ArgumentKind


@dataclass(frozen=True)
class CallFunction:
    """A function that is recorded: its group (launch, copy, ...) and kept arguments."""

    name: str
    kind: str
    arguments: tuple[Argument, ...]

    @property
    def launches_kernel(self) -> bool:
        """Whether it launches one kernel that it names."""
        return self.kind == "launch" and any(a.name == "kernel" for a in self.arguments)

    @property
    def graph_place(self) -> int | None:
        """Where a function that launches a graph keeps which one."""
        names = [argument.name for argument in self.arguments]
        return names.index("graph") if self.kind == "launch" and "graph" in names else None

    @property
    def is_asynchronous(self) -> bool:
        """Whether a copy returns before it is done, as far as its name tells."""
        return "Async" in self.name


def call_functions(facts: Mapping[int, Fact]) -> dict[int, CallFunction]:
    """The functions of a process by their index."""
    return {
        index: CallFunction(
            text(fact, "name") or f"function {index}",
            text(fact, "kind"),
            tuple(_argument(word) for word in words(fact, "arguments")[:6]),
        )
        for index, fact in facts.items()
        if index < 1 << 16
    }


def _argument(word: str) -> Argument:
    """`name` is a number, `name:kind` says what else it is."""
    name, _, kind = word.partition(":")
    known = {choice.value: choice for choice in ArgumentKind}
    return Argument(name, known.get(kind, ArgumentKind.NUMBER))
