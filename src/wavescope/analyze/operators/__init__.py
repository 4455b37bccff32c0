"""Which operator of the framework each op was launched by, and GPU time added up by it.

`joined_launches` tells where ops were launched, those of graph replays where the graph was
captured, and `attributed` what each op is part of by its launch; `op_operators` names what the
model asked for, `launch_place` what is around one call; `operators_result` adds up GPU time by
operator, module, input shapes and call site. More than six names go out: flame graphs, work and
comparisons attribute ops by the same launches, with labels of their own.
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
    )
    from wavescope.analyze.operators.call_place import launch_place
    from wavescope.analyze.operators.call_sites import frame_text
    from wavescope.analyze.operators.modules import module_kind, recorded_modules
    from wavescope.analyze.operators.operator_time import (
        OperatorOptions,
        OperatorPart,
        OpOperators,
        joined_launches,
        op_operators,
        operators_result,
    )

_NAMES = {
    "attribution": (
        "GRAPH_REPLAY",
        "NOT_RECORDED",
        "SEVERAL",
        "Described",
        "OpLaunches",
        "attributed",
    ),
    "call_place": ("launch_place",),
    "call_sites": ("frame_text",),
    "modules": ("module_kind", "recorded_modules"),
    "operator_time": (
        "OpOperators",
        "OperatorOptions",
        "OperatorPart",
        "joined_launches",
        "op_operators",
        "operators_result",
    ),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "GRAPH_REPLAY",
    "NOT_RECORDED",
    "SEVERAL",
    "Described",
    "OpLaunches",
    "OpOperators",
    "OperatorOptions",
    "OperatorPart",
    "attributed",
    "frame_text",
    "joined_launches",
    "launch_place",
    "module_kind",
    "op_operators",
    "operators_result",
    "recorded_modules",
]


def __getattr__(name: str) -> Any:
    """What is behind the front door, when it is first asked for: a summary needs little of it."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
