"""A session folder as a trace, whole or in part, without a database in between."""

from wavescope.formats.session.reading.process import Window, recent_windows
from wavescope.formats.session.reading.reader import open_session, open_steady_session

__all__ = ["Window", "open_session", "open_steady_session", "recent_windows"]
