"""Collectives: what they moved, how fast, and how much of their time no compute hid."""

from wavescope.analyze.collectives.collective_table import collectives_result

__all__ = ["collectives_result"]
