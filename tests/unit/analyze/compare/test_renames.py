"""Kernels with other names are matched by what they do."""

from __future__ import annotations

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.compare.figures import TraceFigures
from wavescope.analyze.compare.renames import Rename, renames


def sequence(names: str, *, repeats: int = 5, **values: int | str) -> TraceMaker:
    """Kernels one after another on one queue, each 10 ns; several times over."""
    maker = a_trace()
    for index, name in enumerate(names.split() * repeats):
        maker.with_kernel(name, 20 * index, 20 * index + 10, **values)
    return maker


def matched(base: TraceMaker, new: TraceMaker) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    found = renames(TraceFigures(base.build()), TraceFigures(new.build()))
    return sorted((rename.base, rename.new) for rename in found)


def test_the_same_position_makes_the_same_kernel() -> None:
    base = sequence("embed triton_poi_1 attn triton_poi_2 sample")
    new = sequence("embed triton_poi_7 attn triton_poi_5 sample")

    assert matched(base, new) == [
        (("triton_poi_1",), ("triton_poi_7",)),
        (("triton_poi_2",), ("triton_poi_5",)),
    ]


def test_neighbours_that_were_renamed_too_are_matched_in_turn() -> None:
    base = sequence("embed old_gemm_a old_gemm_b old_gemm_c sample")
    new = sequence("embed new_gemm_x new_gemm_y new_gemm_z sample")

    assert matched(base, new) == [
        (("old_gemm_a",), ("new_gemm_x",)),
        (("old_gemm_b",), ("new_gemm_y",)),
        (("old_gemm_c",), ("new_gemm_z",)),
    ]


def test_another_category_is_another_kernel() -> None:
    assert matched(sequence("a paged_attention b"), sequence("a my_gemm b")) == []


def test_running_much_more_often_is_other_work() -> None:
    assert matched(sequence("a gemm_1 b"), sequence("a gemm_2 gemm_2 b")) == []


def test_another_position_is_not_enough_even_with_a_similar_name() -> None:
    base = sequence("embed gemm_variant_1 attn_fwd rmsnorm sample")
    new = sequence("embed attn_fwd rmsnorm sample gemm_variant_2 argmax")

    assert matched(base, new) == []


def test_equal_traces_have_no_renames() -> None:
    assert matched(sequence("a b c"), sequence("a b c")) == []
    assert matched(sequence("a b c"), sequence("a b")) == []


def operated(*work: tuple[str, str, int]) -> TraceMaker:
    """Operators that each launch a kernel so many times."""
    maker = a_trace()
    op = 0
    for operator, kernel, count in work:
        for _ in range(count):
            maker.with_call(operator, 100 * op, 100 * op + 90, category="cpu_op")
            maker.with_call("hipLaunchKernel", 100 * op + 10, 100 * op + 20)
            maker.with_kernel(kernel, 100 * op + 30, 100 * op + 40, queue=op % 7)
            maker.with_link(2 * op + 2, op + 1)
            op += 1
    return maker


def test_several_kernels_of_one_operator_that_became_one() -> None:
    base = operated(
        ("aten::linear", "Cijk_Ailk_Bljk_MT64x64x64_MI16", 3),
        ("aten::linear", "Cijk_Ailk_Bljk_MT128x64x64_MI16", 7),
        ("aten::mul", "mul", 2),
    )
    new = operated(("aten::linear", "sm90_xmma_gemm_bf16", 10), ("aten::mul", "mul", 2))

    found = renames(TraceFigures(base.build()), TraceFigures(new.build()))

    assert found == [
        Rename(
            ("Cijk_Ailk_Bljk (MT128x64x64)", "Cijk_Ailk_Bljk (MT64x64x64)"),
            ("sm90_xmma_gemm_bf16",),
            0.5,
            "operator, calls",
        )
    ]
    assert found[0].grouping == "merged"


def test_one_kernel_that_became_two() -> None:
    base = operated(("aten::linear", "gemm_all", 10))
    new = operated(("aten::linear", "gemm_large", 4), ("aten::linear", "gemm_small", 6))

    (found,) = renames(TraceFigures(base.build()), TraceFigures(new.build()))

    assert (found.base, found.new) == (("gemm_all",), ("gemm_small", "gemm_large"))
    assert found.grouping == "split"


def test_groups_must_run_equally_often() -> None:
    base = operated(("aten::linear", "gemm_a", 3), ("aten::linear", "gemm_b", 3))
    new = operated(("aten::linear", "gemm_c", 20))

    assert matched(base, new) == []


def test_launch_sizes_count_on_the_same_chip_only() -> None:
    base = sequence("gemm_one", grid_x=64, grid_y=1, grid_z=1, workgroup_x=64)
    same = sequence("gemm_two", grid_x=64, grid_y=1, grid_z=1, workgroup_x=64)
    base.with_agent(0, chip="gfx942")
    same.with_agent(0, chip="gfx942")

    (found,) = renames(TraceFigures(base.build()), TraceFigures(same.build()))

    assert "launch size" in found.evidence
