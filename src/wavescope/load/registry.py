"""All readable formats, in the order in which they are asked; plug-ins are asked last.

The order is one of import time only, cheap and frequent formats first: of the built-in formats
no two match the same file.

A plug-in is an `Importer` under the entry point group `wavescope.importers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from wavescope.load.importer import Importer, Probe

_SQLITE = (
    "wavescope_file",
    "sqlite.rtl",
    "sqlite.rpd",
    "rocpd.rocpd_file",
)
_FOLDERS = ("chunks", "rocprofv3.rocprofv3_csv")
_OTHER_FILES = (
    "rocprofv3.rocprofv3_csv",
    "rocprofv3.rocprofv3_json",
    "perfetto.perfetto_file",
    "chrome.chrome_json",
)


def importers(probe: Probe | None = None) -> Iterator[Importer]:
    """All formats, or those that may match `probe`; each is imported only when its turn comes."""
    for name in _built_in(probe):
        importer = import_module(f"wavescope.load.{name}").IMPORTER
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
