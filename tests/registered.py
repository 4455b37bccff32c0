"""The registered formats by name."""

from __future__ import annotations

from pathlib import Path

from wavescope.formats import Exporter, Importer, exporter_for, importers


def importer_called(name: str) -> Importer:
    """The readable format that messages call `name`."""
    (found,) = (importer for importer in importers() if importer.name == name)
    return found


def exporter_called(name: str) -> Exporter:
    """The writable format that `--format` calls `name`."""
    return exporter_for(Path(), name)
