"""A capture of a builder as the analyses get it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.thread_trace_folders import CaptureBuilder
from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.formats.captures import find_captures, load_thread_trace


def traced(builder: CaptureBuilder) -> DecodedTrace:
    """Write the capture, read it, and prepare it for analysis."""
    with tempfile.TemporaryDirectory() as folder:
        (location,) = find_captures([builder.write(Path(folder))])
        return DecodedTrace(load_thread_trace(location))
