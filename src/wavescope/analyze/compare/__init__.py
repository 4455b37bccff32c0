"""Traces beside one another: what changed, and which parts account for it.

`compare` holds traces against the first, `kernel_changes` says of each kernel whether it became
slower, and `renamed_between` finds kernels that have another name now.

Rooms with doors of their own: `statistics` says whether a difference between repeated runs is real,
`regression` gives a verdict on runs of two versions, and `overhead` one on what recording costs.

More than six names go out: the viewer and verdicts ask for one answer each, beside `compare`.
"""

from wavescope.analyze.compare.changed_kernels import KernelChange, KernelChanges, kernel_changes
from wavescope.analyze.compare.comparison import CompareOptions, Part, compare
from wavescope.analyze.compare.figures import FigureOptions
from wavescope.analyze.compare.renames import Rename, renamed_between

__all__ = [
    "CompareOptions",
    "FigureOptions",
    "KernelChange",
    "KernelChanges",
    "Part",
    "Rename",
    "compare",
    "kernel_changes",
    "renamed_between",
]
