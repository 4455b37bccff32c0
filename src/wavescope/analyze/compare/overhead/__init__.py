"""What recording costs: a program's runs with and without it, judged pair by pair."""

from wavescope.analyze.compare.overhead.cost_tables import overhead_result
from wavescope.analyze.compare.overhead.costs import OverheadCheck

__all__ = ["OverheadCheck", "overhead_result"]
