"""How many waves of a kernel fit on a chip, what limits them, and what one more takes."""

from wavescope.analyze.occupancy.limits import Occupancy, occupancy_of
from wavescope.analyze.occupancy.report import chips_table, occupancy_result
from wavescope.analyze.occupancy.resources import KernelResources, StatedResources

__all__ = [
    "KernelResources",
    "Occupancy",
    "StatedResources",
    "chips_table",
    "occupancy_of",
    "occupancy_result",
]
