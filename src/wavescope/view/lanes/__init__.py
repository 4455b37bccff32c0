"""Ranges that do not overlap, in the order of time: what every row of a timeline is made of."""

from wavescope.view.lanes.lane import Lane

__all__ = ["Lane"]
