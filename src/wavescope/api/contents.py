"""What a trace holds, and which formats of traces there are."""

from __future__ import annotations

from wavescope.analyze.contents import kernel_list, marker_list, overview
from wavescope.analyze.ops.coverage import coverage
from wavescope.analyze.ops.op_labels import unresolved_symbols
from wavescope.api.opened import opened
from wavescope.model.paths import PathLike
from wavescope.model.result import Result, ResultColumn, Unit, table_of
from wavescope.model.trace import Trace


def info(trace: Trace | PathLike, *, markers: bool = False, kernels: bool = False) -> Result:
    """What a trace holds; or only its markers by text, or its kernels by whole name."""
    with opened(trace) as whole:
        found, covered, unresolved = overview(whole), coverage(whole), unresolved_symbols(whole)
        lists = [
            *([marker_list(whole)] if markers else []),
            *([kernel_list(whole)] if kernels else []),
        ]
        tables = lists or [*found.tables, *unresolved.tables, *covered.tables]
        facts = {
            "path": whole.path,
            "format": whole.format,
            "size_bytes": whole.size_bytes,
            **found.facts,
            **unresolved.facts,
            **covered.facts,
        }
    return Result(found.title, tables, facts=facts)


def known_formats() -> Result:
    """The formats that can be read and written."""
    from wavescope.formats import (  # noqa: PLC0415
        exporters,
        importers,
    )

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
