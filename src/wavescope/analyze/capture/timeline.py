"""How the waves of a traced kernel ran: all tables of their timelines together."""

from __future__ import annotations

from wavescope.analyze.capture.barrier_skew import barrier_table
from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.instruction_mix import instruction_mix
from wavescope.analyze.capture.issue_gaps import gap_table
from wavescope.analyze.capture.latency_hiding import latency_hiding
from wavescope.analyze.capture.matrix_rate import matrix_tables
from wavescope.analyze.capture.occupancy_over_time import occupancy_over_time
from wavescope.analyze.capture.plan.exposed import exposed_stalls
from wavescope.analyze.capture.wave_spread import wave_spread
from wavescope.analyze.occupancy.traced_kernel import traced_occupancy
from wavescope.model.result import Result, ResultTable, Value


def timeline_facts(decoded: DecodedTrace) -> Result:
    """Spread, mix, gaps, barriers, matrix rate, hidden latency and occupancy of one capture."""
    result = Result(title="How waves ran", facts=_occupancy_facts(decoded))
    has_waves = len(decoded.waves) > 0
    tables: list[ResultTable | None] = [
        *wave_spread(decoded),
        instruction_mix(decoded),
        gap_table(decoded),
        barrier_table(decoded),
        *matrix_tables(decoded),
        latency_hiding(decoded, exposed_stalls(decoded)) if has_waves else None,
        occupancy_over_time(decoded.trace.occupancy),
    ]
    result.tables = [table for table in tables if table is not None]
    return result


def _occupancy_facts(decoded: DecodedTrace) -> dict[str, Value]:
    """Waves per SIMD as measured and as the kernel's resources allow."""
    found = traced_occupancy(decoded.trace)
    if found is None or found.measured is None:
        return {}
    return {
        "measured_peak_waves_per_simd": found.measured.peak,
        "measured_mean_waves_per_simd": found.measured.mean_while_busy,
        "theoretical_waves_per_simd": found.occupancy.waves_per_simd,
        "theory_known_by": found.register_origin,
    }
