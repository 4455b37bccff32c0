"""Writes the generated reference pages, or checks with --check that they are up to date.

docs/commands.md comes from the commands' own argument parsers, docs/trace-file.md from the
declaration of the tables in wavescope.model.columns.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from wavescope.cli.commands import COMMANDS, GROUPS, SHOWN_ALONE, CommandEntry, command_of
from wavescope.errors import EXIT_CODES
from wavescope.model.columns import TABLES, Table

DOCS = Path(__file__).resolve().parent.parent / "docs"
NOTICE = (
    "<!-- Written by tools/generate_docs.py (`make docs`): change the source, not this page. -->"
)


def pages() -> dict[str, str]:
    """File name -> content of every generated page."""
    return {"commands.md": commands_page(), "trace-file.md": trace_file_page()}


def commands_page() -> str:
    """The reference of all commands."""
    sections = [_command_section(entry) for entry in COMMANDS]
    return "\n\n".join([commands_overview().rstrip(), *sections]) + "\n"


def described_command(entry: CommandEntry) -> str:
    """The section of a command as a page of its own: its headings are a level higher."""
    lines = _command_section(entry).splitlines()
    raised = [line[1:] if line.startswith("##") else line for line in lines]
    return "\n".join([raised[0], "", NOTICE, *raised[1:]]) + "\n"


def commands_overview() -> str:
    """What all commands have in common, and the list of them."""
    parts = [
        "# Commands",
        NOTICE,
        COMMANDS_INTRODUCTION,
        *(_group_table(group, entries) for group, entries in GROUPS.items()),
        INPUTS_INTRODUCTION,
        _kinds_table(),
        _old_names(),
        _exit_codes(),
    ]
    return "\n\n".join(parts) + "\n"


COMMANDS_INTRODUCTION = """Data goes to standard output, talk to standard error. Every command has
`--help` with examples and `--json`. Inputs are never changed; outputs are never overwritten without
`--force`. `NO_COLOR` switches colours off, `WAVESCOPE_DEBUG=1` shows tracebacks.
[Installing](install.md) says how shells complete commands and options."""

INPUTS_INTRODUCTION = """## What the input is decides

Whether a path is a trace (a file or folder of any [known format](formats.md)), a capture of a
kernel (a folder or archive, [captures](captures.md)) or a folder of counters
([metrics](metrics.md)) is told by its content. `wavescope PATH` alone shows what it holds, and the
commands of this table take each of them with options of its own: `wavescope report PATH --help`
shows those for that path.
Every other command that gets something else than it reads names the command that reads it. A folder
that is several things is taken for counters, then for a capture, then for a trace; commands for one
kind, such as `wavescope summary`, are always about that kind."""


def _group_table(group: str, entries: Iterable[CommandEntry]) -> str:
    rows = [f"| [`{entry.name}`](#{_anchor(entry)}) | {entry.summary} |" for entry in entries]
    return "\n".join([f"| {group} | |", "|---|---|", *rows])


def _kinds_table() -> str:
    rows = [f"| `wavescope PATH` | {' | '.join(f'`{e.name}`' for e in SHOWN_ALONE.values())} |"]
    for entry in COMMANDS:
        if entry.forms:
            forms = [entry, *(entry.forms[kind] for kind in SHOWN_ALONE if kind in entry.forms)]
            rows.append(f"| `{entry.name}` | {' | '.join(form.summary for form in forms)} |")
    head = f"| | {' | '.join(f'a {kind.value}' for kind in SHOWN_ALONE)} |"
    return "\n".join([head, "|---" * (len(SHOWN_ALONE) + 1) + "|", *rows])


def _old_names() -> str:
    rows = [
        f"| `{alias}` | `{entry.name}`{of} |"
        for first in COMMANDS
        for of, entry in (("", first), *((f" of a {k.value}", f) for k, f in first.forms.items()))
        for alias in entry.aliases
    ]
    return "\n".join(
        ["Other names of commands keep working:", "", "| name | is |", "|---|---|", *rows]
    )


def _exit_codes() -> str:
    rows = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    return "\n".join(["## Exit codes", "", "| code | meaning |", "|---|---|", *rows])


def _anchor(entry: CommandEntry) -> str:
    return f"wavescope-{entry.name.replace(' ', '-')}"


def _command_section(entry: CommandEntry) -> str:
    """The section of a command, with one below it for each other kind of input."""
    lines = [f"## wavescope {entry.name}", "", *_described(entry)]
    for kind, form in entry.forms.items():
        lines += ["", f"### wavescope {entry.name} of a {kind.value}", ""]
        if kind in SHOWN_ALONE and form.module == SHOWN_ALONE[kind].module:
            shown = SHOWN_ALONE[kind]
            lines += [f"The same as [`wavescope {shown.name}`](#{_anchor(shown)}) of several."]
        else:
            lines += _described(form)
    return "\n".join(lines)


def _described(entry: CommandEntry) -> list[str]:
    command = command_of(entry)
    lines = [command.description]
    if entry.aliases:
        spelled = ", ".join(f"`wavescope {alias}`" for alias in entry.aliases)
        lines += ["", f"Also spelled {spelled}."]
    for group in command.parser()._action_groups:  # argparse has no public way to list them
        actions = [a for a in group._group_actions if "--help" not in a.option_strings]
        if actions:
            title = {"positional arguments": "arguments"}.get(str(group.title), group.title)
            lines += ["", f"**{title}**" + (f": {group.description}" if group.description else "")]
            lines += ["", *(_argument_line(action) for action in actions)]
    lines += ["", "**examples**", "", "```sh"]
    for example in command.examples:
        lines += [f"# {example.meaning}", example.line]
    return [*lines, "```"]


_DEPRECATED = "deprecated: taken with a warning that says what to use, and not listed by `--help`"


def _argument_line(action: argparse.Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    if action.choices:
        metavar = "{" + ",".join(str(choice) for choice in action.choices) + "}"
    names = action.option_strings or [metavar + ("..." if action.nargs == "+" else "")]
    spelled = ", ".join(f"`{name}`" for name in names)
    if action.option_strings and action.nargs != 0 and metavar:
        spelled += f" `{metavar}`"
    required = " (required)" if action.option_strings and action.required else ""
    meaning = _DEPRECATED if action.help == argparse.SUPPRESS else action.help or ""
    return f"- {spelled}{required}: {meaning.replace('%%', '%')}"


TRACE_FILE_INTRODUCTION = """A trace is one SQLite file in the rocpd dialect with extension tables
`wavescope_*`. In memory the same rows are the tables below: `wavescope.open(path).ops` and so on.
Times are integer nanoseconds, intervals are half-open. Unknown integers are NULL in the file and -1
in memory; `string` columns hold ids of `rocpd_string` in the file, and `.strings(name)` decodes
them."""


def trace_file_page() -> str:
    """The reference of the trace file's tables and of the same tables in memory."""
    parts = [
        "# The trace file",
        NOTICE,
        TRACE_FILE_INTRODUCTION,
    ]
    parts += [_table_section(table) for table in TABLES]
    return "\n\n".join(parts) + "\n"


def _table_section(table: Table) -> str:
    stored = ", ".join(f"`{name}` by `{key}`" for name, key in table.keys)
    rows = [
        f"| `{c.name}` | {c.type.label} | {c.unit} | {c.meaning.replace('|', chr(92) + '|')} "
        f"| `{c.stored_in}.{c.stored_as}` |"
        for c in table.columns
    ]
    head = ["| column | type | unit | meaning | in the file |", "|---|---|---|---|---|"]
    return "\n".join(
        [f"## {table.name}", "", table.meaning, f"Stored in {stored}.", "", *head, *rows]
    )


def stale_pages(folder: Path, wanted: dict[str, str]) -> list[str]:
    """Names of pages whose file differs from what it should be."""
    return [
        name
        for name, content in wanted.items()
        if not (folder / name).is_file() or (folder / name).read_text() != content
    ]


def main(arguments: Iterable[str]) -> int:
    """Write the pages, or with --check say which are stale."""
    stale = stale_pages(DOCS, pages())
    if "--check" in arguments:
        sys.stderr.writelines(f"docs/{name} is not up to date: run `make docs`\n" for name in stale)
        return 1 if stale else 0
    DOCS.mkdir(exist_ok=True)
    for name in stale:
        (DOCS / name).write_text(pages()[name])
    sys.stderr.writelines(f"wrote docs/{name}\n" for name in stale)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
