"""What recording costs: a program run in turns, alone and recorded; files of the results."""

from wavescope.collect.overhead.arms import measured_arms
from wavescope.collect.overhead.file import SCHEMA, load_runs, save_runs

__all__ = ["SCHEMA", "load_runs", "measured_arms", "save_runs"]
