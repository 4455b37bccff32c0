"""What a trace holds, without judging it."""

from wavescope.analyze.overview.contents import kernel_list, marker_list, overview

__all__ = ["kernel_list", "marker_list", "overview"]
