"""How much work framework operators had to do, and how near to the board's peaks they did it.

FLOPs and bytes follow from the recorded arguments by published formulas (docs/work-model.md).
"""

from wavescope.analyze.work.operator_uses import OperatorUse, OperatorUses, operator_uses
from wavescope.analyze.work.work_table import work_result

__all__ = ["OperatorUse", "OperatorUses", "operator_uses", "work_result"]
