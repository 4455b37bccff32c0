"""What recording costs: runs of a program in every mode, taken turn by turn."""

from wavescope.collect.overhead.arms import measured_arms

__all__ = ["measured_arms"]
