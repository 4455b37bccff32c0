"""Repeated runs of two versions: is the new one slower? A verdict, and what it rests on.

`run_values` says what one run says, `check_regression` judges the runs of both versions.

More than six names go out: five of them are the choices that users have.
"""

from wavescope.analyze.compare.regression.check import check_regression, may_be_renamed
from wavescope.analyze.compare.regression.run_values import (
    CheckOptions,
    Gate,
    Per,
    RunOptions,
    RunValues,
    run_values,
)
from wavescope.analyze.compare.step_times import Metric

__all__ = [
    "CheckOptions",
    "Gate",
    "Metric",
    "Per",
    "RunOptions",
    "RunValues",
    "check_regression",
    "may_be_renamed",
    "run_values",
]
