"""Everything that the page of a capture shows, computed together."""

from __future__ import annotations

from dataclasses import dataclass

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.hotspot_report import hotspots
from wavescope.analyze.capture.kernel_occupancy import TracedOccupancy, traced_occupancy
from wavescope.analyze.capture.page.code_view import CodeView, code_view
from wavescope.analyze.capture.page.wave_timeline import WaveTimeline, wave_timeline
from wavescope.analyze.capture.plan import KernelCounters, plan_result
from wavescope.analyze.capture.wave_behaviour import wave_behaviour
from wavescope.analyze.occupancy import occupancy_result
from wavescope.model.capture import Capture
from wavescope.model.result import Result


@dataclass(frozen=True)
class CaptureReport:
    """The data of one capture's page."""

    capture: Capture
    plan: Result
    hotspots: Result
    running: Result
    code: CodeView
    waves: WaveTimeline | None
    occupancy: TracedOccupancy | None
    limits: Result | None


def capture_report(
    analysis: CaptureAnalysis, counters: KernelCounters | None = None
) -> CaptureReport:
    """The report of a capture."""
    occupancy = traced_occupancy(analysis.capture)
    return CaptureReport(
        capture=analysis.capture,
        plan=plan_result(analysis, counters),
        hotspots=hotspots(analysis),
        running=wave_behaviour(analysis),
        code=code_view(analysis),
        waves=wave_timeline(analysis),
        occupancy=occupancy,
        limits=occupancy_result(occupancy.occupancy) if occupancy else None,
    )
