"""The database that statements of the page run on: the trace itself, or a copy of it."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from contextlib import closing
from pathlib import Path

from wavescope.formats import ExportOptions, exporter_for, open_source
from wavescope.formats.sqlite.sqlite_open import SQLITE_MAGIC, has_write_ahead_log
from wavescope.formats.wavescope import is_wavescope_file
from wavescope.model.progress import no_progress
from wavescope.model.selection import SelectedSource
from wavescope.model.source import TraceSource
from wavescope.unpacking import told_when_full
from wavescope.view.opening import TraceView

_OWN_FORMAT = "wavescope"


class SqlFile:
    """Found, or written, when it is first asked for; a written one goes with this object."""

    def __init__(self, view: TraceView) -> None:
        self._view = weakref.proxy(view)
        self._path: Path | None = None
        self._lock = threading.Lock()

    def path(self) -> Path:
        """A trace file of wavescope's own format with the rows of the view."""
        with self._lock:
            if self._path is None:
                given = Path(self._view.trace.path)
                self._path = given if self._is_as_it_should_be(given) else self._written()
            return self._path

    def _is_as_it_should_be(self, path: Path) -> bool:
        if isinstance(self._view.trace.source, SelectedSource) or not path.is_file():
            return False
        with path.open("rb") as file:
            is_plain = file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
        return is_plain and is_wavescope_file(path) and not has_write_ahead_log(path)

    def _written(self) -> Path:
        folder = tempfile.mkdtemp(prefix="wavescope-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        target = Path(folder, "trace.db")
        source = self._view.trace.source
        with told_when_full(folder):
            if isinstance(source, SelectedSource):
                with self._view.turn:
                    _write(source, target)
            else:
                with closing(open_source(self._view.trace.path)) as opened:
                    _write(opened, target)
        return target


def _write(source: TraceSource, target: Path) -> None:
    exporter_for(target, _OWN_FORMAT).write(source, target, ExportOptions(), no_progress)
