"""The importer of wavescope's own trace file."""

from __future__ import annotations

from wavescope.load.importer import Importer, Probe
from wavescope.store.sqlite_source import open_wavescope


def _matches(probe: Probe) -> bool:
    return {"rocpd_op", "wavescope_op", "wavescope_process"} <= probe.sqlite_tables


IMPORTER = Importer("wavescope", _matches, open_wavescope)
