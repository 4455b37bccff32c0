"""Clocks of 64 ranks from 2,000 collectives: errors and certified intervals, by seed.

    python benchmarks/ranks/clocks.py
    python benchmarks/ranks/clocks.py --ranks 512 --seeds 3 --skew-us 200

10 s of a job; clocks are off by up to 5 ms and 20 ppm, ranks arrive within some 50 us of each other
(exponentially spread), transfers take 50 us, and ranks are done within 3 us of each other.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np

from tests.rank_jobs.truth import TrueClock
from wavescope.analyze.ranks.digest import (
    CollectiveRows,
    CollectiveUse,
    Group,
    RankDigest,
    RankIdentity,
    StepRows,
    TimeBins,
)
from wavescope.analyze.ranks.joining import job_of


def main() -> None:
    options = _arguments()
    print(f"{'seed':>6}{'median us':>12}{'worst us':>12}{'width us':>12}{'missed':>8}{'CPU s':>8}")
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        digests, clocks = a_job(options, seed)
        began = time.process_time()
        job = job_of(digests, range(options.ranks))
        seconds = time.process_time() - began
        errors, widths, missed = [], [], 0
        for place, clock in enumerate(job.clocks):
            if place == 0 or not clock.is_comparable:
                continue
            own = np.linspace(digests[place].first_ns, digests[place].last_ns, 11).astype(np.int64)
            right = job.clocks[0].to_common(clocks[0].own(clocks[place].true(own)))
            errors.append(np.abs(clock.to_common(own) - right).max() / 1000)
            if clock.low_ns is None or clock.high_ns is None:
                continue
            origin = np.array([clock.origin_ns])
            moment = clocks[0].own(clocks[place].true(origin))
            offset_ns = int(job.clocks[0].to_common(moment)[0]) - clock.origin_ns
            missed += not clock.low_ns <= offset_ns <= clock.high_ns
            widths.append((clock.high_ns - clock.low_ns) / 1000)
        print(
            f"{seed:>6}{np.median(errors):>12.2f}{max(errors):>12.2f}{np.median(widths):>12.1f}"
            f"{missed:>8}{seconds:>8.2f}   {len(errors)} of {options.ranks - 1} compared"
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--collectives", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--offset-ms", type=float, default=5.0)
    parser.add_argument("--drift-ppm", type=float, default=20.0)
    parser.add_argument("--skew-us", type=float, default=50.0)
    parser.add_argument("--transfer-us", type=float, default=50.0)
    parser.add_argument("--jitter-us", type=float, default=3.0)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=1)
    return parser.parse_args()


def a_job(options: argparse.Namespace, seed: int) -> tuple[list[RankDigest], list[TrueClock]]:
    """Digests of ranks that do nothing but one collective after the other."""
    rng = np.random.default_rng([seed, 7])
    ranks, count = options.ranks, options.collectives
    planned = np.sort(rng.uniform(0, options.seconds * 1e9, count))
    transfer_ns = options.transfer_us * 1000
    spacing = 2 * transfer_ns + 20_000 * options.skew_us
    planned = np.maximum.accumulate(planned - np.arange(count) * spacing)
    planned = planned + np.arange(count) * spacing
    starts = planned + rng.exponential(options.skew_us * 1000, (ranks, count))
    jitter = rng.uniform(0, options.jitter_us * 1000, (ranks, count))
    ends = starts.max(axis=0) + transfer_ns + jitter
    offset_ns = int(options.offset_ms * 1e6)
    clocks = [
        TrueClock(
            int(rng.integers(-offset_ns, offset_ns + 1)),
            float(rng.uniform(-options.drift_ppm, options.drift_ppm)),
        )
        for _ in range(ranks)
    ]
    return [
        _digest(rank, clocks[rank].own(starts[rank]), clocks[rank].own(ends[rank]), ranks)
        for rank in range(ranks)
    ], clocks


def _digest(rank: int, start_ns: np.ndarray, end_ns: np.ndarray, ranks: int) -> RankDigest:
    count = len(start_ns)
    zeros, small = np.zeros(count, np.int64), np.zeros(count, np.int32)
    none, nothing = np.zeros(0, np.int64), np.zeros(0, np.int32)
    rows = CollectiveRows(
        start_ns=start_ns,
        end_ns=end_ns,
        use=small,
        queue=small,
        sequence=np.arange(count),
        peer=small - 1,
        step=small - 1,
        compute_before_ns=zeros,
        idle_before_ns=zeros,
        host_late_ns=zeros,
        exposed_ns=end_ns - start_ns,
        exposed_tail_ns=end_ns - start_ns,
    )
    steps = StepRows(none, none, none, nothing, *[none] * 8)
    first_ns, last_ns = int(start_ns[0]), int(end_ns[-1])
    return RankDigest(
        RankIdentity(rank=rank, world_size=ranks, host=f"node-{rank // 8}"),
        path=f"rank_{rank}",
        format="generated",
        op_count=count,
        first_ns=first_ns,
        last_ns=last_ns,
        groups=(Group("0", "default_pg", ranks, tuple(range(ranks))),),
        uses=(
            CollectiveUse(
                "all-reduce", 0, "BFloat16", 1 << 20, 2 * (ranks - 1) / ranks, "allreduce"
            ),
        ),
        collectives=rows,
        steps=steps,
        steps_told_by="",
        phases=(),
        kernels=(),
        bins=TimeBins(first_ns, last_ns - first_ns, *[np.zeros(1, np.int64)] * 4),
    )


if __name__ == "__main__":
    main()
