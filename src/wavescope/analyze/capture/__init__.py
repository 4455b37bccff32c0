"""What a capture tells: stalls by instruction and line, what waits wait for, how waves ran.

More than six names go out: pages and commands each ask for another part of an analysis.
"""

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.coverage import capture_coverage, capture_findings, capture_overview
from wavescope.analyze.capture.hotspot_report import HotspotOptions, hotspots
from wavescope.analyze.capture.kernel_occupancy import traced_occupancy_result

__all__ = [
    "CaptureAnalysis",
    "HotspotOptions",
    "capture_coverage",
    "capture_findings",
    "capture_overview",
    "hotspots",
    "traced_occupancy_result",
]
