"""Time, rates and the roofline of operators in a trace."""

from __future__ import annotations

import re

import pytest

from tests.builders import a_trace
from tests.unit.analyze.work.inputs import BF16, FLOAT, FP8, Given, arguments_json
from tests.unit.analyze.work.traces import H100, MI300X, US, OperatorTrace
from wavescope.analyze.work import work_result
from wavescope.model.result import Value
from wavescope.model.trace import Trace

SQUARE: tuple[Given, ...] = ((BF16, (4096, 4096)), (BF16, (4096, 4096)))
# 2*4096^3 FLOP: 105.12 us at 1,307.4 TFLOP/s; 3*4096^2*2 bytes: 18.9 us at 5,324.8 GB/s
SQUARE_FLOPS, SQUARE_BYTES = 137_438_953_472, 100_663_296


def rows(trace: Trace) -> list[dict[str, Value]]:
    return work_result(trace).table("work").records()


def test_rates_and_the_roofline_of_a_product() -> None:
    made = OperatorTrace(**MI300X)
    for _ in range(2):
        made.operator("aten::mm", *SQUARE, kernels={"gemm": 150 * US, "splitk_reduce": 50 * US})

    (row,) = rows(made.maker.build())

    assert (row["operator"], row["calls"], row["gpu_time_ns"]) == ("aten::mm", 2, 400 * US)
    assert (row["flops"], row["bytes"]) == (2 * SQUARE_FLOPS, 2 * SQUARE_BYTES)
    assert row["tflops_per_s"] == pytest.approx(687.19, abs=0.01)  # 2*137.44 GFLOP in 400 us
    assert row["tb_per_s"] == 0.5033
    assert row["flops_per_byte"] == 1365.3333  # 4096 / 3
    assert (row["bound"], row["kernel"], row["note"]) == ("compute", "gemm", None)
    # the shortest time is 2 * 137,438,953,472 / 1307.4e12 s = 210,247.75 ns
    assert row["percent_of_peak"] == pytest.approx(52.5618, abs=1e-3)
    assert row["above_roofline_ns"] == 189_752
    assert row["percent"] == 100.0


def test_the_innermost_operator_with_a_formula_has_the_time() -> None:
    made = OperatorTrace(**MI300X)
    made.operator("aten::mm", *SQUARE, kernels={"gemm": 200 * US})
    made.inside(
        ("aten::linear", "cpu_op"), ("aten::matmul", "cpu_op"), ("aten::unknown", "cpu_op"), of=1
    )
    made.operator("unknown::inner", kernels={"helper": 10 * US})
    made.inside(("aten::copy_", "cpu_op"), of=1)

    found = {row["operator"]: row["gpu_time_ns"] for row in rows(made.maker.build())}

    assert found == {"aten::mm": 200 * US, "aten::copy_": 10 * US}


def test_a_call_around_one_that_does_its_work_counts_nothing() -> None:
    made = OperatorTrace(**MI300X)
    made.operator("aten::mm", *SQUARE, kernels={"gemm": 200 * US})
    outer = made.call("aten::linear", -50_000, 99_000, "cpu_op", arguments_json(*SQUARE))
    made.kernel("leftover", 3 * US, outer)

    (row,) = rows(made.maker.build())

    assert (row["operator"], row["gpu_time_ns"]) == ("aten::mm", 200 * US)


def test_what_a_graph_replays_is_not_the_work_of_the_call_around_the_replay() -> None:
    made = OperatorTrace(**MI300X)
    made.operator("aten::mm", *SQUARE, kernels={"gemm": 200 * US}, launch="hipGraphLaunch")

    assert rows(made.maker.build()) == []


def test_copies_are_no_kernels_of_an_operator() -> None:
    made = OperatorTrace(**MI300X)
    call = made.call("aten::copy_", 0, 100, "cpu_op", arguments_json((BF16, (9,)), (BF16, (9,))))
    made.maker.with_copy(1_000_000, 1_001_000).with_link(call, 1)

    assert rows(made.maker.build()) == []


def test_a_rate_above_the_peak_is_marked_and_no_time_is_claimed() -> None:
    made = OperatorTrace(**MI300X)
    made.operator("aten::mm", *SQUARE, kernels={"gemm": 90 * US})

    (row,) = rows(made.maker.build())

    assert row["percent_of_peak"] == pytest.approx(116.8, abs=0.1)
    assert row["above_roofline_ns"] is None
    assert "above the peak" in str(row["note"])


def test_an_unknown_board_has_rates_without_percent() -> None:
    made = OperatorTrace(model="Some GPU", cu_count=8)
    made.operator("aten::mm", *SQUARE, kernels={"gemm": 200 * US})

    result = work_result(made.maker.build())
    (row,) = result.table("work").records()

    assert row["tflops_per_s"] == pytest.approx(687.19, abs=0.01)
    assert (row["bound"], row["percent_of_peak"], row["above_roofline_ns"]) == (None, None, None)
    assert row["note"] == "peaks of this GPU unknown"
    assert result.facts["boards"] == "unknown"


def test_a_type_that_the_board_has_no_peak_for_has_no_percent() -> None:
    made = OperatorTrace(model="NVIDIA A100-SXM4-80GB", cu_count=108)
    made.operator("aten::_scaled_mm", (FP8, (64, 64)), (FP8, (64, 64)), kernels={"gemm": 20 * US})

    (row,) = rows(made.maker.build())

    assert (row["percent_of_peak"], row["note"]) == (None, "no peak for this data type")


def test_without_arguments_there_is_time_and_no_figure() -> None:
    made = OperatorTrace(**MI300X)
    made.operator("aten::mm", *SQUARE, kernels={"gemm": 200 * US})
    made.operator("aten::mm", kernels={"gemm": 100 * US})
    made.operator("not::known", kernels={"other": 100 * US})

    result = work_result(made.maker.build())

    assert [(row["flops"], row["gpu_time_ns"]) for row in result.table("work").records()] == [
        (SQUARE_FLOPS, 200 * US),
        (None, 100 * US),
    ]
    assert result.facts["kernel_time_ns"] == 400 * US
    assert (result.facts["modelled_time_ns"], result.facts["modelled_percent"]) == (200 * US, 50.0)


@pytest.mark.parametrize(
    ("kernel", "data_type", "percent"),
    [
        ("ampere_sgemm_128x64_tn", "fp32", 205.4),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn", "tf32", 27.8),
        ("cutlass_80_tensorop_s1688gemm_128x128", "tf32", 27.8),
    ],
)
def test_the_kernel_tells_whether_32_bit_products_are_shortened(
    kernel: str, data_type: str, percent: float
) -> None:
    made = OperatorTrace(**H100)
    matrix = (FLOAT, (4096, 4096))
    made.operator("aten::mm", matrix, matrix, kernels={kernel: 1_000 * US})

    (row,) = rows(made.maker.build())

    assert row["data_type"] == data_type
    # 137.44 GFLOP in 1 ms: 2.05 of 66.9 and 0.278 of 494.7 TFLOP/s
    assert row["percent_of_peak"] == pytest.approx(percent, abs=0.1)


def test_shapes_are_apart_and_the_longest_comes_first() -> None:
    made = OperatorTrace(**MI300X)
    made.operator("aten::silu", (BF16, (64, 64)), kernels={"silu": 5 * US})
    made.operator("aten::silu", (BF16, (128, 64)), kernels={"silu": 9 * US})
    made.operator("aten::silu", (BF16, (64, 64)), kernels={"silu": 5 * US})

    found = [(row["shape"], row["calls"], row["bound"]) for row in rows(made.maker.build())]

    assert found == [("64x64", 2, "memory"), ("128x64", 1, "memory")]


def test_a_kernels_name_chooses_operators_with_all_their_kernels() -> None:
    made = OperatorTrace(**MI300X)
    made.operator("aten::mm", *SQUARE, kernels={"gemm": 150 * US, "splitk_reduce": 50 * US})
    made.operator("aten::silu", (BF16, (64, 64)), kernels={"silu": 5 * US})

    (row,) = work_result(made.maker.build(), re.compile("splitk")).table("work").records()

    assert (row["operator"], row["gpu_time_ns"]) == ("aten::mm", 200 * US)


@pytest.mark.parametrize(
    "args", ["", "{", "[]", '{"Input Dims": 3, "Input type": [4]}', '{"Input type": ["float"]}']
)
def test_hostile_arguments_give_no_figure(args: str) -> None:
    trace = (
        a_trace()
        .with_call("aten::mm", 0, 100, category="cpu_op", args=args)
        .with_kernel("gemm", 200, 300)
        .with_link(1, 1)
        .build()
    )

    assert [row["flops"] for row in rows(trace)] == [None]


def test_a_trace_without_operators_has_no_rows() -> None:
    trace = a_trace().with_kernel("gemm", 0, 10).build()

    result = work_result(trace)

    assert result.table("work").rows == []
    assert result.facts["kernel_time_ns"] == 10
