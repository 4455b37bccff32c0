"""What a trace holds, and which formats of traces there are."""

from __future__ import annotations

from contextlib import AbstractContextManager

from wavescope.analyze.contents import kernel_list, marker_list, overview
from wavescope.analyze.counter_values import counter_tables
from wavescope.analyze.ops.coverage import coverage
from wavescope.analyze.ops.op_labels import unresolved_symbols
from wavescope.api.opened import opened
from wavescope.formats import exporters, importers, open_trace
from wavescope.model.paths import PathLike
from wavescope.model.result import Result, ResultColumn, Unit, table_of
from wavescope.model.trace import Trace


def info(
    trace: Trace | PathLike,
    *,
    markers: bool = False,
    kernels: bool = False,
    counters: bool = False,
    counter_instances: bool = False,
) -> Result:
    """What a trace holds; or only markers by text, kernels by whole name, counters by kernel.

    `counter_instances` reads the file with a counter for each instance of a hardware block.
    """
    with _whole(trace, counter_instances) as whole:
        found, covered, unresolved = overview(whole), coverage(whole), unresolved_symbols(whole)
        lists = [
            *([marker_list(whole)] if markers else []),
            *([kernel_list(whole)] if kernels else []),
            *(counter_tables(whole) if counters or counter_instances else []),
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


def _whole(trace: Trace | PathLike, counter_instances: bool) -> AbstractContextManager[Trace]:
    if not counter_instances:
        return opened(trace)
    return open_trace(trace.path if isinstance(trace, Trace) else trace, counter_instances=True)


def known_formats() -> Result:
    """The formats that can be read and written."""
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
