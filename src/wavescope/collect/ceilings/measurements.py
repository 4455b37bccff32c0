"""What is measured for a roofline: how fast memory and caches deliver and units compute.

Each ceiling is one kernel of kernels.cpp, timed on the GPU's own clock. A sample is made long
enough to hide what launching costs; means and standard deviations are over samples.
"""

from __future__ import annotations

import ctypes
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wavescope.collect.ceilings.gpu_runtime import GpuRuntime
from wavescope.errors import UsageError
from wavescope.formats.counters import MeasuredPeak, ceilings_csv
from wavescope.model.progress import Progress
from wavescope.model.result import ColumnOf, Result, ResultColumn, Unit, table_of
from wavescope.package_files import package_file

_THREADS = 256
_ELEMENT_BYTES = 16
_CACHE_WORKGROUPS = 16_384
_MEMORY_WORKGROUPS = 2_048
_MEMORY_STEP_BYTES = _MEMORY_WORKGROUPS * _THREADS * 8 * _ELEMENT_BYTES
"""The grid of `read_memory` covers so much at a time."""
_LOADS_PER_ROUND = 16
_CHAIN_STEPS_PER_ROUND = 16 * 8
_PRODUCTS_PER_ROUND = 128
_L1_BYTES = 8 << 10
_L2_BYTES = 2 << 20
"""Larger than any first-level cache, smaller than any second-level one."""
_SHORTEST_SAMPLE_MS = 2.0
_MOST_ROUNDS = 1 << 16
_WARM_UP_SAMPLES = 3


class Ceiling(NamedTuple):
    """One limit: the column it has in roofline.csv, and what is measured."""

    name: str
    column: str
    unit: str
    kernels: tuple[str, ...]
    """The first of these that the GPU has is run."""


CEILINGS = (
    Ceiling("HBM", "HBMBw", "GB/s", ("read_memory",)),
    Ceiling("L2", "L2Bw", "GB/s", ("read_second_level",)),
    Ceiling("L1", "L1Bw", "GB/s", ("read_first_level",)),
    Ceiling("LDS", "LDSBw", "GB/s", ("read_shared",)),
    Ceiling("FP16", "FP16Flops", "GFLOP/s", ("arithmetic_fp16",)),
    Ceiling("FP32", "FP32Flops", "GFLOP/s", ("arithmetic_fp32",)),
    Ceiling("FP64", "FP64Flops", "GFLOP/s", ("arithmetic_fp64",)),
    Ceiling("I32", "I32Ops", "GOP/s", ("arithmetic_int32",)),
    Ceiling("I64", "I64Ops", "GOP/s", ("arithmetic_int64",)),
    Ceiling("MFMA-F4", "MFMAF4Flops", "GFLOP/s", ("matrix_fp4_32x32x64",)),
    Ceiling("MFMA-F6", "MFMAF6Flops", "GFLOP/s", ("matrix_fp6_32x32x64",)),
    Ceiling(
        "MFMA-F8",
        "MFMAF8Flops",
        "GFLOP/s",
        ("matrix_fp8_32x32x64", "matrix_fp8_32x32x16", "matrix_fp8_16x8x32"),
    ),
    Ceiling(
        "MFMA-BF16",
        "MFMABF16Flops",
        "GFLOP/s",
        (
            "matrix_bf16_32x32x16",
            "matrix_bf16_32x32x8",
            "matrix_bf16_32x32x4",
            "matrix_bf16_16x8x16",
        ),
    ),
    Ceiling(
        "MFMA-F16",
        "MFMAF16Flops",
        "GFLOP/s",
        ("matrix_fp16_32x32x16", "matrix_fp16_32x32x8", "matrix_fp16_16x8x16"),
    ),
    Ceiling("MFMA-F32", "MFMAF32Flops", "GFLOP/s", ("matrix_fp32_32x32x2", "matrix_fp32_16x8x8")),
    Ceiling("MFMA-F64", "MFMAF64Flops", "GFLOP/s", ("matrix_fp64_16x16x4", "matrix_fp64_8x8x4")),
    Ceiling(
        "MFMA-I8",
        "MFMAI8Ops",
        "GOP/s",
        (
            "matrix_int8_32x32x32",
            "matrix_int8_32x32x16",
            "matrix_int8_32x32x8",
            "matrix_int8_16x8x32",
        ),
    ),
)


@dataclass(frozen=True)
class MeasuredCeiling:
    """How high a ceiling is, over `samples` runs."""

    ceiling: Ceiling
    kernel: str
    mean: float
    deviation: float
    samples: int


@dataclass(frozen=True)
class CeilingOptions:
    """How thoroughly ceilings are measured."""

    samples: int = 30
    memory_bytes: int = 4 << 30
    """To read for HBM: far more than any cache holds."""
    only: tuple[str, ...] = ()
    """Names such as HBM or FP32; none means all that the GPU has."""


def chosen_ceilings(names: Sequence[str]) -> tuple[Ceiling, ...]:
    """The ceilings called `names`, all of them when none is named."""
    known = {ceiling.name.lower(): ceiling for ceiling in CEILINGS}
    for name in names:
        if name.lower() not in known:
            raise UsageError(
                f"there is no ceiling '{name}'",
                hint=f"there are {', '.join(ceiling.name for ceiling in CEILINGS)}",
            )
    return tuple(known[name.lower()] for name in names) or CEILINGS


def measure(gpu: GpuRuntime, options: CeilingOptions, progress: Progress) -> list[MeasuredCeiling]:
    """Measure every chosen ceiling that the GPU has."""
    path = package_file("collect", "ceilings", "kernels.cpp")
    assert path is not None, "the package was installed without its kernels"
    chosen = chosen_ceilings(options.only)
    progress(0, len(chosen))
    gpu.compile(path.read_bytes())
    memory_bytes = max(1, options.memory_bytes // _MEMORY_STEP_BYTES) * _MEMORY_STEP_BYTES
    bench = _Bench(gpu, gpu.allocate(memory_bytes), memory_bytes, gpu.allocate(4))
    measured = []
    for number, ceiling in enumerate(chosen):
        progress(number, len(chosen))
        kernel = next((each for each in ceiling.kernels if gpu.has_kernel(each)), None)
        if kernel is not None:
            measured.append(bench.measured(ceiling, kernel, options.samples))
    return measured


_COLUMNS: tuple[ColumnOf[MeasuredCeiling], ...] = (
    ResultColumn("ceiling", "Ceiling", Unit.NAME, "what is limited").of(
        lambda each: each.ceiling.name
    ),
    ResultColumn("mean", "Mean", Unit.NONE, "mean over samples").of(
        lambda each: round(each.mean, 1)
    ),
    ResultColumn("deviation", "Std", Unit.NONE, "standard deviation over samples").of(
        lambda each: round(each.deviation, 1)
    ),
    ResultColumn("unit", "Unit", Unit.NAME, "of mean and standard deviation").of(
        lambda each: each.ceiling.unit
    ),
    ResultColumn("samples", "Samples", Unit.COUNT, "timed runs").of(lambda each: each.samples),
    ResultColumn("kernel", "Kernel", Unit.NAME, "what was run").of(lambda each: each.kernel),
)


def ceilings_result(gpu: str, measured: Sequence[MeasuredCeiling]) -> Result:
    """A row for each ceiling of the GPU called `gpu`."""
    table = table_of("ceilings", "Ceilings", _COLUMNS, measured)
    return Result("Ceilings", [table], facts={"gpu": gpu})


def ceilings_text(measured: Mapping[int, Sequence[MeasuredCeiling]]) -> str:
    """The text of a workload's roofline.csv, by GPU number."""
    peaks = {
        gpu: {each.ceiling.column: MeasuredPeak(each.mean, each.deviation) for each in ceilings}
        for gpu, ceilings in measured.items()
    }
    return ceilings_csv(peaks, [ceiling.column for ceiling in CEILINGS])


@dataclass(frozen=True)
class _Bench:
    gpu: GpuRuntime
    data: ctypes.c_void_p
    memory_bytes: int
    sink: ctypes.c_void_p

    def measured(self, ceiling: Ceiling, kernel: str, samples: int) -> MeasuredCeiling:
        rounds = self._enough_rounds(ceiling, kernel)
        for _ in range(_WARM_UP_SAMPLES):
            self._milliseconds(ceiling, kernel, rounds)
        work = work_of_launch(kernel, rounds, self.memory_bytes, self.gpu.vendor)
        rates = []
        for _ in range(samples):
            taken_ms = self._milliseconds(ceiling, kernel, rounds)
            rates.append(work / (taken_ms * 1e6) if taken_ms > 0 else math.nan)
        deviation = statistics.stdev(rates) if len(rates) > 1 else 0.0
        return MeasuredCeiling(ceiling, kernel, statistics.fmean(rates), deviation, samples)

    def _enough_rounds(self, ceiling: Ceiling, kernel: str) -> int:
        rounds = 1
        while rounds < _MOST_ROUNDS:
            if self._milliseconds(ceiling, kernel, rounds) >= _SHORTEST_SAMPLE_MS:
                break
            rounds *= 2
        return rounds

    def _milliseconds(self, ceiling: Ceiling, kernel: str, rounds: int) -> float:
        size_bytes = {"L1": _L1_BYTES, "L2": _L2_BYTES}.get(ceiling.name, self.memory_bytes)
        arguments = (
            self.data,
            ctypes.c_longlong(size_bytes // _ELEMENT_BYTES),
            ctypes.c_int(rounds),
            self.sink,
        )
        workgroups = _MEMORY_WORKGROUPS if kernel == "read_memory" else _CACHE_WORKGROUPS
        return self.gpu.milliseconds(kernel, workgroups, arguments)


def work_of_launch(kernel: str, rounds: int, memory_bytes: int, vendor: str) -> int:
    """Bytes read, or operations done, by one launch; a multiply-add is two operations."""
    threads = _CACHE_WORKGROUPS * _THREADS
    if kernel == "read_memory":
        return memory_bytes * rounds
    if kernel.startswith("read_"):
        return threads * rounds * _LOADS_PER_ROUND * _ELEMENT_BYTES
    if kernel.startswith("arithmetic_"):
        numbers = 2 if kernel == "arithmetic_fp16" else 1
        return threads * rounds * _CHAIN_STEPS_PER_ROUND * 2 * numbers
    rows, columns, depth = map(int, kernel.rsplit("_", 1)[1].split("x"))
    waves = threads // (64 if vendor == "AMD" else 32)
    return waves * rounds * _PRODUCTS_PER_ROUND * 2 * rows * columns * depth
