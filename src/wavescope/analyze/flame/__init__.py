"""Where time goes by stack: host time by what was called, GPU time by what launched it.

`flame_tree` adds up one of them by path, `flame_result` says it as a table; docs/flame.md defines
both.
"""

from wavescope.analyze.flame.flame_table import FlameOptions, flame_result
from wavescope.analyze.flame.stack_time import StackTime, flame_tree
from wavescope.analyze.flame.tree import FlameTree

__all__ = ["FlameOptions", "FlameTree", "StackTime", "flame_result", "flame_tree"]
