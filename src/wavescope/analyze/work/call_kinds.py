"""What calls of operators do: the operator, the work of one call, and its role in a layer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.calls.call_inputs import RecordedInputs, call_records
from wavescope.analyze.work.arguments import Arguments
from wavescope.analyze.work.call_roles import call_roles
from wavescope.analyze.work.formulas import FORMULAS
from wavescope.analyze.work.operator_work import OperatorWork
from wavescope.arrays.coded_columns import DistinctRows
from wavescope.model.trace import Trace

Rows = npt.NDArray[np.int64]


class CallKind(NamedTuple):
    """An operator with the work of one call, None where it is not known, and its role, or ""."""

    operator: str
    work: OperatorWork | None
    role: str


def call_kinds(trace: Trace, calls: Rows) -> tuple[list[CallKind], Rows]:
    """The different kinds of these calls, all with a formula, and which of them each call is."""
    names = trace.calls["name"][calls]
    records, record_of_call = call_records(trace, calls)
    use_of_call, firsts = DistinctRows(2).number((names, record_of_call))
    name_of_use = [trace.strings[name] for name in names[firsts].tolist()]
    work_of_use = [
        _work(name, records[number].inputs)
        for name, number in zip(name_of_use, record_of_call[firsts].tolist(), strict=True)
    ]
    roles = call_roles(trace, calls, work_of_use, use_of_call)
    known: dict[tuple[int, str], int] = {}
    number_of_call = [
        known.setdefault((use, roles.get(row, "")), len(known))
        for use, row in zip(use_of_call.tolist(), calls.tolist(), strict=True)
    ]
    kinds: dict[CallKind, int] = {}
    kind_of_number = [
        kinds.setdefault(CallKind(name_of_use[use], work_of_use[use], role), len(kinds))
        for use, role in known
    ]
    return list(kinds), np.array(kind_of_number, np.int64)[number_of_call]


def _work(operator: str, inputs: RecordedInputs) -> OperatorWork | None:
    return FORMULAS[operator](Arguments(inputs)) if inputs.types else None
