"""Faults of simulated jobs in every way of sharing work, with the simulated clocks.

benchmarks/ranks/score.py does the same for hundreds of jobs and with estimated clocks.
"""

from __future__ import annotations

import pytest

from tests.rank_jobs import Fault, FaultKind, Topology, simulated
from tests.rank_jobs.true_job import with_true_clocks
from wavescope.analyze.ranks.joining import job_of
from wavescope.analyze.ranks.stragglers import StragglerReport, Verdict, stragglers_of

_STEPS = 10


def _report(topology: Topology, *faults: Fault, seed: int, **settings: object) -> StragglerReport:
    job = simulated(topology, faults, seed=seed, steps=_STEPS, **settings)  # type: ignore[arg-type]
    return stragglers_of(with_true_clocks(job_of(job.digests(), job.numbers), job.truth))


@pytest.mark.parametrize("topology", list(Topology))
def test_nobody_is_named_in_a_clean_job(topology: Topology) -> None:
    report = _report(topology, seed=3)

    assert (report.verdict, report.culprits) == (Verdict.NOBODY, ())


def test_one_of_few_hosts_that_launches_a_little_later_is_nobody() -> None:
    # Its GPU is idle for 1.7 % of the step longer, and the other three are alike by chance.
    job = simulated(
        Topology.DECODE, seed=52065801, ranks=4, steps=20, arguments=False, reads_back_every=1
    )

    report = stragglers_of(job_of(job.digests(), job.numbers))

    assert (report.verdict, report.culprits) == (Verdict.NOBODY, ())


@pytest.mark.parametrize(
    ("topology", "fault", "settings", "expected"),
    [
        (Topology.DDP, Fault(FaultKind.SLOW_COMPUTE, (5,), size=0.1), {}, "rank slower_compute"),
        (Topology.FSDP, Fault(FaultKind.MORE_WORK, (2,), size=0.2), {}, "rank more_work"),
        (Topology.TENSOR, Fault(FaultKind.LATE_DATA, (6,), size=0.2), {}, "rank host_late"),
        (
            Topology.PIPELINE,
            Fault(FaultKind.SLOW_COMPUTE, (5,), size=0.2),
            {},
            "rank slower_compute",
        ),
        (Topology.EXPERTS, Fault(FaultKind.LATE_PYTHON, (1,), size=0.6), {}, "rank host_late"),
        (Topology.DECODE, Fault(FaultKind.SLOW_COMPUTE, (7,), size=0.2), {}, "rank slower_compute"),
        (
            Topology.TENSOR,
            Fault(FaultKind.OTHER_GPU_MODEL, hosts=(1,), size=0.25),
            {"gpus_per_host": 4},
            "gpu_model slower_compute",
        ),
        (
            # Both stages of the host have no rank elsewhere: only kernels tell.
            Topology.PIPELINE,
            Fault(FaultKind.SLOW_HOST, hosts=(0,), size=0.2),
            {"gpus_per_host": 4},
            "host slower_compute",
        ),
        (
            Topology.PIPELINE,
            Fault(FaultKind.SLOW_LINK, (3,), size=3.0),
            {"gpus_per_host": 4},
            "link slow_link",
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Topology) else "",
)
def test_the_fault_is_named(
    topology: Topology, fault: Fault, settings: dict[str, object], expected: str
) -> None:
    report = _report(topology, fault, seed=11, **settings)

    (culprit,) = report.culprits
    assert f"{culprit.kind.value} {culprit.cause.value}" == expected
    assert culprit.places == (
        fault.ranks or tuple(range(4 * fault.hosts[0], 4 * fault.hosts[0] + 4))
    )
    assert culprit.delay_ns > 0
