"""Which operator of the framework each op was launched by, and what that operator was given.

`launching_operators` and `parent_calls` tell where a launch lies in the calls of its thread,
`recorded_inputs` what a call was given, `op_operators` what the model asked for.
"""

from wavescope.analyze.operators.call_tree import (
    launching_operators,
    nearest_marked,
    parent_calls,
)
from wavescope.analyze.operators.outermost import (
    NO_OPERATOR,
    NOT_RECORDED,
    OpOperators,
    op_operators,
)
from wavescope.analyze.operators.recorded_inputs import RecordedInputs, recorded_inputs

__all__ = [
    "NOT_RECORDED",
    "NO_OPERATOR",
    "OpOperators",
    "RecordedInputs",
    "launching_operators",
    "nearest_marked",
    "op_operators",
    "parent_calls",
    "recorded_inputs",
]
