"""What a command gives back: a result, printed in the format that was asked for."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from wavescope.cli.options import FOR_PEOPLE, OutputFormat, OutputOptions
from wavescope.cli.terminal import data_stream, print_json, say, terminal_width, wants_color
from wavescope.errors import UsageError
from wavescope.model.result import Result, ResultTable
from wavescope.render.results.text import TextStyle, write_text


def print_result(result: Result, options: OutputOptions) -> None:
    """Print `result`: the tables and as many of their rows as `options` says."""
    shown = result.with_only_tables(_cut(table, options.rows) for table in _chosen(result, options))
    if options.format is OutputFormat.JSON:
        print_json(shown)
    elif options.format is OutputFormat.CSV:
        _print_csv(shown, raw_text=options.raw_text)
    elif options.format is OutputFormat.MARKDOWN:
        from wavescope.render.results.markdown import write_markdown  # noqa: PLC0415  seldom asked

        write_markdown(shown, sys.stdout)
    else:
        write_text(shown, sys.stdout, text_style())


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


def _print_csv(result: Result, *, raw_text: bool) -> None:
    if not result.tables:
        raise UsageError("this result has no table", hint="use --json")
    from wavescope.render.results.csv_rows import write_csv  # noqa: PLC0415  seldom asked

    first, *others = result.tables
    write_csv(first, data_stream(), raw_text=raw_text)
    if others:
        names = ", ".join(table.name for table in others)
        say(f"printed table {first.name}; --table chooses another: {names}", label="note")
