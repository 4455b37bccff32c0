"""All readable formats, in the order in which they are asked; plug-ins are asked last.

The order is one of import time only, cheap and frequent formats first: of the built-in formats
no two match the same file.

A plug-in is an `Importer` under the entry point group `wavescope.importers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from wavescope.formats.importer import Importer, Probe

_SQLITE = (
    "wavescope.importer",
    "rtl.reader",
    "rpd.reader",
    "rocpd.reader",
)
_FOLDERS = ("session.importer", "rocprofv3.csv_reader")
_OTHER_FILES = (
    "rocprofv3.csv_reader",
    "rocprofv3.json_reader",
    "perfetto.reader",
    "chrome.reader",
)


def importers(probe: Probe | None = None) -> Iterator[Importer]:
    """All formats, or those that may match `probe`; each is imported only when its turn comes."""
    for name in _built_in(probe):
        importer = import_module(f"wavescope.formats.{name}").IMPORTER
        assert isinstance(importer, Importer)
        yield importer
    from importlib.metadata import entry_points  # noqa: PLC0415  slow, and rarely reached

    for entry in entry_points(group="wavescope.importers"):
        plugin = entry.load()
        if isinstance(plugin, Importer):
            yield plugin


def _built_in(probe: Probe | None) -> tuple[str, ...]:
    if probe is None:
        return tuple(dict.fromkeys(_SQLITE + _FOLDERS + _OTHER_FILES))
    if probe.is_folder:
        return _FOLDERS
    return _SQLITE if probe.sqlite_tables else _OTHER_FILES
