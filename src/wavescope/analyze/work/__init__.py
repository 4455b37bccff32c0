"""How much work framework operators had to do, and how near to the board's peaks they did it.

FLOPs and bytes follow from the recorded arguments by published formulas (docs/work-model.md).

More than six names go out: findings quote the sizes, the kind and the bound of an operator's work.
"""

from wavescope.analyze.work.operator_work import GemmSizes, WorkKind
from wavescope.analyze.work.roofline import Bound
from wavescope.analyze.work.uses import (
    OperatorUse,
    uses_of_operators,
    uses_on_known_boards,
)
from wavescope.analyze.work.work_table import work_result

__all__ = [
    "Bound",
    "GemmSizes",
    "OperatorUse",
    "WorkKind",
    "uses_of_operators",
    "uses_on_known_boards",
    "work_result",
]
