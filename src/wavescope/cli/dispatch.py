"""Which command a command line means: by its name, and by what the input it names holds."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import wavescope
from wavescope.cli.command import Command, CommandParser
from wavescope.cli.commands import (
    SHOWN_ALONE,
    CommandEntry,
    command_of,
    entry_for,
    nearest_command,
    split_name,
)
from wavescope.cli.inputs import (
    CAPTURE,
    COUNTER_FILE,
    COUNTER_FOLDER,
    TRACE,
    GivenInput,
)
from wavescope.cli.options import add_unpacking_flag
from wavescope.errors import UnreadableInputError, UsageError, WavescopeError
from wavescope.model.paths import InputKind
from wavescope.process import import_numpy
from wavescope.unpacking import unpacking_limited

_READS = {
    TRACE.kind: {InputKind.TRACE},
    CAPTURE.kind: {InputKind.CAPTURE},
    COUNTER_FOLDER.kind: {InputKind.COUNTERS},
    COUNTER_FILE.kind: {InputKind.COUNTERS, InputKind.TRACE},
}
"""What can be read where a command asks for an input of a kind."""
_WORDS = {InputKind.CAPTURE: "CAPTURE", InputKind.COUNTERS: "COUNTERS"}


@dataclass(frozen=True)
class Invocation:
    """A command that was found, what it was called, and its arguments."""

    command: Command
    name: str
    arguments: list[str]

    def parser(self) -> argparse.ArgumentParser:
        """The parser of the command as it was called."""
        return self.command.parser(self.name)


def invocation(words: Sequence[str]) -> Invocation:
    """The command that `words` mean; an error names the nearest, or what cannot be read."""
    name, arguments = split_name(words)
    try:
        entry = entry_for(name)
    except UsageError:
        if not _looks_like_a_path(name):
            raise
        import_numpy()
        with unpacking_limited(_given_limit(arguments)):
            entry = SHOWN_ALONE[wavescope.kind_of(name)]
        return Invocation(command_of(entry), entry.name, list(words))
    return Invocation(_command_for(entry, arguments), name, arguments)


def _given_limit(arguments: Sequence[str]) -> int | None:
    """What --max-unpacked says; to tell what an input is, it may have to be unpacked."""
    parser = CommandParser(prog="wavescope", add_help=False, allow_abbrev=False)
    add_unpacking_flag(parser)
    limit: int | None = parser.parse_known_args(list(arguments))[0].max_unpacked
    return limit


def _looks_like_a_path(word: str) -> bool:
    return os.path.lexists(word) or os.sep in word or "." in word


def _command_for(entry: CommandEntry, arguments: Sequence[str]) -> Command:
    """The command that reads what the first input is; for most there is but one."""
    command = command_of(entry)
    if not entry.forms:
        return command
    others = {kind: command_of(form) for kind, form in entry.forms.items()}
    path = first_positional(arguments, [each.parser() for each in (command, *others.values())])
    with unpacking_limited(_given_limit(arguments)):
        kind = _known_kind(path) if path is not None and os.path.lexists(path) else None
    if path is None or kind is None:
        return command.with_more_help(_forms_text(entry))
    chosen = others.get(kind, command)
    stranger = _foreign_option(arguments, chosen, [command, *others.values()])
    if stranger:
        raise UsageError(
            f"{stranger} cannot be used here: {path} is a {kind.value}",
            hint=f"`wavescope {entry.name} {shlex.quote(path)} --help` shows its options",
        )
    return chosen


def first_positional(
    arguments: Sequence[str], parsers: Iterable[argparse.ArgumentParser]
) -> str | None:
    """The first word that is neither an option nor the value of one, by any of the parsers."""
    options = {
        name: action for parser in parsers for name, action in parser._option_string_actions.items()
    }
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if not word.startswith("-") or word == "-":
            return word
        action = options.get(word)
        at += 1
        if action is None or action.nargs in {0, "?"}:
            continue
        if action.nargs is None:
            at += 1
            continue
        while at < len(arguments) and not arguments[at].startswith("-"):
            at += 1
    return None


def _known_kind(path: str) -> InputKind | None:
    """What `path` is; None where it cannot be read, which the command says in its own words."""
    import_numpy()
    try:
        return wavescope.kind_of(path)
    except (WavescopeError, OSError):
        return None


def _foreign_option(
    arguments: Sequence[str], chosen: Command, all_forms: Iterable[Command]
) -> str | None:
    """The first option that only inputs of another kind have."""
    own = chosen.parser()._option_string_actions
    known = {name for each in all_forms for name in each.parser()._option_string_actions}
    names = (word.partition("=")[0] for word in arguments)
    return next((name for name in names if name in known and name not in own), None)


def _forms_text(entry: CommandEntry) -> str:
    lines = ["other inputs, recognised by their content:"]
    for kind, form in entry.forms.items():
        also = f"; also `wavescope {form.aliases[0]} --help`" if form.aliases else ""
        lines += [
            f"  wavescope {entry.name} {_WORDS[kind]} --help",
            f"      of a {kind.value}: {form.summary}{also}",
        ]
    return "\n".join(lines)


def with_right_command(
    error: WavescopeError, words: Sequence[str], inputs: Iterable[GivenInput]
) -> WavescopeError:
    """The error with a hint at the command that reads the input, where another one does."""
    if not isinstance(error, UnreadableInputError):
        return error
    for given in inputs:
        if given.path != error.path or given.kind not in _READS:
            continue
        kind = _known_kind(given.path)
        if kind is not None and kind not in _READS[given.kind]:
            name = nearest_command(split_name(words)[0], kind)
            error.hint = f"it is a {kind.value}: use `wavescope {name} {shlex.quote(given.path)}`"
    return error
