"""Ranges that do not overlap, in the order of time: what every row of a timeline is made of.

`packed_lanes` makes lanes of ranges in any order, `GrowingLanes` does so part by part.
"""

from wavescope.view.lanes.growing import GrowingLanes
from wavescope.view.lanes.lane import Lane, Times
from wavescope.view.lanes.packing import Packing, Ranges, packed_lanes

__all__ = ["GrowingLanes", "Lane", "Packing", "Ranges", "Times", "packed_lanes"]
