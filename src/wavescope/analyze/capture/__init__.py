"""What a capture tells: stalls by instruction and line, what waits wait for, how waves ran."""

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.coverage import capture_coverage, capture_findings
from wavescope.analyze.capture.hotspots import HotspotOptions, Mode, View, hotspots
from wavescope.analyze.capture.kernel_occupancy import traced_occupancy_result
from wavescope.analyze.capture.overview import capture_overview
from wavescope.analyze.capture.source_lines import FrameChoice
from wavescope.analyze.capture.wave_behaviour import wave_behaviour

__all__ = [
    "CaptureAnalysis",
    "FrameChoice",
    "HotspotOptions",
    "Mode",
    "View",
    "capture_coverage",
    "capture_findings",
    "capture_overview",
    "hotspots",
    "traced_occupancy_result",
    "wave_behaviour",
]
