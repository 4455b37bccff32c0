"""The simulation itself: nothing happens before its cause, and faults do what their labels say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from tests.rank_jobs import Fault, FaultKind, SimulatedJob, Topology, simulated
from tests.rank_jobs.programs.pipeline import schedule

SYNCHRONIZING = {"allreduce", "_allgather_base", "_reduce_scatter_base", "all_to_allv"}
RUNNING_FAULTS = (
    FaultKind.SLOW_COMPUTE,
    FaultKind.MORE_WORK,
    FaultKind.LATE_DATA,
    FaultKind.LATE_PYTHON,
    FaultKind.SLOW_LINK,
)


def a_job(topology: Topology, *faults: Fault, seed: int = 3, **changes: object) -> SimulatedJob:
    chosen: dict[str, object] = {"ranks": 8, "steps": 4, **changes}
    return simulated(topology, faults, seed=seed, **chosen)  # type: ignore[arg-type]


def exchanges(job: SimulatedJob) -> list[tuple[np.ndarray, np.ndarray, str]]:
    """Starts and ends of the members of each exchange, in true time."""
    found: dict[int, tuple[list[float], list[float], str]] = {}
    for issued in job.columns.issued:
        if issued.operation is None or issued.exchange is None:
            continue
        for rank in np.flatnonzero(issued.exchange >= 0).tolist():
            starts, ends, _ = found.setdefault(
                int(issued.exchange[rank]), ([], [], issued.operation.name)
            )
            starts.append(issued.start[rank])
            ends.append(issued.end[rank])
    return [(np.array(starts), np.array(ends), name) for starts, ends, name in found.values()]


@given(
    topology=st.sampled_from(Topology),
    kind=st.sampled_from(RUNNING_FAULTS),
    rank=st.integers(0, 7),
    size=st.floats(0.01, 1.0),
    seed=st.integers(0, 1000),
)
@limits(max_examples=20, deadline=None)
def test_nothing_ends_before_its_cause(
    topology: Topology, kind: FaultKind, rank: int, size: float, seed: int
) -> None:
    job = a_job(topology, Fault(kind, (rank,), size=size), seed=seed, steps=2)

    for starts, ends, _ in exchanges(job):
        assert len(starts) >= 2
        assert ends.min() > starts.max()
        assert np.ptp(ends) <= 3_000
    columns = job.columns
    ran = ~np.isnan(columns.start)
    assert (columns.start[ran] > columns.launch[ran]).all()
    assert (columns.launch[ran] >= columns.call_start[ran]).all()
    assert (columns.end[ran] > columns.start[ran]).all()


@pytest.mark.parametrize("topology", Topology)
def test_ops_of_a_queue_follow_each_other(topology: Topology) -> None:
    job = a_job(topology, Fault(FaultKind.SLOW_COMPUTE, (2,), size=0.3))

    columns = job.columns
    for rank in range(8):
        for queue in np.unique(columns.queue).tolist():
            mine = (columns.queue == queue) & ~np.isnan(columns.start[:, rank])
            start, end = columns.start[mine, rank], columns.end[mine, rank]
            order = np.argsort(start)
            assert (start[order][1:] >= end[order][:-1]).all()


@pytest.mark.parametrize("topology", Topology)
def test_an_exchange_has_all_ranks_of_its_group_once(topology: Topology) -> None:
    job = a_job(topology, ranks=16)

    members: dict[int, list[int]] = {}
    groups: dict[int, set[int]] = {}
    for issued in job.columns.issued:
        if issued.exchange is None or issued.layout is None or issued.operation is None:
            continue
        for rank in np.flatnonzero(issued.exchange >= 0).tolist():
            number = int(issued.exchange[rank])
            members.setdefault(number, []).append(rank)
            if issued.peer is None:
                group = issued.layout.group_of_rank[rank]
                groups[number] = set(issued.layout.members[group].tolist())
            else:
                groups.setdefault(number, set()).add(int(issued.peer[rank]))
    assert members
    for number, ranks in members.items():
        assert len(ranks) == len(set(ranks))
        assert set(ranks) == groups[number]


def test_without_a_fault_nothing_is_delayed() -> None:
    job = a_job(Topology.DDP)

    assert job.truth.label.kind == "nobody"
    assert job.truth.delay_ns.tolist() == [0, 0, 0, 0]
    assert job.truth.step_ns.sum() == pytest.approx(job.columns.last_ns, abs=10)


@pytest.mark.parametrize("topology", Topology)
@pytest.mark.parametrize("kind", RUNNING_FAULTS)
def test_a_fault_delays_its_steps_and_no_others(topology: Topology, kind: FaultKind) -> None:
    # Rank 0 is in the first stage of a pipeline, where nothing hides a late host.
    job = a_job(topology, Fault(kind, (0,), size=1.0, steps=(1, 3)), steps=5)

    delay_ns = job.truth.delay_ns
    assert delay_ns[0] == 0
    assert (delay_ns[1:3] > 0.01 * job.truth.clean_step_ns[1:3]).all()
    # Who was in front of the others before may be so no more, or still be late.
    assert abs(delay_ns[4]) < 0.01 * job.truth.clean_step_ns[4]


def test_a_lower_clock_makes_kernels_longer_and_nothing_larger() -> None:
    clean, slow = (
        a_job(Topology.DDP, *faults)
        for faults in ((), (Fault(FaultKind.SLOW_COMPUTE, (5,), size=0.2),))
    )

    lengths = [job.columns.end - job.columns.start for job in (clean, slow)]
    is_gemm = [each.kernel.startswith("Cijk") for each in clean.columns.issued]
    ratio = (lengths[1] / lengths[0])[is_gemm]
    assert ratio[:, 5] == pytest.approx(1.2, abs=0.02)
    assert ratio[:, [0, 1, 2, 3, 4, 6, 7]] == pytest.approx(1.0, abs=1e-9)
    assert (clean.columns.work == slow.columns.work).all()
    assert slow.truth.label.ranks == (5,)
    assert slow.truth.label.cause == "slower_compute"


def test_more_work_is_seen_in_the_launches() -> None:
    clean, more = (
        a_job(Topology.EXPERTS, *faults)
        for faults in ((), (Fault(FaultKind.MORE_WORK, (5,), size=0.5),))
    )

    is_expert = ["fmoe" in each.kernel for each in clean.columns.issued]
    ratio = (more.columns.work / clean.columns.work)[is_expert]
    assert ratio[:, 5] == pytest.approx(1.5, abs=0.001)
    assert (ratio[:, [0, 1, 2, 3, 4, 6, 7]] == 1).all()
    assert more.truth.label.cause == "more_work"


@pytest.mark.parametrize("kind", [FaultKind.LATE_DATA, FaultKind.LATE_PYTHON])
def test_a_late_host_launches_late_what_runs_as_fast_as_ever(kind: FaultKind) -> None:
    clean, late = (
        a_job(Topology.TENSOR, *faults) for faults in ((), (Fault(kind, (1,), size=0.5),))
    )

    is_compute = late.columns.queue == 7
    lengths = [(job.columns.end - job.columns.start)[is_compute] for job in (clean, late)]
    assert lengths[0] == pytest.approx(lengths[1], abs=0.01)
    idle = late.columns.start[is_compute, 1] - late.columns.launch[is_compute, 1]
    # Where the host is late, the op begins as soon as it is launched.
    assert (idle[np.argsort(late.columns.start[is_compute, 1])] == 4_000).sum() >= 4
    assert late.truth.label.cause == "host_late"


def test_a_slow_link_slows_the_groups_that_use_it() -> None:
    job, clean = (
        a_job(Topology.TENSOR, *faults, ranks=16, gpus_per_host=4, group_size=4)
        for faults in ((Fault(FaultKind.SLOW_LINK, (6,), size=1.0),), ())
    )

    lengths = {
        name: [ends.min() - starts.max() for starts, ends, _ in exchanges(each)]
        for name, each in (("slow", job), ("clean", clean))
    }
    slowed = np.array(lengths["slow"]) > 1.3 * np.array(lengths["clean"])
    with_rank = {
        int(issued.exchange[6])
        for issued in job.columns.issued
        if issued.exchange is not None
        # The reduction of a single number has nothing that a link could slow.
        and issued.operation is not None
        and issued.operation.message_bytes > 4
    }
    assert set(np.flatnonzero(slowed).tolist()) == with_rank


def test_a_rotating_culprit_is_another_rank_each_few_steps() -> None:
    fault = Fault(FaultKind.SLOW_COMPUTE, (1, 4, 6), size=0.2, rotate_every=2)

    job = a_job(Topology.DDP, fault, steps=6)

    assert [fault.active_ranks(step) for step in range(6)] == [(1,), (1,), (4,), (4,), (6,), (6,)]
    assert (job.truth.label.kind, job.truth.label.ranks) == ("rotating", (1, 4, 6))


def test_hosts_have_their_ranks_as_culprits() -> None:
    job = a_job(
        Topology.DDP, Fault(FaultKind.OTHER_GPU_MODEL, hosts=(1,)), ranks=8, gpus_per_host=4
    )

    assert (job.truth.label.kind, job.truth.label.ranks) == ("gpu_model", (4, 5, 6, 7))
    models = [trace.agents.strings("model")[0] for trace in job.traces]
    assert models == ["AMD Instinct MI300X"] * 4 + ["AMD Instinct MI250X"] * 4


def test_the_same_seed_gives_the_same_job_and_another_does_not() -> None:
    jobs = [a_job(Topology.EXPERTS, seed=seed) for seed in (7, 7, 8)]

    starts = [job.traces[3].ops["start_ns"] for job in jobs]
    assert starts[0].tolist() == starts[1].tolist()
    assert starts[0][:50].tolist() != starts[2][:50].tolist()


@pytest.mark.parametrize("stages", [1, 2, 4, 12])
def test_each_stage_does_every_microbatch_once_in_each_direction(stages: int) -> None:
    for stage in range(stages):
        order = schedule(stage, stages)

        assert sorted(order) == [(way, number) for way in (False, True) for number in range(8)]
        for number in range(8):
            assert order.index((True, number)) < order.index((False, number))
