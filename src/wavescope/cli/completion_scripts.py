"""Completion scripts of bash, zsh and fish: static text, so that TAB never starts Python."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from wavescope.cli.completion_words import CompletedCommand, CompletedOption

_MEANING_WIDTH = 60


def bash_script(commands: Sequence[CompletedCommand]) -> str:
    """A function for `complete -F`; files are completed where nothing else is known."""
    names = " ".join(command.name for command in commands if not command.second_word)
    joins = [
        f"    [[ $command == {command.first_word} && ${{COMP_WORDS[2]}} == {command.second_word} "
        f'&& $COMP_CWORD -gt 2 ]] && command="{command.name}"'
        for command in commands
        if command.second_word
    ]
    return _text(
        _head("bash"),
        "_wavescope() {",
        '    local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        '    local command="${COMP_WORDS[1]}" options="" words="" word',
        "    COMPREPLY=()",
        "    if [[ $COMP_CWORD -eq 1 ]]; then",
        "        # Files, too: a trace, a capture or counters may stand alone.",
        "        compopt -o filenames 2>/dev/null",
        "        mapfile -t COMPREPLY < <(",
        f'            compgen -W "{names} --help --version" -- "$current"',
        '            [[ -n $current ]] && compgen -f -- "$current"',
        "        )",
        "        return",
        "    fi",
        "    # What follows -- is the program to run and its arguments.",
        '    for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do',
        '        [[ $word == "--" ]] && return',
        "    done",
        *joins,
        '    case "$command" in',
        *(line for command in commands for line in _bash_case(command)),
        "    esac",
        '    if [[ $current == -* ]]; then words="$options"; fi',
        '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")',
        "}",
        "complete -o default -o bashdefault -F _wavescope wavescope",
    )


def _bash_case(command: CompletedCommand) -> list[str]:
    names = [name for option in command.options for name in option.names]
    lines = [f"        {shlex.quote(command.name)})", f'            options="{" ".join(names)}"']
    if command.words:
        lines.append(f'            words="{" ".join(command.words)}"')
    valued = [option for option in command.options if option.takes_value]
    free = [name for option in valued if not option.values for name in option.names]
    chosen = [
        f"                {'|'.join(option.names)}) mapfile -t COMPREPLY < <("
        f'compgen -W "{" ".join(option.values)}" -- "$current"); return ;;'
        for option in valued
        if option.values
    ]
    if free:
        chosen.append(f"                {'|'.join(free)}) return ;;")
    if chosen:
        lines += ['            case "$before" in', *chosen, "            esac"]
    return [*lines, "            ;;"]


def zsh_script(commands: Sequence[CompletedCommand]) -> str:
    """A `#compdef` function that calls `_arguments` with the specifications of the command."""
    described = [
        f"        {shlex.quote(f'{command.name}:{_short(command.meaning)}')}"
        for command in commands
        if not command.second_word
    ]
    joins = [
        f"    [[ $command == {command.first_word} && $words[3] == {command.second_word} ]] && "
        f'(( CURRENT > 3 )) && command="{command.name}" skipped=2'
        for command in commands
        if command.second_word
    ]
    return _text(
        "#compdef wavescope",
        _head("zsh"),
        "_wavescope() {",
        "    local command=$words[2] skipped=1",
        "    local -a commands",
        "    commands=(",
        *described,
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "        _files",
        "        return",
        "    fi",
        *joins,
        "    shift $skipped words",
        "    (( CURRENT -= skipped ))",
        '    case "$command" in',
        *(line for command in commands for line in _zsh_case(command)),
        "        *) _files ;;",
        "    esac",
        "}",
        "if [[ $funcstack[1] == _wavescope ]]; then",
        '    _wavescope "$@"',
        "else",
        "    compdef _wavescope wavescope",
        "fi",
    )


def _zsh_case(command: CompletedCommand) -> list[str]:
    specs = [_zsh_option(name, option) for option in command.options for name in option.names]
    if command.words:
        words = " ".join(map(_zsh_plain, command.words))
        specs.append(f'*:word: _alternative "words:word:({words})" "files:file:_files"')
    else:
        specs.append("*:file:_files")
    quoted = " \\\n                ".join(map(shlex.quote, specs))
    return [f"        {shlex.quote(command.name)}) _arguments -S \\\n                {quoted} ;;"]


def _zsh_option(name: str, option: CompletedOption) -> str:
    """As in `*--format[how to print]:value:(text json)`; an option may be given again."""
    spec = f"*{name}[{_zsh_plain(_short(option.meaning))}]"
    if not option.takes_value:
        return spec
    values = f"({' '.join(map(_zsh_plain, option.values))})" if option.values else "_files"
    return f"{spec}:value:{values}"


def _zsh_plain(text: str) -> str:
    return re.sub(r"([\\\[\]:()])", r"\\\1", text)


def fish_script(commands: Sequence[CompletedCommand]) -> str:
    """`complete` lines, each on condition that its command stands first."""
    lines = []
    for command in commands:
        if not command.second_word:
            start = f"complete -c wavescope -n __wavescope_begins -a {command.name}"
            lines.append(f"{start} -d {_fish_quoted(_short(command.meaning))}")
        start = f"complete -c wavescope -n '__wavescope_is {command.name}'"
        lines += [f"{start} {_fish_option(option)}" for option in command.options]
        if command.words:
            lines.append(f"{start} -a {_fish_quoted(' '.join(command.words))}")
    doubles = " ".join(_fish_quoted(each.name) for each in commands if each.second_word)
    return _text(
        _head("fish"),
        "function __wavescope_begins",
        "    test (count (commandline -opc)) -eq 1",
        "end",
        "function __wavescope_is",
        "    set -l words (commandline -opc)",
        "    set -l name $words[2]",
        f'    contains -- "$words[2..3]" {doubles}; and set name "$words[2..3]"',
        '    test "$name" = "$argv"',
        "end",
        *lines,
    )


def _fish_option(option: CompletedOption) -> str:
    parts = []
    for name in option.names:
        word = name.lstrip("-")
        flag = "-l" if name.startswith("--") else "-s" if len(word) == 1 else "-o"
        parts.append(f"{flag} {word}")
    if option.values:
        parts.append(f"-x -a {_fish_quoted(' '.join(option.values))}")
    elif option.takes_value:
        parts.append("-r")
    return " ".join([*parts, "-d", _fish_quoted(_short(option.meaning))])


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _head(name: str) -> str:
    return f"# Written by `wavescope completion {name}`; print it again after an update."


def _short(meaning: str) -> str:
    """The beginning of what an option means, on one line."""
    line = " ".join(meaning.split())
    return line if len(line) <= _MEANING_WIDTH else line[: _MEANING_WIDTH - 3].rstrip() + "..."


def _text(*lines: str) -> str:
    return "\n".join(lines) + "\n"


SCRIPTS: Mapping[str, Callable[[Sequence[CompletedCommand]], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}
