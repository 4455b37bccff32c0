"""What a job says compared with the true times of the hand-made job that it was made of."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tests.unit.analyze.ranks.digest_builder import BuiltJob, own_times
from wavescope.analyze.ranks.job import MISSING, Job, MatchedGroup, RankClock


def true_exchanges(built: BuiltJob, job: Job, group: MatchedGroup) -> list[set[int]]:
    """For each exchange of a group the true ones that its members' rows are, by their starts."""
    known = []
    for member, place in enumerate(group.members.tolist()):
        number = job.numbers[place]
        own = own_times(built.shape, number, built.true_start_ns[number])
        started = job.ranks[place].collectives.start_ns
        rows = group.rows[member]
        known.append(
            [
                None if row == MISSING else int(np.argmin(np.abs(own - started[row])))
                for row in rows.tolist()
            ]
        )
    return [
        {exchange for exchange in cells if exchange is not None}
        for cells in zip(*known, strict=True)
    ]


def clock_error_ns(built: BuiltJob, job: Job, reference: int = 0) -> np.ndarray:
    """[place]: the greatest error of each rank's common time over the whole job."""
    true = np.linspace(0, int(built.true_end_ns.max()), 21).astype(np.int64)
    common = own_times(built.shape, reference, true)
    return np.array(
        [
            np.abs(clock.to_common(own_times(built.shape, job.numbers[place], true)) - common).max()
            for place, clock in enumerate(job.clocks)
        ]
    )


def holds_truth(built: BuiltJob, number: int, clock: RankClock, reference: int = 0) -> bool:
    """Whether the certified interval contains the true offset at the clock's origin."""
    offset, drift = _offset_and_drift(built, number)
    zero, slope = _offset_and_drift(built, reference)
    true = (clock.origin_ns - built.shape.start_ns - offset) / (1 + drift)
    truth = built.shape.start_ns + zero + true * (1 + slope) - clock.origin_ns
    assert clock.low_ns is not None
    assert clock.high_ns is not None
    return clock.low_ns <= truth <= clock.high_ns


def _offset_and_drift(built: BuiltJob, number: int) -> tuple[Fraction, Fraction]:
    shape = built.shape
    offset = shape.offset_ns[number] if len(shape.offset_ns) else 0
    drift = shape.drift_ppm[number] if len(shape.drift_ppm) else 0.0
    return Fraction(int(offset)), Fraction(drift) / 10**6
