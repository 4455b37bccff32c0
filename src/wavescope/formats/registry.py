"""All formats: how each is told, what it is called, and where its reader and writer are.

A format is a folder with its reader and writer, and a line here. The modules are named, not
imported: only the reader and the writer that are chosen get loaded. Plug-ins are `Importer` and
`Exporter` objects under the entry points `wavescope.importers` and `wavescope.exporters`; they are
asked after the built-in formats.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from wavescope.errors import UsageError
from wavescope.formats import sniff
from wavescope.formats.sniff import Deferred, Probe
from wavescope.model.columns import Table
from wavescope.model.progress import Progress
from wavescope.model.source import TraceSource

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

_Plugin = TypeVar("_Plugin")


@dataclass(frozen=True)
class ExportOptions:
    """Choices that all exporters understand."""

    gzip: bool = False
    """Compress the output (formats that may be compressed)."""
    short_names: bool = True
    """Timelines show shortened kernel names and keep the whole name as an argument."""
    raw_text: bool = False
    """CSV has texts exactly as they are, also those that a spreadsheet takes for a formula."""


@dataclass(frozen=True)
class Importer:
    """One readable format."""

    name: str
    """How the format is called in messages, such as 'rocm-trace-lite'."""
    matches: Callable[[Probe], bool]
    open: Callable[[Path], TraceSource]
    open_counter_instances: Callable[[Path], TraceSource] | None = None
    """Opens it with a counter for each hardware instance, where the format has more than sums."""


@dataclass(frozen=True)
class Exporter:
    """One writable format; `is_folder` when it writes several files into a folder.

    It writes to a path of its own, which is renamed to what was asked for when it is complete.
    """

    name: str
    suffixes: tuple[str, ...]
    meaning: str
    write: Callable[[TraceSource, Path, ExportOptions, Progress], None]
    is_folder: bool = False
    leaves_out: Callable[[], Mapping[Table, tuple[str, ...]]] = dict
    """What of a trace the format has no place for: columns by table, none for whole tables."""


_DATABASES = (
    Importer("wavescope", sniff.is_wavescope_file, Deferred("wavescope.reader:open_wavescope")),
    Importer("rocm-trace-lite", sniff.is_rocm_trace_lite, Deferred("rpd.rtl_reader:open_rtl")),
    Importer("rocmProfileData", sniff.is_rpd, Deferred("rpd.reader:RpdSource")),
    Importer("rocpd", sniff.is_rocpd, Deferred("rocpd.reader:RocpdSource")),
)
_SESSION = Importer(
    "wavescope session", sniff.is_session, Deferred("session.reading.reader:open_steady_session")
)
_ROCPROFV3_CSV = Importer(
    "rocprofv3 CSV",
    sniff.is_rocprofv3_csv,
    Deferred("rocprofv3.csv_reader:open_rocprofv3_csv"),
)
_OTHER_FILES = (
    Importer(
        "rocprof timestamps",
        sniff.is_rocprof_times,
        Deferred("rocprofv3.times_reader:open_rocprof_times"),
    ),
    Importer(
        "rocprofv3 JSON",
        sniff.is_rocprofv3_json,
        Deferred("rocprofv3.json_reader:open_rocprofv3_json"),
        Deferred("rocprofv3.json_reader:open_counter_instances"),
    ),
    Importer("xplane", sniff.is_xplane, Deferred("xplane.reader:open_xplane")),
    Importer("Perfetto", sniff.is_perfetto, Deferred("perfetto.reader:open_perfetto")),
    Importer("Chrome JSON", sniff.is_chrome_json, Deferred("chrome.reader:open_chrome_json")),
)
_EXPORTERS = (
    Exporter(
        "wavescope",
        (".db",),
        "SQLite trace in the rocpd dialect",
        Deferred("wavescope.writing.writer:write_wavescope"),
    ),
    Exporter(
        "perfetto",
        (".pftrace", ".pftrace.gz", ".perfetto-trace", ".perfetto-trace.gz"),
        "Perfetto protobuf trace for ui.perfetto.dev",
        Deferred("perfetto.writer:write_perfetto"),
        leaves_out=Deferred("left_out:of_timelines"),
    ),
    Exporter(
        "chrome-json",
        (".json", ".json.gz"),
        "Chrome trace event JSON for chrome://tracing, Perfetto and others",
        Deferred("chrome.writer:write_chrome_json"),
        leaves_out=Deferred("left_out:of_timelines"),
    ),
    Exporter(
        "csv",
        (".csv", ".csv.gz"),
        "the ops as a table",
        Deferred("table_files:write_csv"),
        leaves_out=Deferred("left_out:of_one_table"),
    ),
    Exporter(
        "csv-folder",
        (),
        "every table of the trace as a CSV file",
        Deferred("table_files:write_csv"),
        is_folder=True,
    ),
    Exporter(
        "parquet",
        (".parquet",),
        "the ops as an Apache Parquet file",
        Deferred("table_files:write_parquet"),
        leaves_out=Deferred("left_out:of_one_table"),
    ),
    Exporter(
        "parquet-folder",
        (),
        "every table of the trace as a Parquet file",
        Deferred("table_files:write_parquet"),
        is_folder=True,
    ),
    Exporter(
        "arrow",
        (".arrow", ".feather"),
        "the ops as an Arrow IPC file",
        Deferred("table_files:write_arrow"),
        leaves_out=Deferred("left_out:of_one_table"),
    ),
    Exporter(
        "arrow-folder",
        (),
        "every table of the trace as an Arrow IPC file",
        Deferred("table_files:write_arrow"),
        is_folder=True,
    ),
    Exporter(
        "rocprofv3",
        ("_results.json", "_results.json.gz"),
        "JSON as rocprofv3 writes it, for its readers",
        Deferred("rocprofv3.json_writer:write_rocprofv3_json"),
        leaves_out=Deferred("left_out:of_rocprofv3"),
    ),
    Exporter("rpd", (".rpd",), "rocmProfileData database", Deferred("rpd.writer:write_rpd")),
)


def importers(probe: Probe | None = None) -> Iterator[Importer]:
    """All readable formats, or those that may match `probe`."""
    if probe is None:
        yield from (*_DATABASES, _SESSION, _ROCPROFV3_CSV, *_OTHER_FILES)
    elif probe.is_folder:
        yield from (_SESSION, _ROCPROFV3_CSV)
    elif probe.sqlite_tables:
        yield from _DATABASES
    else:
        yield from (_ROCPROFV3_CSV, *_OTHER_FILES)
    yield from _plugins("wavescope.importers", Importer)


def exporters() -> Iterator[Exporter]:
    """All writable formats."""
    yield from _EXPORTERS
    yield from _plugins("wavescope.exporters", Exporter)


def importer_of(probe: Probe) -> Importer | None:
    """The format of what was looked at, or None when it is none that is known."""
    return next((each for each in importers(probe) if each.matches(probe)), None)


def exporter_for(target: Path, name: str = "") -> Exporter:
    """The format called `name`, or the one whose suffix `target` has."""
    if name:
        return _exporter_called(name)
    matching = [
        (len(suffix), exporter)
        for exporter in exporters()
        for suffix in exporter.suffixes
        if target.name.endswith(suffix)
    ]
    if not matching:
        suffixes = ", ".join(suffix for exporter in exporters() for suffix in exporter.suffixes)
        raise UsageError(
            f"the name {target.name} does not say which format to write",
            hint=f"end it with one of {suffixes}, or add --format",
        )
    return max(matching, key=lambda pair: pair[0])[1]


def _exporter_called(name: str) -> Exporter:
    for exporter in exporters():
        if exporter.name == name.lower():
            return exporter
    names = ", ".join(exporter.name for exporter in exporters())
    raise UsageError(f"there is no format '{name}'", hint=f"known formats: {names}")


def _plugins(group: str, kind: type[_Plugin]) -> Iterator[_Plugin]:
    for entry in _entry_points(group, tuple(sys.path)):
        plugin = entry.load()
        if isinstance(plugin, kind):
            yield plugin


@cache
def _entry_points(group: str, path: tuple[str, ...]) -> EntryPoints:  # noqa: ARG001  for the cache
    """What packages register; the files of all that are installed on `path` are read once."""
    from importlib.metadata import entry_points  # noqa: PLC0415  slow, and rarely reached

    return entry_points(group=group)
