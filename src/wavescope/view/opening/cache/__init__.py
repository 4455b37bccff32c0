"""What is kept of a trace for its next opening: its lanes, as files that are mapped into memory.

A cache is a convenience: whatever is wrong with it costs one more reading of the trace, never an
error, and nothing that others may have written is ever trusted.
"""

from wavescope.view.opening.cache.kept_lanes import KeptLanes
from wavescope.view.opening.cache.lane_cache import LaneCache
from wavescope.view.opening.cache.trace_content import content_key

__all__ = ["KeptLanes", "LaneCache", "content_key"]
