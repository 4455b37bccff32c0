"""The importer of session folders: a recording can be analysed before, or without, being merged."""

from __future__ import annotations

from wavescope.formats.importer import Importer, Probe
from wavescope.formats.session.reader import FORMAT, open_session
from wavescope.formats.session.session import is_session


def _matches(probe: Probe) -> bool:
    return probe.is_folder and is_session(probe.siblings)


IMPORTER = Importer(FORMAT, _matches, open_session)
