"""`wavescope query`: SQL on any trace, read-only."""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_trace_argument, opened_source, tell_notes
from wavescope.cli.options import OutputFormat, add_quiet_flag, add_rows_flag, output_format
from wavescope.cli.progress import Progress
from wavescope.cli.query_output import write_query

_FORMATS = ("table", *(choice.value for choice in OutputFormat))


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_trace_argument(parser)
    parser.add_argument("sql", metavar="SQL", help="one SELECT statement; - reads it from stdin")
    add_rows_flag(parser, "at most N rows (default all)", default=0)
    parser.add_argument("--format", choices=_FORMATS, help="how to print the rows (default table)")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument(
        "--raw",
        action="store_true",
        help="query a foreign SQLite file as it is, not its conversion to wavescope's tables",
    )
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.formats.sqlite.read_only_query import ReadOnlyQuery  # noqa: PLC0415  slow to import

    if arguments.format == "table":
        arguments.format = OutputFormat.TEXT.value
    wanted = output_format(arguments)
    sql = sys.stdin.read() if arguments.sql == "-" else arguments.sql
    with (
        _database(Path(arguments.trace), raw=arguments.raw, quiet=arguments.quiet) as path,
        closing(ReadOnlyQuery(path, sql)) as query,
    ):
        rows = itertools.islice(query, arguments.rows or None)
        write_query(query.columns, rows, wanted)
    return 0


@contextmanager
def _database(path: Path, *, raw: bool, quiet: bool) -> Iterator[Path]:
    """The SQLite file to query: the trace itself, or a temporary one made from it."""
    from wavescope.formats.sqlite.read_only_query import require_sqlite  # noqa: PLC0415
    from wavescope.formats.wavescope import is_wavescope_file  # noqa: PLC0415  slow to import

    is_own_file = is_wavescope_file(path)
    if raw:
        require_sqlite(path)
    if raw or is_own_file:
        yield path
    else:
        with tempfile.TemporaryDirectory(prefix="wavescope-") as folder:
            yield _converted(path, Path(folder), quiet=quiet)


def _converted(path: Path, folder: Path, *, quiet: bool) -> Path:
    from wavescope.formats.wavescope.writing import write_trace  # noqa: PLC0415  slow to import

    target = folder / "trace.db"
    with (
        opened_source(str(path), quiet=quiet) as source,
        Progress(f"converting {path.name}", quiet=quiet) as progress,
    ):
        write_trace([source], target, progress)
        if not quiet:
            tell_notes(source.notes)
    return target


COMMAND = Command(
    "query",
    "Run one SQL statement on a trace and print the rows. Nothing can be changed by it. Traces of "
    "other formats are converted to a temporary trace file first (see docs/trace-file.md for the "
    "tables); --raw queries a foreign SQLite file as it is.",
    (
        Example('wavescope query trace.db "SELECT * FROM top LIMIT 5"', "the five longest kernels"),
        Example(
            'wavescope query trace.json.gz "SELECT gpuId, Busy FROM busy" --format csv',
            "any format, rows as CSV",
        ),
        Example(
            'wavescope query run.rpd --raw "SELECT name FROM sqlite_master"',
            "the tables a foreign file really has",
        ),
    ),
    _add_arguments,
    _run,
)
