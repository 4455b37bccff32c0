"""A file that a command wrote: named for the user, with the next step."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from wavescope.cli.terminal import print_json, say
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit
from wavescope.units import bytes_text

_NEXT = {
    "wavescope": "wavescope summary {path}",
    "perfetto": "open it at https://ui.perfetto.dev",
    "chrome-json": "open it at https://ui.perfetto.dev",
    "html": "open it in a browser",
    "folded": "open it at https://www.speedscope.app, or give it to flamegraph.pl or inferno",
}


_NOTE_COLUMNS = (
    ResultColumn("note", "Note", Unit.NAME, "what was skipped or repaired, or is not in the file"),
)


def tell_written(
    path: Path, format_name: str, arguments: argparse.Namespace, notes: Sequence[str] = ()
) -> None:
    """Name the file on standard error with the next step; as JSON on standard output if asked.

    The JSON has the `notes` that were told while it was written.
    """
    if arguments.json:
        tables = [ResultTable("notes", "Notes", _NOTE_COLUMNS, [(note,) for note in notes])]
        print_json(
            Result("Written", tables if notes else []).with_facts(
                {"path": str(path), "format": format_name, "size_bytes": size_of(path)}
            )
        )
    if not arguments.quiet:
        tell_file(path, format_name)


def tell_file(path: Path, format_name: str) -> None:
    """Name the file on standard error with the next step."""
    say(f"wrote {path} ({format_name}, {bytes_text(size_of(path))})")
    if format_name in _NEXT:
        say(f"next: {_NEXT[format_name].format(path=shlex.quote(str(path)))}")


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size
