"""The steps from the base's time to the other trace's add up exactly."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import TraceMaker, a_trace, random_ops
from wavescope.analyze.compare import CompareOptions, Part, compare
from wavescope.analyze.compare.differences import GpuTime, gpu_time
from wavescope.analyze.compare.figures import TraceFigures
from wavescope.model.op_kinds import BARRIER_TYPE
from wavescope.model.result import Result, Value


def compared(*makers: TraceMaker, rows: int = 0) -> Result:
    options = CompareOptions(parts=(Part.OPERATOR, Part.CATEGORY), waterfall_rows=rows)
    return compare([maker.build() for maker in makers], options)


def test_a_waterfall_by_hand() -> None:
    base = a_trace().with_kernel("my_gemm", 0, 10).with_kernel("attn_fwd", 15, 35)
    new = a_trace().with_kernel("my_gemm", 0, 12).with_kernel("attn_fwd", 10, 20)

    table = compared(base, new).table("waterfall_categories")

    shown = [row[:5] for row in zip(*(table.column(c.name) for c in table.columns), strict=True)]
    assert shown == [
        ("(base)", 35, None, None, 35),
        ("attention", 20, 10, -10, 25),
        ("GEMM", 10, 12, 2, 27),
        ("(ran at once)", 0, -2, -2, 25),
        ("(idle)", 5, 0, -5, 20),
        ("(new)", None, 20, None, 20),
    ]


def test_gpu_time_adds_up_over_gpus_and_leaves_out_barriers() -> None:
    trace = (
        a_trace()
        .with_kernel("a", 0, 10)
        .with_kernel("b", 5, 20)
        .with_kernel("c", 100, 130, gpu=1)
        .with_kernel("d", 140, 150, gpu=1)
        .with_op("", 0, 1000, type=BARRIER_TYPE)
        .build()
    )

    assert gpu_time(TraceFigures(trace)) == GpuTime(20 + 50, 20 + 40, 25 + 40, 2)


def total(values: list[Value]) -> int:
    return sum(value for value in values if isinstance(value, int))


@pytest.mark.parametrize("seed", range(5))
def test_the_deltas_add_up_to_the_difference(seed: int) -> None:
    makers = random_ops(3_000, seed=seed), random_ops(2_500, seed=seed + 50, names=90)
    traces = [maker.build() for maker in makers]
    spans = []
    for trace in traces:
        starts, ends, gpus = trace.ops["start_ns"], trace.ops["end_ns"], trace.ops["gpu"]
        spans.append(
            sum(int(ends[gpus == gpu].max() - starts[gpus == gpu].min()) for gpu in np.unique(gpus))
        )

    result = compare(traces, CompareOptions(parts=(Part.CATEGORY,)))

    table = result.table("waterfall_categories")
    assert total(table.column("delta_ns")) == spans[1] - spans[0]
    assert table.column("running_ns")[-1] == spans[1]


def test_small_parts_are_put_together_and_nothing_is_lost() -> None:
    names = ("my_gemm", "attn_fwd", "rmsnorm", "topk", "reduce_kernel", "silu_mul")
    base, new = a_trace(), a_trace()
    for index, name in enumerate(names):
        base.with_kernel(name, 100 * index, 100 * index + 10)
        new.with_kernel(name, 100 * index, 100 * index + 10 + index)

    whole = compared(base, new).table("waterfall_categories")
    folded = compared(base, new, rows=3).table("waterfall_categories")

    assert total(whole.column("delta_ns")) == total(folded.column("delta_ns")) == 5
    assert len(folded.rows) == 3 + 4
    assert str(folded.column("name")[3]).endswith("others)")
