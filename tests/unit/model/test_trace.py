from __future__ import annotations

from tests.builders import a_trace


def test_a_forgotten_column_is_read_again() -> None:
    ops = a_trace().with_kernel("gemm", 3, 10).build().ops
    before = ops["start_ns"]

    ops.forget("start_ns", "never_loaded")

    assert ops["start_ns"] is not before
    assert ops["start_ns"].tolist() == [3]
