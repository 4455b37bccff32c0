"""A capture of a builder as the analyses get it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.capture_folders import CaptureBuilder
from wavescope.analyze.capture import CaptureAnalysis
from wavescope.formats.captures import find_captures, load_capture


def traced(builder: CaptureBuilder) -> CaptureAnalysis:
    """Write the capture, read it, and prepare it for analysis."""
    with tempfile.TemporaryDirectory() as folder:
        (location,) = find_captures([builder.write(Path(folder))])
        return CaptureAnalysis(load_capture(location))
