from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tests.builders import a_trace


def test_a_forgotten_column_is_read_again() -> None:
    ops = a_trace().with_kernel("gemm", 3, 10).build().ops
    before = ops["start_ns"]

    ops.forget("start_ns", "never_loaded")

    assert ops["start_ns"] is not before
    assert ops["start_ns"].tolist() == [3]


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
