"""GPU time by operator and what it was given: the innermost operator whose inputs are recorded."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.calls.call_inputs import Dims, RecordedInputs, call_records
from wavescope.analyze.calls.call_tree import nearest_marked, parent_calls
from wavescope.analyze.calls.outermost import NO_OPERATOR, working_operators
from wavescope.analyze.operators.attribution import (
    NOTHING,
    Described,
    Label,
    ListedOps,
    Numbers,
    OpLaunches,
    attributed,
    time_table,
)
from wavescope.arrays.coded_columns import DistinctRows
from wavescope.model.result import ResultColumn, ResultTable, Unit
from wavescope.model.trace import Trace

_COLUMNS = (
    ResultColumn(
        "name", "Operator", Unit.NAME, "innermost operator around the launch with recorded inputs"
    ),
    ResultColumn("input_dims", "Input shapes", Unit.NAME, "sizes of its tensors, in order"),
    ResultColumn("input_types", "Types", Unit.NAME, "element types of these tensors"),
)
_SHORT_TYPES = {
    "c10::BFloat16": "bf16",
    "c10::Half": "fp16",
    "float": "fp32",
    "double": "fp64",
    "c10::Float8_e4m3fn": "fp8_e4m3fn",
    "c10::Float8_e4m3fnuz": "fp8_e4m3fnuz",
    "c10::Float8_e5m2": "fp8_e5m2",
    "c10::Float8_e5m2fnuz": "fp8_e5m2fnuz",
    "long int": "int64",
    "long": "int64",
    "int": "int32",
    "short int": "int16",
    "signed char": "int8",
    "unsigned char": "uint8",
}


def shape_tables(launches: OpLaunches, ops: ListedOps) -> list[ResultTable]:
    """The table `shapes`."""
    found = attributed(launches, operators_with_inputs, NO_OPERATOR)
    return [time_table("shapes", "Operators by input shapes", _COLUMNS, found, ops)]


def operators_with_inputs(trace: Trace, rows: Numbers) -> Described[Label]:
    """The innermost operator around each call that has recorded inputs, else the innermost."""
    launches, place = np.unique(rows, return_inverse=True)
    operators = _innermost_with_inputs(trace, launches)
    inside = operators >= 0
    calls = operators[inside]
    names = trace.calls["name"][calls]
    records, record_of_call = call_records(trace, calls)
    use_of_call, firsts = DistinctRows(2).number((names, record_of_call))
    uses = zip(names[firsts].tolist(), record_of_call[firsts].tolist(), strict=True)
    labels = [(trace.strings[name], *input_texts(records[number].inputs)) for name, number in uses]
    of_uses = Described.by_label(labels, calls[firsts])
    code = np.full(len(operators), NOTHING, np.int64)
    code[inside] = of_uses.code[use_of_call]
    return Described(of_uses.labels, code[place], operators[place])


def _innermost_with_inputs(trace: Trace, rows: Numbers) -> Numbers:
    parent = parent_calls(trace)
    is_operator = np.zeros(len(trace.calls), np.bool_)
    is_operator[working_operators(trace)] = True
    innermost = nearest_marked(parent, is_operator, rows)
    found = innermost.copy()
    open_ = np.flatnonzero(found >= 0)
    while len(open_):
        records, record_of_call = call_records(trace, found[open_])
        has_none = np.array([not has_tensors(record.inputs) for record in records], np.bool_)
        open_ = open_[has_none[record_of_call]]
        found[open_] = nearest_marked(parent, is_operator, parent[found[open_]])
        open_ = open_[found[open_] >= 0]
    return np.where(found >= 0, found, innermost)


def has_tensors(inputs: RecordedInputs) -> bool:
    """Whether the sizes of a tensor are recorded."""
    return any(inputs.dims)


def input_texts(inputs: RecordedInputs) -> Label:
    """Sizes and types of the tensors as text: `16x512, 512x8` and `bf16, bf16`."""
    types = inputs.types + ("",) * (len(inputs.dims) - len(inputs.types))
    tensors = [(dims, kind) for dims, kind in zip(inputs.dims, types, strict=False) if dims]
    return (
        ", ".join(_dims_text(dims) for dims, _ in tensors),
        ", ".join(_SHORT_TYPES.get(kind, kind) for _, kind in tensors),
    )


def _dims_text(dims: Dims | tuple[Dims, ...]) -> str:
    if all(isinstance(size, int) for size in dims):
        return "x".join(map(str, dims))
    listed = [_dims_text(each) for each in dims if isinstance(each, tuple)]
    return f"[{', '.join(listed)}]"
