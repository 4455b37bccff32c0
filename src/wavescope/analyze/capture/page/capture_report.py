"""Everything that the page of a capture shows, computed together."""

from __future__ import annotations

from dataclasses import dataclass

from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.hotspots import hotspots
from wavescope.analyze.capture.page.code_view import CodeView, code_view
from wavescope.analyze.capture.page.wave_timeline import WaveTimeline, wave_timeline
from wavescope.analyze.capture.plan.context import Counters
from wavescope.analyze.capture.plan.plan import plan_result
from wavescope.analyze.capture.timeline import timeline_facts
from wavescope.analyze.occupancy.report import occupancy_result
from wavescope.analyze.occupancy.traced_kernel import TracedOccupancy, traced_occupancy
from wavescope.model.capture import ThreadTrace
from wavescope.model.result import Result


@dataclass(frozen=True)
class CaptureReport:
    """The data of one capture's page."""

    trace: ThreadTrace
    plan: Result
    hotspots: Result
    running: Result
    code: CodeView
    waves: WaveTimeline | None
    occupancy: TracedOccupancy | None
    limits: Result | None


def capture_report(decoded: DecodedTrace, counters: Counters | None = None) -> CaptureReport:
    """The report of a capture."""
    occupancy = traced_occupancy(decoded.trace)
    return CaptureReport(
        trace=decoded.trace,
        plan=plan_result(decoded, counters),
        hotspots=hotspots(decoded),
        running=timeline_facts(decoded),
        code=code_view(decoded),
        waves=wave_timeline(decoded),
        occupancy=occupancy,
        limits=occupancy_result(occupancy.occupancy) if occupancy else None,
    )
