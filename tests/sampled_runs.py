"""Runs of a made-up program that are recorded in slices, with the truth of what ran."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tests.builders import TraceMaker, a_trace
from wavescope.model.columns import OPS, SLICES
from wavescope.model.op_kinds import KERNEL_TYPE
from wavescope.model.trace import Trace

Times = npt.NDArray[np.int64]
OUTSIDE = "outside the slices of time that lite mode records: use --mode standard"
NAMES = ("gemm", "attention_fwd", "rms_norm", "add", "topk_select")
_MEAN_NS = {
    "prefill": (60_000, 40_000, 5_000, 4_000, 0),
    "decode": (12_000, 9_000, 3_000, 2_000, 6_000),
}
_STEPS_OF_BLOCK = {"prefill": 6, "decode": 40}


@dataclass(frozen=True)
class Truth:
    """What a whole run did, by the places of `NAMES`."""

    totals_ns: Times
    counts: Times
    busy_percent: float
    run_ns: int


@dataclass(frozen=True)
class SampledRun:
    """The recorded part of a run, and the whole of it."""

    maker: TraceMaker
    truth: Truth

    @property
    def trace(self) -> Trace:
        return self.maker.build()


def simulated_run(
    seed: int,
    *,
    blocks: int = 300,
    slice_ns: int = 500_000,
    period_ns: int = 8_000_000,
    pauses: bool = False,
) -> SampledRun:
    """A run of blocks of prefill and decode steps, sampled by slices with a jittered period.

    With `pauses` the program often launches nothing for a while, so that some slices are empty.
    """
    rng = np.random.default_rng(seed)
    kinds = np.concatenate([_steps(rng, number) for number in range(blocks)])
    means = np.array([_MEAN_NS["prefill"], _MEAN_NS["decode"]])[kinds]
    names = np.broadcast_to(np.arange(len(NAMES)), means.shape)[means > 0]
    durations = np.maximum(1, rng.gamma(4.0, means[means > 0] / 4)).astype(np.int64)
    gaps = rng.exponential(1_500, len(durations)).astype(np.int64)
    if pauses:
        gaps[rng.integers(0, len(gaps), blocks)] += rng.integers(0, 4_000_000, blocks)
    starts = np.cumsum(durations + gaps) - durations
    run_ns = int(starts[-1] + durations[-1] + gaps[0])
    first = rng.integers(0, period_ns)
    begins = first + np.cumsum(rng.integers(period_ns * 3 // 4, period_ns * 5 // 4, 10_000))
    begins = begins[begins + slice_ns <= run_ns]
    place = np.searchsorted(begins, starts, side="right") - 1
    seen = (place >= 0) & (starts < begins[place] + slice_ns)
    maker = recorded_in(begins, begins + slice_ns, run_ns)
    add_kernels(maker, names[seen], starts[seen], durations[seen])
    kept, missing = int(seen.sum()), int((~seen).sum())
    maker.with_coverage(len(starts), kept, skipped=missing, lost=0, process=0, reason=OUTSIDE)
    totals = np.bincount(names, durations, len(NAMES)).astype(np.int64)
    busy = 100 * float(durations.sum()) / run_ns
    truth = Truth(totals, np.bincount(names, minlength=len(NAMES)), busy, run_ns)
    _add_blocks(maker, kinds, starts, np.count_nonzero(means, axis=1))
    return SampledRun(maker, truth)


def _add_blocks(maker: TraceMaker, kinds: Times, starts: Times, kernels_of_step: Times) -> None:
    """A marker around each block, and one around each of its steps that has a number."""
    first_of_step = np.cumsum(kernels_of_step) - kernels_of_step
    begins = starts[first_of_step]
    ends = np.append(begins[1:], starts[-1] + 1)
    firsts = np.flatnonzero(np.diff(kinds, prepend=-1))
    lasts = np.append(firsts[1:], len(kinds)) - 1
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        name = ("prefill", "decode")[int(kinds[first])]
        maker.with_marker(name, int(begins[first]), int(ends[last]))
        maker.with_marker(f"step {first}", int(begins[first]), int(ends[first]))


def _steps(rng: np.random.Generator, number: int) -> Times:
    kind = ("prefill", "decode")[number % 2]
    return np.full(rng.poisson(_STEPS_OF_BLOCK[kind]) + 1, number % 2)


def recorded_in(starts: Times, ends: Times, run_ns: int) -> TraceMaker:
    """A trace of one process that ran from 0 to `run_ns`, with slices."""
    maker = a_trace().with_process(10, start_ns=0, end_ns=run_ns)
    columns = {"process": np.zeros(len(starts)), "start_ns": starts, "end_ns": ends}
    maker.builder.add(SLICES, columns)
    return maker


def add_kernels(maker: TraceMaker, names: Times, starts: Times, durations: Times) -> None:
    """Kernels on GPU 0, queue 0, called by places in `NAMES`."""
    strings, count = maker.builder.strings, len(starts)
    maker.builder.add(
        OPS,
        {
            "gpu": np.zeros(count),
            "queue": np.zeros(count),
            "process": np.zeros(count),
            "start_ns": starts,
            "end_ns": starts + durations,
            "name": strings.codes(list(NAMES))[names],
            "type": np.full(count, strings.code(KERNEL_TYPE)),
        },
    )
