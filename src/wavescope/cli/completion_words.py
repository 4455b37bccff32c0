"""What can be completed, taken from the commands' own parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass

from wavescope.cli.commands import COMMANDS, CommandEntry, command_of


@dataclass(frozen=True)
class CompletedOption:
    """An option: its spellings, whether a value follows, and the values there are."""

    names: tuple[str, ...]
    takes_value: bool
    values: tuple[str, ...]
    meaning: str


@dataclass(frozen=True)
class CompletedCommand:
    """A command by one of its names; `words` are what may stand where no option does."""

    name: str
    meaning: str
    options: tuple[CompletedOption, ...]
    words: tuple[str, ...]

    @property
    def first_word(self) -> str:
        """The name, or the first word of a name of two."""
        return self.name.partition(" ")[0]

    @property
    def second_word(self) -> str:
        """The second word of a name of two, else nothing."""
        return self.name.partition(" ")[2]


def completed_commands() -> list[CompletedCommand]:
    """Every command by each of its names; the second of two words is a word of the first's."""
    found = []
    for entry in COMMANDS:
        found += [_completed(name, entry) for name in entry.names]
        found += [_completed(name, form) for form in entry.forms.values() for name in form.aliases]
    return found


def _completed(name: str, entry: CommandEntry) -> CompletedCommand:
    """Options of all kinds of input: which one is meant is known when a path is there."""
    parsers = [command_of(each).parser() for each in (entry, *entry.forms.values())]
    actions = [action for parser in parsers for action in parser._actions]
    words = [word for action in actions if not action.option_strings for word in _values(action)]
    words += [each.name.split()[1] for each in COMMANDS if each.name.startswith(f"{name} ")]
    return CompletedCommand(name, entry.summary, tuple(_options(actions)), tuple(words))


def _options(actions: Iterable[argparse.Action]) -> Iterable[CompletedOption]:
    seen: set[str] = set()
    for action in actions:
        names = tuple(name for name in action.option_strings if name not in seen)
        seen.update(names)
        if names:
            # A value that may be left out is written behind "=" and not as a word of its own.
            takes_value = action.nargs not in {0, "?"}
            yield CompletedOption(
                names, takes_value, _values(action), (action.help or "").replace("%%", "%")
            )


def _values(action: argparse.Action) -> tuple[str, ...]:
    return tuple(str(choice) for choice in action.choices or ())
