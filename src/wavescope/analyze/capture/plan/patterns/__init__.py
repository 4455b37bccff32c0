"""One module per pattern, each with `find(context, free)`: the opportunities among free pieces."""

from collections.abc import Callable

from wavescope.analyze.capture.plan.context import Opportunity, PlanContext
from wavescope.analyze.capture.plan.patterns import (
    back_to_back_loads,
    barrier_skew,
    exposed_load,
    idle_gaps,
    lds_before_matrix,
    lds_conflicts,
    load_in_matrix_loop,
    low_occupancy,
    matrix_chain,
    memory_bound,
    other_stall,
    polling,
    scalar_entry,
    scale_load,
    spills,
    uneven_waves,
)
from wavescope.model.capture import Flags

__all__ = ["PATTERNS"]

PATTERNS: tuple[Callable[[PlanContext, Flags], list[Opportunity]], ...] = (
    polling.find,
    spills.find,
    scalar_entry.find,
    scale_load.find,
    lds_before_matrix.find,
    back_to_back_loads.find,
    load_in_matrix_loop.find,
    exposed_load.find,
    matrix_chain.find,
    barrier_skew.find,
    low_occupancy.find,
    other_stall.find,
    idle_gaps.find,
    uneven_waves.find,
    lds_conflicts.find,
    memory_bound.find,
)
"""In this order: stall that one pattern explains is not counted again by the next."""
