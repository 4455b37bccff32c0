"""Writes the generated reference pages, or checks with --check that they are up to date.

docs/commands.md comes from the commands' own argument parsers, docs/trace-file.md from the
declaration of the tables in wavescope.model.columns.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from wavescope.cli.command import Command
from wavescope.cli.main import COMMANDS, CommandEntry, command_of
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
    rows = [f"| [`{e.name}`](#wavescope-{e.name}) | {e.summary} |" for e in COMMANDS]
    parts = [
        "# Commands",
        NOTICE,
        COMMANDS_INTRODUCTION,
        "\n".join(["| command | what it does |", "|---|---|", *rows]),
        _exit_codes(),
    ]
    parts += [_command_section(entry, command_of(entry)) for entry in COMMANDS]
    return "\n\n".join(parts) + "\n"


COMMANDS_INTRODUCTION = """Data goes to standard output, talk to standard error. Every command has
`--help` with examples and `--json`. Inputs are never changed; outputs are never overwritten without
`--force`. `NO_COLOR` switches colours off, `WAVESCOPE_DEBUG=1` shows tracebacks."""


def _exit_codes() -> str:
    rows = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    return "\n".join(["## Exit codes", "", "| code | meaning |", "|---|---|", *rows])


def _command_section(entry: CommandEntry, command: Command) -> str:
    parser = command.parser()
    lines = [f"## wavescope {entry.name}", "", command.description]
    if entry.aliases:
        spelled = ", ".join(f"`wavescope {alias}`" for alias in entry.aliases)
        lines += ["", f"Also spelled {spelled}."]
    for group in parser._action_groups:  # argparse has no public way to list them
        actions = [a for a in group._group_actions if "--help" not in a.option_strings]
        if actions:
            title = {"positional arguments": "arguments"}.get(str(group.title), group.title)
            lines += ["", f"**{title}**" + (f": {group.description}" if group.description else "")]
            lines += ["", *(_argument_line(action) for action in actions)]
    lines += ["", "**examples**", "", "```sh"]
    for example in command.examples:
        lines += [f"# {example.meaning}", example.line]
    return "\n".join([*lines, "```"])


def _argument_line(action: argparse.Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    if action.choices:
        metavar = "{" + ",".join(str(choice) for choice in action.choices) + "}"
    names = action.option_strings or [metavar + ("..." if action.nargs == "+" else "")]
    spelled = ", ".join(f"`{name}`" for name in names)
    if action.option_strings and action.nargs != 0 and metavar:
        spelled += f" `{metavar}`"
    required = " (required)" if action.option_strings and action.required else ""
    return f"- {spelled}{required}: {(action.help or '').replace('%%', '%')}"


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
