"""Records one mark of a small program: the collector as `wavescope trace` uses it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from wavescope.collect.libraries import is_loadable, linked, required_collector
from wavescope.collect.record_options import RecordOptions
from wavescope.collect.recording.injection import Injection, injected_environment
from wavescope.errors import WavescopeError
from wavescope.formats.session.reading import open_session
from wavescope.model.columns import MARKERS

_MARK = "wavescope self test"
_PROGRAM = f"import ctypes; ctypes.CDLL(None).roctxMarkA({_MARK.encode()!r})"


def collector_self_test() -> str:
    """What is wrong with the collector, or nothing."""
    with tempfile.TemporaryDirectory(prefix="wavescope-") as folder:
        session = Path(folder) / "session"
        session.mkdir()
        try:
            collector = required_collector()
            if not is_loadable(collector):
                collector = linked(collector, Path(folder))
            injection = Injection(collector, session)
            options = RecordOptions((sys.executable,), Path(folder) / "trace.db")
            environment = injected_environment(options, os.environ, injection)
            done = _run(environment)
            if done.returncode:
                return f"a recorded program failed: {done.stderr.strip()[-200:]}"
            with open_session(session) as source:
                rows = sum(len(batch["id"]) for batch in source.batches(MARKERS, ("id",)))
        except (WavescopeError, subprocess.TimeoutExpired) as error:
            return str(error)
    return "" if rows == 1 else f"{rows} marks were recorded instead of 1"


def _run(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-S", "-c", _PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
