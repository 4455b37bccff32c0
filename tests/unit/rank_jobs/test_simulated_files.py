"""What is recorded of simulated jobs: own clocks, cut traces, files that read back the same."""

from __future__ import annotations

from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rank_jobs import Fault, FaultKind, Settings, Topology, TrueClock, simulated
from tests.rank_jobs.true_job import known_clock
from tests.rank_jobs.truth import EPOCH_NS
from wavescope.analyze.collectives import collectives_result
from wavescope.analyze.ranks.digest import DigestOptions, RankDigest, digests_of
from wavescope.analyze.steps import steps_of
from wavescope.formats import open_source
from wavescope.model.trace import Trace


def assert_same(found: RankDigest, expected: RankDigest) -> None:
    """Equal in everything but where it was read from."""
    for part in fields(RankDigest):
        if part.name in {"path", "format", "identity", "clock", "notes"}:
            continue
        one, other = getattr(found, part.name), getattr(expected, part.name)
        if part.name in {"collectives", "steps", "bins"}:
            for column in fields(one):
                values = np.asarray(getattr(one, column.name)).tolist()
                assert values == np.asarray(getattr(other, column.name)).tolist(), column.name
        else:
            assert one == other, part.name


def digest_of(path: Path) -> RankDigest:
    with closing(open_source(path)) as source:
        (digest,) = digests_of(Trace(source), DigestOptions())
    return digest


@pytest.mark.parametrize("topology", [Topology.TENSOR, Topology.PIPELINE, Topology.DECODE])
@pytest.mark.parametrize("suffix", ["db", "pftrace", "json.gz", "json"])
def test_written_traces_have_the_same_digests(
    tmp_path: Path, topology: Topology, suffix: str
) -> None:
    job = simulated(topology, seed=4, ranks=4, steps=3)

    paths = job.write(tmp_path, suffix, ranks=(0, 3))

    assert [path.name for path in paths] == [f"rank_0.{suffix}", f"rank_3.{suffix}"]
    in_memory = job.digests()
    for path, expected in zip(paths, (in_memory[0], in_memory[3]), strict=True):
        found = digest_of(path)
        assert_same(found, expected)
        known = found.identity
        if suffix.startswith("json"):
            # PyTorch's profiler writes neither the highest clock nor the host.
            known = replace(known, host="node-000", clock_mhz=2100)
            known = replace(known, gpu_uuid=expected.identity.gpu_uuid)
        assert known == expected.identity


def test_traces_are_by_the_clocks_of_the_truth() -> None:
    job = simulated(Topology.DDP, seed=5, ranks=4, steps=3)

    for rank, trace in zip(job.numbers, job.traces, strict=True):
        clock = job.truth.clocks[rank]
        true_ns = clock.true(trace.ops["start_ns"])
        starts = job.columns.start[:, rank]
        nearest = starts[np.abs(starts[:, None] - true_ns).argmin(axis=0)]
        assert np.abs(nearest - true_ns).max() <= 1.5
        assert abs(clock.offset_ns) <= 5_000_000
        assert abs(clock.drift_ppm) <= 20


def test_a_clock_that_drifts_and_jumps() -> None:
    clock = TrueClock(1_000, 10.0, jump_at_ns=500_000_000, jump_ns=7_000)

    assert clock.own([0, 100_000_000, 1_000_000_000]).tolist() == [
        EPOCH_NS + 1_000,
        EPOCH_NS + 100_000_000 + 1_000 + 1_000,
        EPOCH_NS + 1_000_000_000 + 1_000 + 10_000 + 7_000,
    ]


@given(
    offset_ns=st.integers(-(10**10), 10**10),
    drift_ppm=st.floats(-200, 200),
    true_ns=st.integers(0, 10**11),
)
def test_a_known_clock_gives_true_time(offset_ns: int, drift_ppm: float, true_ns: int) -> None:
    clock = TrueClock(offset_ns, drift_ppm)

    common = known_clock(clock).to_common(clock.own([true_ns]))

    assert abs(int(common[0]) - EPOCH_NS - true_ns) <= 2
    assert abs(float(clock.true(clock.own(true_ns))) - true_ns) <= 1


@pytest.mark.parametrize("topology", Topology)
def test_the_exchanges_of_the_truth_are_the_collectives_of_the_trace(topology: Topology) -> None:
    job = simulated(topology, seed=6, ranks=8, steps=3)

    for rank, digest in zip(job.numbers, job.digests(), strict=True):
        truth = job.truth.exchanges[rank]
        assert digest.collectives.start_ns.tolist() == truth.start_ns.tolist()
        assert len(set(truth.exchange.tolist())) == len(truth.exchange)


def test_steps_are_marked_and_hold_their_ops() -> None:
    job = simulated(Topology.TENSOR, seed=1, ranks=4, steps=6, recording_spread=0.0)

    steps = steps_of(job.traces[2])

    assert len(steps) == 6
    per_step = np.bincount(steps.of_op[steps.of_op >= 0])
    assert (per_step == len(job.columns.issued) // 6).all()


def test_recordings_begin_and_end_at_different_moments() -> None:
    job = simulated(Topology.DDP, seed=2, ranks=8, steps=5, recording_spread=1.5)

    counts = {len(trace.ops) for trace in job.traces}

    assert len(counts) == 8
    assert max(counts) < len(job.columns.issued)


def test_without_arguments_only_names_are_left() -> None:
    told = simulated(Topology.DDP, seed=2, ranks=2, steps=3)
    bare = simulated(Topology.DDP, seed=2, ranks=2, steps=3, arguments=False)

    groups = [
        {row["group"] for row in collectives_result(job.traces[0]).table("collectives").records()}
        for job in (told, bare)
    ]
    assert "0 default_pg" in groups[0]
    assert groups[1] == {None}
    assert told.traces[0].ops["start_ns"].tolist() == bare.traces[0].ops["start_ns"].tolist()


def test_a_missing_file_is_missing_and_a_half_one_unreadable(tmp_path: Path) -> None:
    faults = [Fault(FaultKind.MISSING_FILE, (1,)), Fault(FaultKind.HALF_FILE, (2,), size=0.5)]

    job = simulated(Topology.DDP, faults, seed=2, ranks=4, steps=4)
    paths = job.write(tmp_path, "json")

    assert job.numbers == (0, 2, 3)
    assert [path.name for path in paths] == ["rank_0.json", "rank_2.json", "rank_3.json"]
    assert job.truth.missing_ranks == (1,)
    assert job.truth.half_ranks == (2,)
    assert len(job.traces[1].ops) < 0.6 * len(job.traces[0].ops)
    assert not paths[1].read_bytes().endswith(b"]}")


def test_a_restarted_rank_begins_later_and_a_mismatched_one_has_less() -> None:
    faults = [
        Fault(FaultKind.RESTART, (0,), size=0.5),
        Fault(FaultKind.MISSING_COLLECTIVES, (3,), size=0.1),
    ]

    job = simulated(Topology.DDP, faults, seed=2, ranks=4, steps=10, recording_spread=0.0)

    counts = [len(job.truth.exchanges[rank].exchange) for rank in range(4)]
    assert counts == [20, 40, 40, 36]
    assert job.truth.mismatched_ranks == (3,)


def test_settings_may_be_given_whole_or_by_name() -> None:
    whole = simulated(Topology.DDP, seed=1, ranks=2, steps=2, settings=Settings(offset_ns=10))
    named = simulated(Topology.DDP, seed=1, ranks=2, steps=2, offset_ns=10)

    assert whole.truth.clocks == named.truth.clocks
    with pytest.raises(TypeError):
        simulated(Topology.DDP, seed=1, ranks=2, steps=2, no_such_setting=1)
