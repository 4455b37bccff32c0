"""Which operator of the framework each op was launched by, and what that operator was given.

`launching_operators` and `parent_calls` tell where a launch lies in the calls of its thread,
`recorded_inputs` what a call was given, `op_operators` what the model asked for;
`joined_launches` tells where ops were launched, those of graph replays where the graph was
captured, and `attributed` what each op is part of by its launch; `stack_parents`,
`recorded_modules` and `frame_text` are what stacks are made of;
`operators_result` adds up GPU time by operator, module, input shapes and call site.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wavescope.analyze.operators.attribution import (
        GRAPH_REPLAY,
        NOT_RECORDED,
        SEVERAL,
        Described,
        OpLaunches,
        attributed,
        graph_launch_names,
    )
    from wavescope.analyze.operators.call_inputs import (
        RecordedInputs,
        call_arguments,
        call_records,
        recorded_inputs,
    )
    from wavescope.analyze.operators.call_place import LaunchPlace, launch_place
    from wavescope.analyze.operators.call_sites import frame_text
    from wavescope.analyze.operators.call_tree import (
        launching_operators,
        nearest_calls,
        nearest_marked,
        parent_calls,
    )
    from wavescope.analyze.operators.forward_calls import stack_parents
    from wavescope.analyze.operators.modules import module_kind, recorded_modules
    from wavescope.analyze.operators.operator_time import (
        OperatorOptions,
        OperatorPart,
        OpOperators,
        joined_launches,
        op_operators,
        operators_result,
    )
    from wavescope.analyze.operators.outermost import (
        NO_OPERATOR,
        OPERATOR_CATEGORIES,
        call_lanes,
        op_sequence,
        with_all_calls,
        working_operators,
    )

_NAMES = {
    "attribution": (
        "Described",
        "GRAPH_REPLAY",
        "NOT_RECORDED",
        "OpLaunches",
        "SEVERAL",
        "attributed",
        "graph_launch_names",
    ),
    "call_sites": ("frame_text",),
    "call_tree": ("launching_operators", "nearest_calls", "nearest_marked", "parent_calls"),
    "forward_calls": ("stack_parents",),
    "modules": ("module_kind", "recorded_modules"),
    "call_place": ("LaunchPlace", "launch_place"),
    "operator_time": (
        "OpOperators",
        "OperatorOptions",
        "OperatorPart",
        "joined_launches",
        "op_operators",
        "operators_result",
    ),
    "outermost": (
        "NO_OPERATOR",
        "call_lanes",
        "OPERATOR_CATEGORIES",
        "op_sequence",
        "with_all_calls",
        "working_operators",
    ),
    "call_inputs": ("RecordedInputs", "call_arguments", "call_records", "recorded_inputs"),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "GRAPH_REPLAY",
    "NOT_RECORDED",
    "NO_OPERATOR",
    "OPERATOR_CATEGORIES",
    "SEVERAL",
    "Described",
    "LaunchPlace",
    "OpLaunches",
    "OpOperators",
    "OperatorOptions",
    "OperatorPart",
    "RecordedInputs",
    "attributed",
    "call_arguments",
    "call_lanes",
    "call_records",
    "frame_text",
    "graph_launch_names",
    "joined_launches",
    "launch_place",
    "launching_operators",
    "module_kind",
    "nearest_calls",
    "nearest_marked",
    "op_operators",
    "op_sequence",
    "operators_result",
    "parent_calls",
    "recorded_inputs",
    "recorded_modules",
    "stack_parents",
    "with_all_calls",
    "working_operators",
]


def __getattr__(name: str) -> Any:
    """What is behind the front door, when it is first asked for: a summary needs little of it."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
