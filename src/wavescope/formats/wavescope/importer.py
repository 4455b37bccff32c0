"""The importer of wavescope's own trace file."""

from __future__ import annotations

from pathlib import Path

from wavescope.formats.importer import Importer, Probe
from wavescope.model.source import TraceSource


def _matches(probe: Probe) -> bool:
    return {"rocpd_op", "wavescope_op", "wavescope_process"} <= probe.sqlite_tables


def _open(path: Path) -> TraceSource:
    from wavescope.formats.wavescope.reader import open_wavescope  # noqa: PLC0415  slow to import

    return open_wavescope(path)


IMPORTER = Importer("wavescope", _matches, _open)
