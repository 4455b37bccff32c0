"""Exchanges of several ranks matched: by numbers, by arguments, by order; what does not fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.analyze.ranks.digest_builder import (
    WORLD,
    BuiltJob,
    Collective,
    Group,
    JobShape,
    Slot,
    a_digest,
    a_job,
)
from tests.unit.analyze.ranks.job_truth import true_exchanges
from wavescope.analyze.ranks.job import MISSING, Job, MatchedBy
from wavescope.analyze.ranks.joining import job_of

TENSOR = ((0, 1, 2, 3), (4, 5, 6, 7))
DATA = ((0, 4), (1, 5), (2, 6), (3, 7))
TWO_WAYS = (
    Slot(TENSOR, "tp"),
    Slot(TENSOR, "tp", size_bytes=1 << 21),
    Slot(DATA, "dp", operation="reduce-scatter"),
)
MANY = JobShape(rank_count=8, step_count=20, slots=TWO_WAYS, jitter_ns=3000)


def joined(built: BuiltJob) -> Job:
    return job_of(built.digests, built.numbers)


def members(job: Job) -> list[tuple[str, tuple[int, ...]]]:
    return [(group.name, tuple(group.members.tolist())) for group in job.groups]


def is_right(built: BuiltJob, job: Job) -> bool:
    return all(
        len(exchange) <= 1 for group in job.groups for exchange in true_exchanges(built, job, group)
    )


ALL_GROUPS = [
    ("tp", (0, 1, 2, 3)),
    ("dp", (0, 4)),
    ("dp", (1, 5)),
    ("dp", (2, 6)),
    ("dp", (3, 7)),
    ("tp", (4, 5, 6, 7)),
]


def test_sequence_numbers_match_exchanges() -> None:
    job = joined(a_job(rank_count=3, step_count=4, first_step=[0, 1, 0]))

    (group,) = job.groups
    assert group.matched_by is MatchedBy.SEQUENCE
    assert group.confidence == 1.0
    assert group.rows.tolist() == [
        [0, 1, 2, 3, 4, 5, 6, 7],
        [-1, -1, 0, 1, 2, 3, 4, 5],
        [0, 1, 2, 3, 4, 5, 6, 7],
    ]
    assert [group.uses[use].size_bytes for use in group.use[:4]] == [1 << 20, 1 << 22] * 2
    assert [(row.kind, row.places, row.exchange_count) for row in job.mismatches] == [
        ("missing", (1,), 2)
    ]
    assert "2 before the first" in job.mismatches[0].sentence


@pytest.mark.parametrize("is_sequenced", [True, False])
@pytest.mark.parametrize("is_labelled", [True, False])
@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize("first_step", [(), (0, 1, 2, 0, 0, 1, 3, 0)])
def test_groups_of_equal_names_are_told_apart(
    is_sequenced: bool, is_labelled: bool, is_listed: bool, first_step: tuple[int, ...]
) -> None:
    built = a_job(
        MANY,
        is_sequenced=is_sequenced,
        is_labelled=is_labelled,
        is_listed=is_listed,
        first_step=first_step,
    )

    job = joined(built)

    assert members(job) == ALL_GROUPS
    assert is_right(built, job)
    assert min(group.confidence for group in job.groups) > 0.6
    # Ranks 0 and 4 have everything, rank 1 and 5 begin a step later, 2 and 6 two.
    later = (1, 2) if first_step else (0, 0)
    assert [group.exchange_count for group in job.groups] == [
        40,
        20,
        20 - later[0],
        20 - later[1],
        20,
        40,
    ]
    assert {row.kind for row in job.mismatches} <= {"missing"}


def test_kernels_alone_tell_groups_by_their_times() -> None:
    built = a_job(MANY, is_sequenced=False, is_labelled=False, is_grouped=False, is_sized=False)

    job = joined(built)

    assert [places for _, places in members(job)] == [places for _, places in ALL_GROUPS]
    assert is_right(built, job)
    assert {group.matched_by for group in job.groups} == {MatchedBy.ORDER}
    assert all(0.4 < group.confidence < 0.7 for group in job.groups)
    assert {row.kind for row in job.mismatches} == {"order"}


def test_kernels_of_one_group_of_all_are_one_group() -> None:
    built = a_job(rank_count=4, step_count=20, jitter_ns=3000, is_sequenced=False, is_grouped=False)

    job = joined(built)

    assert members(job) == [("", (0, 1, 2, 3))]
    assert job.mismatches == ()
    assert is_right(built, job)


def test_members_that_nothing_tells_apart_are_said() -> None:
    # Without noise and with no member list all eight ranks do the same at the same times.
    built = a_job(MANY, skew_ns=0, jitter_ns=0, is_listed=False)

    job = joined(built)

    tensor = job.groups[0]
    assert tensor.members.tolist() == [0, 1, 2, 3]
    assert tensor.confidence < 0.5
    assert any(
        row.kind == "order" and "neighbours are supposed" in row.sentence for row in job.mismatches
    )


def test_an_unlisted_rank_joins_the_listed_group_of_its_name() -> None:
    built = a_job(rank_count=3, step_count=3)
    digests = list(built.digests)
    rows = [row._replace(group=Group("world", "", 3)) for row in built.rows[1]]
    digests[1] = built.digest(1, rows)

    job = job_of(digests, built.numbers)

    assert members(job) == [("world", (0, 1, 2))]
    assert job.mismatches == ()


def test_two_groups_of_the_same_members_stay_two() -> None:
    everybody = ((0, 1),)
    slots = (Slot(everybody, "first"), Slot(everybody, "second"))

    job = joined(a_job(rank_count=2, step_count=2, slots=slots))

    assert members(job) == [("first", (0, 1)), ("second", (0, 1))]
    assert [group.exchange_count for group in job.groups] == [2, 2]


def test_absent_and_silent_members_are_said() -> None:
    built = a_job(rank_count=4, step_count=3)

    job = job_of([built.digest(0), built.digest(1), a_digest(rank=3)], [0, 1, 3])

    assert [(row.kind, row.places) for row in job.mismatches] == [("missing", (2,)), ("absent", ())]
    assert job.mismatches[0].sentence == (
        "group world: nothing of its 6 exchanges was recorded on its rank 3."
    )
    assert job.mismatches[1].sentence == "group world: no trace was given of its rank 2."
    assert job.groups[0].size == 4


def test_a_group_larger_than_its_traces_is_said() -> None:
    built = a_job(rank_count=4, step_count=3, is_listed=False)

    job = job_of(built.digests[:3], [0, 1, 2])

    assert [row.sentence for row in job.mismatches] == [
        "group world: it has 4 members, traces of 3 were given."
    ]


@pytest.mark.parametrize("is_sequenced", [True, False])
def test_another_operation_is_not_matched_and_said(is_sequenced: bool) -> None:
    built = a_job(rank_count=3, step_count=12, is_sequenced=is_sequenced)
    rows = list(built.rows[1])
    rows[7] = rows[7]._replace(operation="all-gather")
    digests = [built.digest(0), built.digest(1, rows), built.digest(2)]

    job = job_of(digests, built.numbers)

    (group,) = job.groups
    assert group.exchange_count == 24
    assert group.rows[1, 7] == MISSING
    assert np.count_nonzero(group.rows == MISSING) == 1
    assert group.uses[group.use[7]].operation == "all-reduce"
    assert [(row.kind, row.places, row.exchange_count) for row in job.mismatches] == [
        ("operation", (1,), 1)
    ]
    assert group.confidence < 1.0
    assert is_right(built, job)


def test_another_size_is_matched_and_said() -> None:
    built = a_job(rank_count=3, step_count=12)
    rows = list(built.rows[2])
    rows[4] = rows[4]._replace(size_bytes=7)

    job = job_of([*built.digests[:2], built.digest(2, rows)], built.numbers)

    assert np.count_nonzero(job.groups[0].rows == MISSING) == 0
    assert [(row.kind, row.places, row.exchange_count) for row in job.mismatches] == [
        ("size", (2,), 1)
    ]


def test_sizes_of_an_uneven_exchange_may_differ() -> None:
    slots = (Slot(operation="all-to-all"),)
    built = a_job(rank_count=2, step_count=6, slots=slots)
    rows = [row._replace(size_bytes=1000 + place) for place, row in enumerate(built.rows[1])]

    job = job_of([built.digest(0), built.digest(1, rows)], built.numbers)

    assert job.mismatches == ()
    assert job.groups[0].confidence == 1.0


@pytest.mark.parametrize("lost", [0, 1, 9, 22, 23])
@pytest.mark.parametrize("is_labelled", [True, False])
def test_a_lost_exchange_is_found_by_times(lost: int, is_labelled: bool) -> None:
    # All exchanges look the same: only times tell which one rank 1 lacks.
    built = a_job(
        rank_count=3,
        step_count=12,
        slots=(Slot(), Slot(), Slot(operation="all-gather")),
        jitter_ns=2000,
        is_sequenced=False,
        is_labelled=is_labelled,
    )
    rows = [row for place, row in enumerate(built.rows[1]) if place != lost]

    job = job_of([built.digest(0), built.digest(1, rows), built.digest(2)], built.numbers)

    (group,) = job.groups
    assert is_right(built, job)
    assert group.exchange_count == 36
    assert np.flatnonzero(group.rows[1] == MISSING).tolist() == [lost]
    assert [(row.kind, row.places, row.exchange_count) for row in job.mismatches] == [
        ("missing", (1,), 1)
    ]


def test_a_doubled_exchange_is_an_exchange_of_its_own() -> None:
    built = a_job(
        rank_count=3,
        step_count=12,
        slots=(Slot(), Slot(operation="all-gather"), Slot(operation="reduce-scatter")),
        is_sequenced=False,
    )
    rows = list(built.rows[2])
    again = rows[10]._replace(start_ns=rows[10].end_ns + 10, end_ns=rows[10].end_ns + 20)

    job = job_of([*built.digests[:2], built.digest(2, [*rows, again])], built.numbers)

    (group,) = job.groups
    assert group.exchange_count == 37
    assert np.count_nonzero(group.rows[:2] == MISSING) == 2
    assert [(row.kind, row.places, row.exchange_count) for row in job.mismatches] == [
        ("missing", (0, 1), 1)
    ]


@settings(max_examples=40)
@given(data=st.data())
def test_whatever_is_lost_or_doubled_no_two_exchanges_become_one(data: st.DataObject) -> None:
    built = a_job(
        rank_count=3,
        step_count=10,
        slots=(Slot(), Slot(), Slot(operation="all-gather"), Slot(size_bytes=77)),
        jitter_ns=2000,
        skew_ns=80_000,
        is_sequenced=data.draw(st.booleans()),
        is_labelled=data.draw(st.booleans()),
        seed=data.draw(st.integers(0, 5)),
    )
    lost = data.draw(st.sets(st.integers(0, 39), max_size=5))
    doubled = data.draw(st.sets(st.integers(0, 39), max_size=3))
    rows = [row for place, row in enumerate(built.rows[1]) if place not in lost]
    rows += [
        row._replace(start_ns=row.end_ns + 1, end_ns=row.end_ns + 2)
        for place, row in enumerate(built.rows[1])
        if place in doubled - lost
    ]

    job = job_of([built.digest(0), built.digest(1, rows), built.digest(2)], built.numbers)

    (group,) = job.groups
    wrong = [exchange for exchange in true_exchanges(built, job, group) if len(exchange) > 1]
    assert len(wrong) <= len(doubled)
    assert np.count_nonzero(group.rows[[0, 2]] != MISSING) == 80
    # One lost and its neighbour doubled look like nothing happened.
    if len(lost) != len(doubled - lost):
        assert job.mismatches


def test_counts_of_each_rank_itself_are_no_numbers_of_exchanges() -> None:
    built = a_job(rank_count=2, step_count=12, jitter_ns=1000)
    rows = [row._replace(sequence=row.sequence + 1) for row in built.rows[1]]

    job = job_of([built.digest(0), built.digest(1, rows)], built.numbers)

    assert job.groups[0].matched_by is MatchedBy.ARGUMENTS
    assert is_right(built, job)


def test_numbers_that_begin_again_or_come_twice_are_told_apart() -> None:
    counts = [5, 6, 6, 7, 0, 1, 2]
    rows = [
        Collective(1000 * place, 1000 * place + 100, sequence=count)
        for place, count in enumerate(counts)
    ]
    late = [row._replace(start_ns=row.start_ns + 50) for row in rows[1:]]

    job = job_of([a_digest(rows), a_digest(late, rank=1)], [0, 1])

    assert job.groups[0].rows.tolist() == [[0, 1, 2, 3, 4, 5, 6], [-1, 0, 1, 2, 3, 4, 5]]


def test_an_ambiguous_order_is_left_open() -> None:
    # Exactly periodic, clocks that say nothing: seven shifts fit equally.
    rows = [Collective(1000 * place, 1000 * place + 100) for place in range(12)]
    later = [
        row._replace(start_ns=row.start_ns + 10**12, end_ns=row.end_ns + 10**12) for row in rows[:6]
    ]

    job = job_of([a_digest(rows), a_digest(later, rank=1)], [0, 1])

    assert job.groups[0].confidence < 0.7
    assert [row.kind for row in job.mismatches if row.kind == "order"] == ["order"]


def test_clocks_that_are_near_tell_the_shift() -> None:
    rows = [Collective(1_000_000 * place, 1_000_000 * place + 100) for place in range(12)]

    job = job_of([a_digest(rows), a_digest(rows[3:], rank=1)], [0, 1])

    assert job.groups[0].rows[1].tolist() == [-1, -1, -1, *range(9)]
    assert "order" not in {row.kind for row in job.mismatches}


def test_sends_and_receives_are_matched_by_peers() -> None:
    def moved(name: str, peer: int, first_ns: int) -> list[Collective]:
        return [
            Collective(
                first_ns + 100_000 * place,
                first_ns + 100_000 * place + 500,
                "send/recv",
                name=name,
                peer=peer,
                group=Group("pp", "", 2),
            )
            for place in range(4)
        ]

    first = a_digest(moved("isend", 5, 0), rank=3)
    second = a_digest([*moved("irecv", 3, 90), *moved("isend", 7, 200)], rank=5)

    job = job_of([first, second], [3, 5])

    assert members(job) == [("3 -> 5", (0, 1)), ("5 -> 7", (1,))]
    assert [group.sender for group in job.groups] == [0, 0]
    assert job.groups[0].rows.tolist() == [[0, 1, 2, 3], [0, 2, 4, 6]]
    assert [row.sentence for row in job.mismatches] == [
        "group 5 -> 7: no trace was given of its rank 7."
    ]


def test_sends_without_peers_are_said() -> None:
    rows = [Collective(0, 10, "send/recv", group=None), Collective(20, 30, "send/recv", group=None)]

    job = job_of([a_digest(rows), a_digest(rows, rank=1)], [0, 1])

    assert job.groups == ()
    assert [(row.kind, row.group, row.places, row.exchange_count) for row in job.mismatches] == [
        ("order", MISSING, (0, 1), 4)
    ]


def test_ranks_come_in_any_order() -> None:
    built = a_job(rank_count=4, step_count=2)

    job = job_of([built.digests[rank] for rank in (2, 0, 3, 1)], [2, 0, 3, 1])

    assert job.numbers == (0, 1, 2, 3)
    assert [rank.identity.rank for rank in job.ranks] == [0, 1, 2, 3]


def test_a_number_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="number of its own"):
        job_of([a_digest(), a_digest()], [1, 1])


def test_ranks_without_anything_are_a_job() -> None:
    job = job_of([a_digest(), a_digest(rank=1)], [0, 1])

    assert job.groups == ()
    assert job.steps.shape == (2, 0)
    assert job_of([], []).clocks == ()


def test_a_list_that_was_cut_short_does_not_split_a_group() -> None:
    cut = Group("0", "default", 64, tuple(range(30)))
    rows = [
        Collective(1000 * place, 1000 * place + 10, group=cut, sequence=place) for place in range(5)
    ]

    job = job_of([a_digest(rows), a_digest(rows, rank=40)], [0, 40])

    assert members(job) == [("0", (0, 1))]
    assert job.groups[0].size == 64
    assert [row.kind for row in job.mismatches] == ["absent"]


def test_the_world_is_named_as_recorded() -> None:
    job = job_of([a_digest([Collective(0, 10)]), a_digest([Collective(0, 10)], rank=1)], [0, 1])

    assert (job.groups[0].name, job.groups[0].size) == (WORLD.name, 2)


def test_kernels_of_one_name_may_be_of_several_groups() -> None:
    # Only the kernel's name is known, the same for neighbours and for whole hosts.
    slots = (*[Slot(TENSOR, "tp")] * 5, Slot(DATA, "dp"))
    built = a_job(
        rank_count=8,
        step_count=30,
        slots=slots,
        jitter_ns=2000,
        skew_ns=200_000,
        is_sequenced=False,
        is_grouped=False,
        is_sized=False,
    )

    job = joined(built)

    sure = [group for group in job.groups if group.confidence >= 0.5]
    exchanges = [
        exchange for group in sure for exchange in true_exchanges(built, job, group) if exchange
    ]
    assert {tuple(group.members.tolist()) for group in sure} >= set(TENSOR)
    # The last exchange of a step is of other groups than the rest.
    tensor = [
        exchange
        for group in sure
        if len(group.members) == 4
        for exchange in true_exchanges(built, job, group)
    ]
    assert sum(min(exchange) % 6 == 5 for exchange in tensor) <= 2
    assert all(len(exchange) == 1 for exchange in exchanges)


def test_kernels_without_arguments_at_the_beginning_are_left_out() -> None:
    built = a_job(rank_count=2, step_count=20, jitter_ns=1000)
    rows = [
        row._replace(group=None, sequence=-1, size_bytes=-1, dtype="") if place < 3 else row
        for place, row in enumerate(built.rows[1])
    ]

    job = job_of([built.digest(0), built.digest(1, rows)], built.numbers)

    (group,) = job.groups
    assert group.rows[1].tolist() == [-1, -1, -1, *range(3, 40)]
    assert group.confidence == 1.0
    assert [(row.kind, row.places, row.exchange_count) for row in job.mismatches] == [
        ("order", (1,), 3),
        ("missing", (1,), 3),
    ]


@pytest.mark.parametrize("is_grouped", [True, False])
def test_a_whole_step_that_is_lost_is_not_bridged(is_grouped: bool) -> None:
    built = a_job(
        rank_count=4,
        step_count=20,
        slots=(Slot(), Slot(), Slot(operation="all-gather"), Slot()),
        jitter_ns=2000,
        is_sequenced=False,
        is_grouped=is_grouped,
    )
    rows = [row for place, row in enumerate(built.rows[2]) if not 24 <= place < 28]

    job = job_of([*built.digests[:2], built.digest(2, rows), built.digest(3)], built.numbers)

    (group,) = job.groups
    assert is_right(built, job)
    assert np.flatnonzero(group.rows[2] == MISSING).tolist() == [24, 25, 26, 27]


def test_ranks_that_are_always_late_by_the_same_time_are_no_group() -> None:
    # Two stages reduce among themselves, the second 3 ms later each time, then all meet.
    stages = ((0, 1), (2, 3))

    def late(rank: int, step: int, slot: int) -> int:
        return 3_000_000 if rank > 1 and slot == 0 else 0

    built = a_job(
        rank_count=4,
        step_count=30,
        slots=(Slot(stages, "dp", operation="reduce-scatter"), Slot(compute_ns=5_000_000)),
        skew_ns=5_000,
        jitter_ns=1_000,
        extra_ns=late,
        is_sequenced=False,
        is_grouped=False,
    )

    job = joined(built)

    assert is_right(built, replace(job, groups=tuple(
        group for group in job.groups if group.confidence >= 0.5
    )))  # fmt: skip
    assert [places for _, places in members(job)] == [(0, 1, 2, 3), (0, 1), (2, 3)]
    # Ranks 2 and 3 always come last: the ends tell their clocks, causality only within 3 ms.
    assert all(abs(clock.offset_ns) < 1_000 for clock in job.clocks)
