"""All writable formats; plug-ins come from the entry point group `wavescope.exporters`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from wavescope.errors import UsageError
from wavescope.formats.exporter import Exporter

_BUILT_IN = (
    "wavescope.exporter",
    "perfetto.writer",
    "chrome.writer",
    "csv_tables",
    "parquet",
    "rocprofv3.json_writer",
    "rpd.writer",
)


def exporters() -> Iterator[Exporter]:
    """Built-in formats first."""
    for name in _BUILT_IN:
        module = import_module(f"wavescope.formats.{name}")
        for exporter in getattr(module, "EXPORTERS", None) or (module.EXPORTER,):
            assert isinstance(exporter, Exporter)
            yield exporter
    from importlib.metadata import entry_points  # noqa: PLC0415  slow, and rarely reached

    for entry in entry_points(group="wavescope.exporters"):
        plugin = entry.load()
        if isinstance(plugin, Exporter):
            yield plugin


def exporter_for(target: Path, name: str = "") -> Exporter:
    """The format called `name`, or the one whose suffix `target` has."""
    known = list(exporters())
    if name:
        for exporter in known:
            if exporter.name == name.lower():
                return exporter
        names = ", ".join(exporter.name for exporter in known)
        raise UsageError(f"there is no format '{name}'", hint=f"known formats: {names}")
    matching = [
        (len(suffix), exporter)
        for exporter in known
        for suffix in exporter.suffixes
        if target.name.endswith(suffix)
    ]
    if not matching:
        suffixes = ", ".join(suffix for exporter in known for suffix in exporter.suffixes)
        raise UsageError(
            f"the name {target.name} does not tell a format",
            hint=f"end it with one of {suffixes}, or add --format",
        )
    return max(matching, key=lambda pair: pair[0])[1]
