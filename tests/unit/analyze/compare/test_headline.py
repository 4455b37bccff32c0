"""What changed, in one sentence."""

from __future__ import annotations

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.compare import CompareOptions, Part, compare


def trace(**kernels_us: int) -> TraceMaker:
    """Kernels one after another, and idle time where one is called `idle`."""
    maker, at = a_trace(), 0
    for name, length in kernels_us.items():
        if name != "idle":
            maker.with_kernel(name, 1_000 * at, 1_000 * (at + length))
        at += length
    return maker


def headline(*makers: TraceMaker) -> str:
    options = CompareOptions(parts=(Part.KERNEL,))
    return str(compare([maker.build() for maker in makers], options).facts["headline"])


def test_the_parts_that_made_most_of_it_are_named() -> None:
    base = trace(gemm=100, norm=100, attn=300)
    new = trace(gemm=180, norm=130, attn=280)

    assert headline(base, new) == (
        "trace 2 takes 590.0 us, 90.00 us (18.0 %) longer than the base: gemm +80.00 us and "
        "norm +30.00 us, against attn -20.00 us"
    )


def test_idle_time_is_set_beside_the_work() -> None:
    base = trace(gemm=100, idle=100, norm=100)
    new = trace(gemm=90, idle=20, norm=100)

    assert headline(base, new) == (
        "trace 2 takes 210.0 us, 90.00 us (30.0 %) less than the base: idle time -80.00 us; "
        "the GPU is busy for 190.0 us, 200.0 us in the base"
    )


def test_large_factors_are_no_percentages() -> None:
    assert headline(trace(gemm=100), trace(gemm=4_400)).startswith(
        "trace 2 takes 4.400 ms, 44.0 times as long as the base: gemm"
    )


def test_equal_times_may_hide_changes() -> None:
    base, new = trace(gemm=500, norm=500), trace(gemm=401, norm=600)

    assert headline(base, base) == ("trace 2 takes 1.000 ms, about as long as the base (1.000 ms)")
    assert headline(base, new) == (
        "trace 2 takes 1.001 ms, about as long as the base (1.000 ms): norm +100.0 us and "
        "gemm -99.00 us"
    )


def test_each_other_trace_has_its_sentence() -> None:
    found = headline(trace(gemm=100), trace(gemm=150), trace(gemm=50))

    assert found.count(";") == 1
    assert "trace 3 takes 50.00 us, 50.00 us (50.0 %) less than the base: gemm -50.00 us" in found


def test_more_steps_of_the_same_are_no_slowdown() -> None:
    def steps(count: int, gemm_us: int = 90) -> TraceMaker:
        maker = a_trace()
        for number in range(count):
            at = 200_000 * number
            maker.with_kernel("gemm", at, at + 1_000 * gemm_us)
            maker.with_kernel("norm", at + 100_000, at + 110_000)
        return maker

    assert headline(steps(30), steps(60)).endswith(
        "; it ran 120 ops, 60 in the base: running the same more often makes +3.000 ms on the GPU"
    )
    assert headline(steps(60), steps(30, gemm_us=89)).endswith(
        "; it ran 60 ops, 120 in the base: running the same less often makes -3.000 ms on the GPU"
    )
    # as often, and slower
    assert "it ran" not in headline(steps(30), steps(30, gemm_us=98))
