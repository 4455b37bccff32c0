"""What calls of operators do: the operator, the work of one call, and its role in a layer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.operators import RecordedInputs, recorded_inputs
from wavescope.analyze.work.arguments import Arguments
from wavescope.analyze.work.call_roles import call_roles
from wavescope.analyze.work.formulas import FORMULAS
from wavescope.analyze.work.operator_work import OperatorWork
from wavescope.model.trace import Trace

Rows = npt.NDArray[np.int64]


class CallKind(NamedTuple):
    """An operator with the work of one call, None where it is not known, and its role, or ""."""

    operator: str
    work: OperatorWork | None
    role: str


def call_kinds(trace: Trace, calls: Rows) -> tuple[list[CallKind], Rows]:
    """The different kinds of these calls, all with a formula, and which of them each call is."""
    inputs = recorded_inputs(trace, calls)
    names = trace.calls["name"][calls].tolist()
    # Equal arguments are one object, so that its identity tells them apart.
    known: dict[tuple[int, int], OperatorWork | None] = {}
    for name, given in zip(names, inputs, strict=True):
        if (name, id(given)) not in known:
            known[name, id(given)] = _work(trace.strings[name], given)
    works = [known[name, id(given)] for name, given in zip(names, inputs, strict=True)]
    roles = call_roles(trace, calls, works)
    kinds: dict[CallKind, int] = {}
    of_call = [
        kinds.setdefault(CallKind(trace.strings[name], work, roles.get(row, "")), len(kinds))
        for name, work, row in zip(names, works, calls.tolist(), strict=True)
    ]
    return list(kinds), np.array(of_call, np.int64)


def _work(operator: str, inputs: RecordedInputs) -> OperatorWork | None:
    return FORMULAS[operator](Arguments(inputs)) if inputs.types else None
