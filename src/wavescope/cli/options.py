"""Flags that several commands share, and the plain values they become."""

from __future__ import annotations

import argparse
import enum
import re
from dataclasses import dataclass
from pathlib import Path

import wavescope
from wavescope.errors import UsageError
from wavescope.patterns import compiled
from wavescope.units import parse_offset_ns

Arguments = argparse.ArgumentParser | argparse._ArgumentGroup
"""What flags are added to: a command's parser, or a group of its flags."""
DEFAULT_ROWS = 20
_SIZE = re.compile(r"(\d{1,15})(?:\.(\d{1,3}))?\s*([kKMGT]?)i?[bB]?", re.ASCII)
_SIZE_UNITS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


class OutputFormat(str, enum.Enum):
    """How a result is printed."""

    TEXT = "text"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"


FOR_PEOPLE = (OutputFormat.TEXT, OutputFormat.MARKDOWN)


@dataclass(frozen=True)
class OutputOptions:
    """How a result is printed, which of its tables, and how many rows of each (0: all)."""

    format: OutputFormat = OutputFormat.TEXT
    rows: int = DEFAULT_ROWS
    tables: tuple[str, ...] = ()
    raw_text: bool = False
    """CSV for programs: texts exactly as they are."""

    @classmethod
    def from_arguments(cls, arguments: argparse.Namespace) -> OutputOptions:
        """What the flags of `add_output_flags` say."""
        wanted = output_format(arguments)
        asked = getattr(arguments, "rows", None)
        rows = asked if asked is not None else DEFAULT_ROWS if wanted in FOR_PEOPLE else 0
        tables = tuple(getattr(arguments, "table", None) or ())
        return cls(wanted, rows, tables, wants_raw_text(arguments, wanted))


def natural_number(text: str) -> int:
    """A whole number from 0 on, of up to nine digits."""
    if not (text.isascii() and text.isdecimal()) or len(text) > 9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 0 on")
    return int(text)


def output_format(arguments: argparse.Namespace) -> OutputFormat:
    """The format asked for by --json or --format."""
    asked = getattr(arguments, "format", None)
    if arguments.json and asked not in {None, OutputFormat.JSON.value}:
        raise UsageError(f"--json and --format {asked} cannot be used together")
    return OutputFormat.JSON if arguments.json else OutputFormat(asked or "text")


def add_raw_text_flag(group: Arguments) -> None:
    """--raw-text, for commands that write CSV."""
    group.add_argument(
        "--raw-text",
        action="store_true",
        help="CSV for programs, texts exactly as they are (default: no text is a formula to a "
        "spreadsheet, control characters are escapes)",
    )


def wants_raw_text(arguments: argparse.Namespace, wanted: OutputFormat) -> bool:
    """Whether --raw-text is given; text and Markdown, which people read, never are raw."""
    is_given = bool(getattr(arguments, "raw_text", False))
    if is_given and wanted in FOR_PEOPLE:
        raise UsageError("--raw-text goes with --format csv", hint="add --format csv")
    return is_given


def add_json_flag(parser: argparse.ArgumentParser) -> None:
    """--json, which every command has."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_format_flags(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """--format and --json; the group of flags they are in."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format",
        choices=[choice.value for choice in OutputFormat],
        help="output format (default text); csv prints one table",
    )
    group.add_argument("--json", action="store_true", help="the same as --format json")
    add_raw_text_flag(group)
    return group


def add_output_flags(parser: argparse.ArgumentParser) -> None:
    """How the result is printed, and how much of it."""
    group = add_format_flags(parser)
    add_rows_flag(
        group,
        f"rows per table, 0 for all (default: {DEFAULT_ROWS} as text or Markdown, else all)",
    )
    group.add_argument(
        "--table",
        metavar="NAME",
        action="append",
        help="print only this table (may be repeated); --json lists their names",
    )


def add_rows_flag(group: Arguments, meaning: str, default: int | None = None) -> None:
    """-n, as most commands have it."""
    group.add_argument("-n", "--rows", metavar="N", type=row_count, default=default, help=meaning)


def add_kernel_flag(group: Arguments, meaning: str, *, required: bool = False) -> None:
    """--kernel: a regular expression of Python that is found somewhere in the name."""
    group.add_argument(
        "--kernel",
        metavar="REGEX",
        type=regular_expression,
        default="",
        required=required,
        help=meaning,
    )


def add_marker_flag(group: Arguments, meaning: str) -> None:
    """--marker: a regular expression of Python that is found somewhere in the marker's text."""
    group.add_argument(
        "--marker", metavar="REGEX", type=regular_expression, default="", help=meaning
    )


def add_step_flag(group: Arguments) -> None:
    """--step: which markers are steps, a regular expression of Python."""
    group.add_argument(
        "--step",
        metavar="REGEX",
        type=regular_expression,
        default="",
        help="markers that are steps (default: common names such as step or iteration)",
    )


def add_filter_flags(parser: argparse.ArgumentParser) -> None:
    """Which rows of the trace are meant."""
    group = parser.add_argument_group(
        "filters", "A row must pass all filters given; a list means any of its values."
    )
    group.add_argument(
        "--gpu", metavar="N,...", type=numbers, help="only ops on these GPUs: 0,2 or 0-3"
    )
    group.add_argument(
        "--rank", metavar="N,...", type=numbers, help="only processes with these ranks"
    )
    group.add_argument(
        "--pid", metavar="N,...", type=numbers, help="only processes with these process ids"
    )
    add_kernel_flag(group, "only ops whose full kernel name contains a match")
    add_marker_flag(group, "only what starts inside a marker whose text contains a match")
    group.add_argument(
        "--start",
        metavar="TIME",
        help="only what starts at or after this time: 25%%, 10ms (after the first event), or "
        "a timestamp in ns",
    )
    group.add_argument(
        "--end", metavar="TIME", help="only what starts before this time, written as for --start"
    )


def selection_from(arguments: argparse.Namespace) -> wavescope.Selection:
    """The selection that the flags of `add_filter_flags` say."""
    return wavescope.Selection(
        start=arguments.start,
        end=arguments.end,
        gpus=arguments.gpu or (),
        processes=arguments.pid or (),
        ranks=arguments.rank or (),
        kernel=arguments.kernel,
        marker=arguments.marker,
    )


def add_unpacking_flag(parser: argparse.ArgumentParser) -> None:
    """--max-unpacked SIZE, which every command has that reads what can be packed."""
    parser.add_argument(
        "--max-unpacked",
        metavar="SIZE",
        type=size_bytes,
        help="refuse a packed input that unpacks to more, for example 200G (default: "
        "250 times its size, at least 1 GB and at most 64 GB)",
    )


def add_limit_flag(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """--limit SECONDS, for programs that run under another one's tool."""
    parser.add_argument(
        "--limit",
        metavar="SECONDS",
        type=natural_number,
        default=0,
        help="end each run of rocprofv3 after this long and keep what it wrote (default: when none "
        "of its processes has moved for 5 minutes, or a pass takes 10 times as long as others)",
    )


def add_quiet_flag(parser: argparse.ArgumentParser) -> None:
    """-q, for commands that report progress."""
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="no progress and no messages at the end"
    )


def add_force_flag(parser: argparse.ArgumentParser) -> None:
    """--force, for commands that write files."""
    parser.add_argument(
        "--force", action="store_true", help="replace the output if it exists (never the input)"
    )


def add_file_flags(parser: argparse.ArgumentParser) -> None:
    """--force, -q and --json, for commands whose result is a file."""
    add_force_flag(parser)
    add_quiet_flag(parser)
    add_json_flag(parser)


def add_output_path(parser: argparse.ArgumentParser, *, required: bool, meaning: str) -> None:
    """-o, where to write."""
    parser.add_argument("-o", "--output", metavar="OUT", type=Path, required=required, help=meaning)


def numbers(text: str) -> tuple[int, ...]:
    """The numbers of '0,2' or '0-3,7'."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash)):
            raise argparse.ArgumentTypeError(
                f"'{text}' is not a list of numbers such as 0,2 or 0-3"
            )
        low, high = int(first), int(last or first)
        if high < low or high - low > 100_000 or high >= 1 << 63:
            raise argparse.ArgumentTypeError(f"'{part}' is not a range of numbers")
        found += range(low, high + 1)
    return tuple(found)


def regular_expression(text: str) -> str:
    """A pattern that compiles; refused before any work is done."""
    return compiled(text).pattern


def row_count(text: str) -> int:
    """A number of rows, 0 or more."""
    if not text.isdecimal() or len(text) > 12:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of rows")
    return int(text)


def size_bytes(text: str) -> int:
    """Bytes of '4096', '500M' or '2.5GB'."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 500M or 2G")
    whole, part, unit = found.groups()
    factor = _SIZE_UNITS[unit]
    return int(whole) * factor + int((part or "").ljust(3, "0") or "0") * factor // 1000


def positive_size_bytes(text: str) -> int:
    """The same, where nothing at all cannot be meant."""
    size = size_bytes(text)
    if size == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no size; write for example 500M or 2G")
    return size


_LONGEST_NS = 100 * 365 * 24 * 3600 * 10**9
"""Of any wait: from now on it ends within the times that 64 bits hold."""


def milliseconds(text: str) -> int:
    """Milliseconds of '10' (seconds), '2.5', '500ms' or '3s'."""
    spelled = f"{text}s" if re.fullmatch(r"\d+(\.\d*)?", text, re.ASCII) else text
    try:
        value_ns = parse_offset_ns(spelled)
    except UsageError as error:
        raise argparse.ArgumentTypeError(f"{error}; write for example 10, 2.5s or 500ms") from error
    if value_ns < 0:
        raise argparse.ArgumentTypeError(f"'{text}' is negative")
    if value_ns > _LONGEST_NS:
        raise argparse.ArgumentTypeError(f"'{text}' is longer than 100 years")
    return -(-value_ns // 1_000_000)


def positive_milliseconds(text: str) -> int:
    """The same, where nothing at all cannot be meant."""
    value_ms = milliseconds(text)
    if value_ms == 0:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no time; write for example 10, 2.5s or 500ms"
        )
    return value_ms


def process_id(text: str) -> int:
    """The number of a process."""
    if not text.isdecimal() or len(text) > 10:
        raise argparse.ArgumentTypeError(f"'{text}' is not a process id")
    return int(text)
