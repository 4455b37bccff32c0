from __future__ import annotations

import gc
import weakref

import numpy as np
import numpy.typing as npt
import pytest

from tests.builders import a_trace
from wavescope.model.selection import Selection, select
from wavescope.model.trace import Trace


def test_a_borrowed_column_is_read_again_and_others_stay() -> None:
    ops = a_trace().with_kernel("gemm", 3, 10).build().ops
    kept = ops["end_ns"]

    with ops.borrowed():
        before = ops["start_ns"]

    assert (ops.has("start_ns"), ops.has("end_ns")) == (False, True)
    assert ops["start_ns"] is not before
    assert ops["start_ns"].tolist() == [3]
    assert ops["end_ns"] is kept


def test_what_is_derived_of_a_trace_is_made_once() -> None:
    trace = a_trace().with_kernel("gemm", 3, 10).build()
    made = []

    def op_count(each: Trace) -> int:
        made.append(each)
        return len(each.ops)

    assert (trace.derived(op_count), trace.derived(op_count)) == (1, 1)
    assert made == [trace]
    assert select(trace, Selection(gpus=(7,))).derived(op_count) == 0


@pytest.mark.parametrize("rows", [slice(None), np.array([2, 0])])
def test_a_derived_column_is_kept_and_what_it_is_made_of_is_not(
    rows: slice | npt.NDArray[np.intp],
) -> None:
    maker = a_trace()
    for start_ns, length_ns in ((3, 7), (10, 1), (20, 5)):
        maker.with_kernel("gemm", start_ns, start_ns + length_ns)
    ops = maker.build().ops.take(np.arange(3)[rows])

    ops.derive(
        ("start_ns", "end_ns"),
        lambda batch: {"length": batch["end_ns"] - batch["start_ns"]},
        ["id"],
    )

    assert ops["length"].tolist() == np.array([7, 1, 5])[rows].tolist()
    assert ops["id"].tolist() == np.array([1, 2, 3])[rows].tolist()
    assert [ops.has(name) for name in ("length", "id", "start_ns")] == [True, True, False]


def test_nothing_is_derived_of_no_rows() -> None:
    ops = a_trace().build().ops

    ops.derive(("start_ns",), lambda batch: {"half": (batch["start_ns"] // 2).astype(np.int16)})

    assert (len(ops["half"]), ops["half"].dtype) == (0, np.int16)


def test_a_forgotten_trace_is_gone_at_once() -> None:
    trace = a_trace().with_kernel("gemm", 3, 10).build()
    gone = weakref.ref(trace.ops)
    trace.derived(lambda each: each)

    gc.disable()
    try:
        trace.forget()
        assert gone() is None
    finally:
        gc.enable()
