"""Traces beside one another: what changed, which parts account for it, and whether it is real.

`compare` holds traces against the first; `run_values` and `check_regression` judge repeated runs of
two versions; `overhead_result` judges what recording costs.

More than six names go out: comparing traces, judging runs and judging overhead each take options
that users set.
"""

from wavescope.analyze.compare.changed_kernels import (
    KernelChange,
    KernelChanges,
    kernel_changes,
)
from wavescope.analyze.compare.comparison import CompareOptions, Part, compare
from wavescope.analyze.compare.effects import TestOptions
from wavescope.analyze.compare.figures import FigureOptions
from wavescope.analyze.compare.overhead_costs import OverheadCheck
from wavescope.analyze.compare.overhead_table import overhead_result
from wavescope.analyze.compare.regression_check import check_regression, may_be_renamed
from wavescope.analyze.compare.renames import Rename, renamed_between
from wavescope.analyze.compare.run_values import (
    CheckOptions,
    Gate,
    Metric,
    Per,
    RunOptions,
    RunValues,
    run_values,
)
from wavescope.analyze.compare.step_noise import Statistic

__all__ = [
    "CheckOptions",
    "CompareOptions",
    "FigureOptions",
    "Gate",
    "KernelChange",
    "KernelChanges",
    "Metric",
    "OverheadCheck",
    "Part",
    "Per",
    "Rename",
    "RunOptions",
    "RunValues",
    "Statistic",
    "TestOptions",
    "check_regression",
    "compare",
    "kernel_changes",
    "may_be_renamed",
    "overhead_result",
    "renamed_between",
    "run_values",
]
