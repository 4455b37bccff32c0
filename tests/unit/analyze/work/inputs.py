"""Arguments of operators as traces record them."""

from __future__ import annotations

import json

from wavescope.analyze.calls.call_inputs import RecordedInputs
from wavescope.analyze.work.arguments import Arguments
from wavescope.analyze.work.formulas import FORMULAS
from wavescope.analyze.work.operator_work import OperatorWork

BF16, HALF, FLOAT, DOUBLE = "c10::BFloat16", "c10::Half", "float", "double"
FP8, FP4, INT8, INT32, INT64, BOOL = (
    "c10::Float8_e4m3fn",
    "c10::Float4_e2m1fn_x2",
    "signed char",
    "int",
    "long int",
    "bool",
)

Given = tuple[str, tuple[int, ...]] | tuple[str, tuple[int, ...], tuple[int, ...]] | str | None
"""A tensor by type and sizes, perhaps with strides; a number, flag or list as text; nothing."""


def recorded(*given: Given) -> RecordedInputs:
    """The arguments of one call."""
    dims, types, strides, scalars = [], [], [], []
    for each in given:
        is_tensor = isinstance(each, tuple)
        dims.append(each[1] if isinstance(each, tuple) else ())
        types.append(each[0] if isinstance(each, tuple) else "Scalar" if each else "")
        strides.append(each[2] if isinstance(each, tuple) and len(each) == 3 else ())
        scalars.append("" if is_tensor or each is None else str(each))
    return RecordedInputs(tuple(dims), tuple(types), tuple(strides), tuple(scalars))


def arguments_json(*given: Given) -> str:
    """The same as a trace has it in a call's arguments."""
    found = recorded(*given)
    return json.dumps(
        {
            "Input Dims": found.dims,
            "Input type": found.types,
            "Input Strides": found.strides,
            "Concrete Inputs": found.scalars,
        }
    )


def work_of(operator: str, *given: Given) -> OperatorWork | None:
    """What the formula of an operator says of a call."""
    return FORMULAS[operator](Arguments(recorded(*given)))
