"""Which operator of the forward pass a call of the backward pass belongs to.

Autograd numbers what it will differentiate: the operator of the forward pass and the function that
the engine evaluates for it carry the same sequence number. Numbers are counted for each thread, so
that a number which forward operators of several threads of a process have says nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import orjson

from wavescope.analyze.calls.call_tree import NO_CALL, nearest_marked, parent_calls
from wavescope.analyze.calls.outermost import (
    PYTHON_CATEGORY,
    Numbers,
    call_lanes,
    calls_of_categories,
    operator_rows,
)
from wavescope.arrays import Array
from wavescope.model.trace import Trace

_EVALUATION = "autograd::engine::evaluate_function"
_NUMBER, _FORWARD_THREAD = "Sequence number", "Fwd thread id"
_SEVERAL = -2


def nearest_or_forward(trace: Trace, rows: Numbers, is_marked: Array) -> Numbers:
    """The innermost marked call around each call, else around its forward call; -1 for none."""
    parent = parent_calls(trace)
    found = nearest_marked(parent, is_marked, rows)
    missing = np.flatnonzero(found < 0)
    if len(missing):
        forward = forward_operators(trace, rows[missing])
        found[missing] = nearest_marked(parent, is_marked, forward)
    return found


def stack_parents(trace: Trace) -> Numbers:
    """For each call the one that it lies in, as readers of a stack want it; -1 for none.

    What autograd's engine evaluates outside of any Python function lies in what its forward
    operator lies in.
    """
    return trace.derived(_stack_parents)


def _stack_parents(trace: Trace) -> Numbers:
    parent = parent_calls(trace)
    is_python = calls_of_categories(trace, (PYTHON_CATEGORY,))
    is_evaluation = _is_evaluation(trace)
    if not is_python.any() or not is_evaluation.any():
        return parent
    evaluations = np.flatnonzero(is_evaluation)
    evaluations = evaluations[nearest_marked(parent, is_python, evaluations) < 0]
    forward = forward_operators(trace, evaluations)
    starts = trace.calls["start_ns"]
    # Nothing can lie in what began after it, whatever numbers say: so no call lies in itself.
    is_earlier = (forward >= 0) & (starts[forward] < starts[evaluations])
    joined = parent.copy()
    joined[evaluations[is_earlier]] = parent[forward[is_earlier]]
    return joined


def _is_evaluation(trace: Trace) -> npt.NDArray[np.bool_]:
    """Which calls are autograd's engine at work."""
    names = trace.calls.code_counts("name").codes.tolist()
    evaluations = [code for code in names if trace.strings[code].startswith(_EVALUATION)]
    return np.isin(trace.calls["name"], evaluations)


def forward_operators(trace: Trace, rows: Numbers) -> Numbers:
    """For each call of a backward pass the operator of the forward pass, -1 where unknown."""
    is_evaluation = _is_evaluation(trace)
    if not is_evaluation.any():
        return np.full(len(rows), NO_CALL, np.int64)
    around = nearest_marked(parent_calls(trace), is_evaluation, rows)
    number_of, forward_of = trace.derived(_sequence_numbers)
    process = trace.calls["process"]
    return np.array(
        [
            forward_of.get((int(process[row]), number_of.get(row, NO_CALL)), NO_CALL)
            if row >= 0
            else NO_CALL
            for row in around.tolist()
        ],
        np.int64,
    )


def _sequence_numbers(trace: Trace) -> tuple[dict[int, int], dict[tuple[int, int], int]]:
    """The numbers of backward calls by row, and the rows of forward calls by process and number."""
    operators = operator_rows(trace)
    # The last of several that carry a number is the innermost: the one that is differentiated.
    operators = operators[np.argsort(trace.calls["start_ns"][operators], kind="stable")]
    texts = trace.calls.take(operators).strings("args")
    lanes = call_lanes(trace.calls)[operators].tolist()
    processes = trace.calls["process"][operators].tolist()
    number_of: dict[int, int] = {}
    forward_of: dict[tuple[int, int], int] = {}
    lane_of: dict[tuple[int, int], int] = {}
    for row, text, lane, process in zip(operators.tolist(), texts, lanes, processes, strict=True):
        if _NUMBER not in text:
            continue
        number, is_backward = _numbered(text)
        if number < 0:
            continue
        if is_backward:
            number_of[row] = number
            continue
        key = (process, number)
        is_known_elsewhere = lane_of.setdefault(key, lane) != lane
        forward_of[key] = NO_CALL if is_known_elsewhere else row
        if is_known_elsewhere:
            lane_of[key] = _SEVERAL
    return number_of, forward_of


def _numbered(text: str) -> tuple[int, bool]:
    """The sequence number, -1 for none, and whether the call is one of the backward pass."""
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        return NO_CALL, False
    if not isinstance(document, dict):
        return NO_CALL, False
    number, thread = document.get(_NUMBER), document.get(_FORWARD_THREAD)
    is_backward = type(thread) is int and thread != 0
    return number if type(number) is int else NO_CALL, is_backward
