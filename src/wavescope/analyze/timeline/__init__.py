"""What a timeline draws: strips of bins by class of ops, the longest ops one by one, markers.

Pages of traces draw GPUs and queues with it, pages of captures waves.

More than six names go out: a timeline is a record of parts; captures make some of their own, and
pages draw them.
"""

from wavescope.analyze.timeline.strips import (
    Classes,
    Colouring,
    DetailedOps,
    MarkerLanes,
    OpNames,
    Strip,
    Timeline,
    TimelineOptions,
    shares,
    timeline,
)
from wavescope.analyze.timeline.time_bins import TimeGrid, time_in_bins

__all__ = [
    "Classes",
    "Colouring",
    "DetailedOps",
    "MarkerLanes",
    "OpNames",
    "Strip",
    "TimeGrid",
    "Timeline",
    "TimelineOptions",
    "shares",
    "time_in_bins",
    "timeline",
]
