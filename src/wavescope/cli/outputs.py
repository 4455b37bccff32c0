"""What a command gives back: a result printed as was asked for, or a file and the next step."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import BinaryIO

from wavescope.cli.options import FOR_PEOPLE, OutputFormat, OutputOptions
from wavescope.cli.terminal import data_stream, say, terminal_width, wants_color
from wavescope.errors import UsageError
from wavescope.model.paths import bytes_at
from wavescope.model.result import Result, ResultTable
from wavescope.render.results.csv_rows import write_csv
from wavescope.render.results.markdown import write_markdown
from wavescope.render.results.text import TextStyle, write_text
from wavescope.units import bytes_text

_NEXT = {
    "wavescope": "wavescope summary {path}",
    "perfetto": "open it at https://ui.perfetto.dev",
    "chrome-json": "open it at https://ui.perfetto.dev",
    "html": "open it in a browser",
}


def print_result(result: Result, options: OutputOptions) -> None:
    """Print `result`: the tables and as many of their rows as `options` says."""
    shown = result.with_only_tables(_cut(table, options.rows) for table in _chosen(result, options))
    if options.format is OutputFormat.JSON:
        print_json(shown)
    elif options.format is OutputFormat.CSV:
        _print_csv(shown)
    elif options.format is OutputFormat.MARKDOWN:
        write_markdown(shown, sys.stdout)
    else:
        write_text(shown, sys.stdout, text_style())


def print_json(result: Result) -> None:
    """Print all of `result` as JSON."""
    from wavescope.render.results.json_text import write_json  # noqa: PLC0415  orjson, for --json only

    write_json(result, stdout_bytes())


def without_details(
    result: Result, options: OutputOptions, details: Collection[str]
) -> tuple[Result, list[str]]:
    """The result as people read it, and the names of `details` it has no room for.

    Tables without rows are left out, too. Who names tables, or wants a file, gets everything.
    """
    if options.format not in FOR_PEOPLE or options.tables:
        return result, []
    filled = [table for table in result.tables if table.rows]
    kept = [table for table in filled if table.name not in details]
    return result.with_only_tables(kept), [t.name for t in filled if t.name in details]


def tell_left_out(names: Sequence[str], options: OutputOptions, *, quiet: bool) -> None:
    """Say how to see the tables that `without_details` took out."""
    if names and options.format is OutputFormat.TEXT and not quiet:
        say(f"more with --table NAME: {', '.join(names)}")


def text_style() -> TextStyle:
    """The width and colours of the terminal that reads standard output."""
    return TextStyle(terminal_width(), wants_color(sys.stdout))


def stdout_bytes() -> BinaryIO:
    """Standard output for bytes, in order with what was printed before."""
    sys.stdout.flush()
    return sys.stdout.buffer


def tell_written(path: Path, format_name: str, arguments: argparse.Namespace) -> None:
    """Name the file on standard error with the next step; as JSON on standard output if asked."""
    if arguments.json:
        print_json(
            Result("Written").with_facts(
                {"path": str(path), "format": format_name, "size_bytes": bytes_at(path)}
            )
        )
    if not arguments.quiet:
        tell_file(path, format_name)


def tell_file(path: Path, format_name: str) -> None:
    """Name the file on standard error with the next step."""
    say(f"wrote {path} ({format_name}, {bytes_text(bytes_at(path))})")
    if format_name in _NEXT:
        say(f"next: {_NEXT[format_name].format(path=shlex.quote(str(path)))}")


def _chosen(result: Result, options: OutputOptions) -> list[ResultTable]:
    names = [table.name for table in result.tables]
    for name in options.tables:
        if name not in names:
            raise UsageError(
                f"there is no table '{name}' in this result",
                hint=f"there are: {', '.join(names) or 'none'}",
            )
    return [table for table in result.tables if not options.tables or table.name in options.tables]


def _cut(table: ResultTable, rows: int) -> ResultTable:
    is_cut = rows and len(table.rows) > rows and not table.is_whole
    return table.head(rows) if is_cut else table


def _print_csv(result: Result) -> None:
    if not result.tables:
        raise UsageError("this result has no table", hint="use --json")
    first, *others = result.tables
    write_csv(first, data_stream())
    if others:
        names = ", ".join(table.name for table in others)
        say(f"printed table {first.name}; --table chooses another: {names}", label="note")
