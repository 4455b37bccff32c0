"""All readable formats, in the order in which they are asked; plug-ins are asked last.

A plug-in is an `Importer` under the entry point group `wavescope.importers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from wavescope.load.importer import Importer

_BUILT_IN = (
    "wavescope_file",
    "chunks",
    "rocpd.rocpd_file",
    "sqlite.rpd",
    "sqlite.rtl",
    "rocprofv3.rocprofv3_csv",
    "rocprofv3.rocprofv3_json",
    "perfetto.perfetto_file",
    "chrome.chrome_json",
)


def importers() -> Iterator[Importer]:
    """Built-in formats first, each imported only when its turn comes."""
    for name in _BUILT_IN:
        importer = import_module(f"wavescope.load.{name}").IMPORTER
        assert isinstance(importer, Importer)
        yield importer
    from importlib.metadata import entry_points  # noqa: PLC0415  slow, and rarely reached

    for entry in entry_points(group="wavescope.importers"):
        plugin = entry.load()
        if isinstance(plugin, Importer):
            yield plugin
