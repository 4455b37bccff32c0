"""Where every rank is late in its turn there are no others to compare with, only other steps."""

from __future__ import annotations

import pytest

from tests.rank_jobs import Fault, FaultKind, Topology, simulated
from wavescope.analyze.ranks.joining import job_of
from wavescope.analyze.ranks.stragglers import CulpritKind, stragglers_of


@pytest.mark.parametrize(
    ("kind", "size", "cause"),
    [
        (FaultKind.SLOW_COMPUTE, 0.2, "slower_compute"),
        (FaultKind.LATE_DATA, 0.2, "host_late"),
    ],
)
def test_all_ranks_may_be_late_in_turn(kind: FaultKind, size: float, cause: str) -> None:
    fault = Fault(kind, (0, 1, 2, 3), size=size, rotate_every=2)
    made = simulated(Topology.DECODE, [fault], seed=1, ranks=4)

    report = stragglers_of(job_of(made.digests(), made.numbers))

    assert [culprit.kind for culprit in report.culprits] == [CulpritKind.ROTATING]
    assert report.culprits[0].places == (0, 1, 2, 3)
    assert report.culprits[0].cause.value == cause
    assert "nan" not in report.culprits[0].evidence.lower()
