"""Traces themselves: in which formats, opened, and parts of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wavescope.api.opened import PathLike, Where, selection_of
from wavescope.formats import open_trace
from wavescope.model.result import Result, ResultColumn, Unit, table_of
from wavescope.model.selection import Selection
from wavescope.model.selection import select as selected_part
from wavescope.model.trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Unpack


def open(path: PathLike) -> Trace:  # noqa: A001  reads as wavescope.open(...)
    """The trace at `path`, in any known format; columns are loaded when first used."""
    return open_trace(path)


def select(trace: Trace, selection: Selection | None = None, **where: Unpack[Where]) -> Trace:
    """A part of a trace, which is a trace: `select(trace, marker="decode", gpus=0)`."""
    return selected_part(trace, selection_of(selection, where))


def known_formats() -> Result:
    """The formats that can be read and written."""
    from wavescope.formats.exporters import exporters  # noqa: PLC0415  all of them
    from wavescope.formats.importers import importers  # noqa: PLC0415

    readable = table_of(
        "readable",
        "Formats that can be read (told by content, gzip included)",
        [ResultColumn("format", "Format", Unit.NAME).of(lambda importer: importer.name)],
        importers(),
    )
    writable = table_of(
        "writable",
        "Formats that `wavescope convert` writes",
        [
            ResultColumn("format", "Format", Unit.NAME, "for --format").of(
                lambda exporter: exporter.name
            ),
            ResultColumn("suffixes", "Suffixes", Unit.NAME, "endings of -o that choose it").of(
                lambda exporter: " ".join(exporter.suffixes)
            ),
            ResultColumn("meaning", "Meaning", Unit.NAME).of(lambda exporter: exporter.meaning),
        ],
        exporters(),
    )
    return Result("Formats", [readable, writable])
