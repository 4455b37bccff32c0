"""Prints a result on standard output in the format that was asked for."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, BinaryIO

from wavescope.cli.options import FOR_PEOPLE, OutputFormat, OutputOptions
from wavescope.cli.terminal import data_stream, say, terminal_width, wants_color
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.model.result import Result, ResultTable
    from wavescope.render.results.text import TextStyle


def print_result(result: Result, options: OutputOptions) -> None:
    """Print `result`: the tables and as many of their rows as `options` says."""
    result.tables = [_cut(table, options.rows) for table in _chosen(result, options)]
    if options.format is OutputFormat.JSON:
        from wavescope.render.results.json_text import write_json  # noqa: PLC0415  only what is asked for

        write_json(result, stdout_bytes())
    elif options.format is OutputFormat.CSV:
        _print_csv(result)
    elif options.format is OutputFormat.MARKDOWN:
        from wavescope.render.results.markdown import write_markdown  # noqa: PLC0415

        write_markdown(result, sys.stdout)
    else:
        from wavescope.render.results.text import write_text  # noqa: PLC0415

        write_text(result, sys.stdout, text_style())


def leave_out(result: Result, options: OutputOptions, details: Collection[str]) -> list[str]:
    """Take tables without rows and `details` out of what people read, unless they name tables.

    The names of the details left out come back, for `tell_left_out`.
    """
    if options.format not in FOR_PEOPLE or options.tables:
        return []
    filled = [table for table in result.tables if table.rows]
    result.tables = [table for table in filled if table.name not in details]
    return [table.name for table in filled if table.name in details]


def tell_left_out(names: Sequence[str], options: OutputOptions, *, quiet: bool) -> None:
    """Say how to see the tables that `leave_out` took out."""
    if names and options.format is OutputFormat.TEXT and not quiet:
        say(f"more with --table NAME: {', '.join(names)}")


def text_style() -> TextStyle:
    """The width and colours of the terminal that reads standard output."""
    from wavescope.render.results.text import TextStyle  # noqa: PLC0415

    return TextStyle(terminal_width(), wants_color(sys.stdout))


def stdout_bytes() -> BinaryIO:
    """Standard output for bytes, in order with what was printed before."""
    sys.stdout.flush()
    return sys.stdout.buffer


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
    from wavescope.render.results.csv_rows import write_csv  # noqa: PLC0415

    if not result.tables:
        raise UsageError("this result has no table", hint="use --json")
    first, *others = result.tables
    write_csv(first, data_stream())
    if others:
        names = ", ".join(table.name for table in others)
        say(f"printed table {first.name}; --table chooses another: {names}", label="note")
