"""Small traces that have one finding each, and the same without the cause."""

from __future__ import annotations

from tests.builders import TraceMaker, a_trace

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
GEMM = "Cijk_Ailk_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs_MT64x64x256_MI16x16x1_SN"
FILL = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
    "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)"
)
US = 1_000
MS = 1_000_000


def every(
    maker: TraceMaker, name: str, count: int, step_ns: int, length_ns: int, **values: int
) -> TraceMaker:
    """`count` kernels, one every `step_ns`."""
    first_ns = int(values.pop("first_ns", 0))
    for index in range(count):
        start = first_ns + index * step_ns
        maker.with_kernel(name, start, start + length_ns, **values)
    return maker


def launched_every(count: int, step_ns: int, length_ns: int, early_ns: int) -> TraceMaker:
    """Kernels each launched by a call that begins `early_ns` before it."""
    maker = a_trace()
    for index in range(count):
        start = 10 * MS + index * step_ns
        maker.with_kernel("k", start, start + length_ns)
        maker.with_call("hipLaunchKernel", start - early_ns, start - early_ns + US)
        maker.with_link(index + 1, index + 1)
    return maker


def decode_of_short_ops(gap_ns: int = 30 * US) -> TraceMaker:
    """A marked decode of 200 ops of 2 us with `gap_ns` before each, after one long op."""
    maker = a_trace().with_marker("prefill", 0, MS).with_marker("decode", MS, 100 * MS)
    maker.with_kernel(GEMM, 0, MS)
    return every(maker, "short", 200, 2 * US + gap_ns, 2 * US, first_ns=MS + gap_ns)


def exposed_collective(compute_end_ns: int = 50) -> TraceMaker:
    """A collective at [50, 90) beside compute until `compute_end_ns`."""
    maker = a_trace().with_kernel(GEMM, 0, compute_end_ns)
    return maker.with_kernel(ALL_REDUCE, 50, 90, queue=1).with_kernel(GEMM, 90, 100)


def exposed_copy(compute_end_ns: int = 50) -> TraceMaker:
    """A copy at [50, 90) beside compute until `compute_end_ns`."""
    maker = a_trace().with_kernel(GEMM, 0, compute_end_ns)
    return maker.with_copy(50, 90, queue=1).with_kernel(GEMM, 90, 100)


def many_fills(count: int = 600, among: int = 0) -> TraceMaker:
    """`count` fills of 4 us among as many GEMMs of 100 us, or among `among`."""
    maker = a_trace()
    for index in range(max(count, among, 1)):
        start = index * 104 * US
        maker.with_kernel(GEMM, start, start + 100 * US)
        if index < count:
            maker.with_kernel(FILL, start + 100 * US, start + 104 * US)
    return maker


def tiny_ones(length_ns: int = 2 * US) -> TraceMaker:
    """600 pairs of kernels of `length_ns` and a GEMM of 10 us after each."""
    maker = a_trace()
    for index in range(600):
        start = index * (2 * length_ns + 10 * US)
        maker.with_kernel("norm", start, start + length_ns)
        maker.with_kernel("act", start + length_ns, start + 2 * length_ns)
        if index % 2:
            maker.with_kernel(GEMM, start + 2 * length_ns, start + 2 * length_ns + 10 * US)
    return maker


def four_gpus(slow_percent: int = 20) -> TraceMaker:
    """The same 100 GEMMs and collectives on four GPUs; those of GPU 2 are slower."""
    maker = a_trace()
    for rank in range(4):
        maker.with_process(100 + rank, rank=rank)
    for gpu in range(4):
        length = 100 * US + (slow_percent * US if gpu == 2 else 0)
        for index in range(100):
            start = index * 200 * US
            maker.with_kernel(GEMM, start, start + length, gpu=gpu, process=gpu)
            end = start + 150 * US
            maker.with_kernel(ALL_REDUCE, start + length, end, gpu=gpu, process=gpu)
    return maker


def with_outliers(longest_ns: int = 500 * US) -> TraceMaker:
    """200 calls of 10 us, of which three take `longest_ns`."""
    maker = a_trace()
    for index in range(200):
        length = longest_ns if index in (50, 100, 150) else 10 * US
        maker.with_kernel("k", index * MS, index * MS + length, grid_x=64, grid_y=1, grid_z=1)
    return maker


def drifting(percent: int = 10, grid_step: int = 0) -> TraceMaker:
    """Three kernels whose 400 calls each get longer by `percent` over the run."""
    maker = a_trace()
    for index in range(400):
        for number in range(3):
            length = (number + 1) * 20 * US
            length += length * percent * index // 40_000 + index % 7
            start = index * MS + number * 200 * US
            grid = 64 + grid_step * index
            maker.with_kernel(f"k{number}", start, start + length, grid_x=grid, grid_y=1, grid_z=1)
    return maker


def two_queues(offset_ns: int = 10 * US) -> TraceMaker:
    """Two queues of 50 kernels of 10 us, the second `offset_ns` behind the first."""
    maker = every(a_trace(), "a", 50, 20 * US, 10 * US, queue=0)
    return every(maker, "b", 50, 20 * US, 10 * US, queue=1, first_ns=offset_ns)


def covered(timed: int) -> TraceMaker:
    """A trace whose recorder timed `timed` of 100 dispatches."""
    maker = a_trace().with_kernel(GEMM, 0, 10)
    return maker.with_coverage(100, timed, skipped=100 - timed, reason="replayed from graphs")


def partly_launched(linked: int) -> TraceMaker:
    """20 kernels back to back, of which the first `linked` have a call."""
    maker = a_trace()
    for index in range(20):
        maker.with_kernel("k", 100 + index * 10, 110 + index * 10)
        maker.with_call("hipLaunchKernel", index, index + 1)
        if index < linked:
            maker.with_link(index + 1, index + 1)
    return maker


def inverted() -> TraceMaker:
    """An op that began before the call that launched it."""
    maker = a_trace().with_kernel("k", 10, 20).with_call("hipLaunchKernel", 50, 60)
    return maker.with_link(1, 1)
