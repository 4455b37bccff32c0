"""Several files of one rank as one digest."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import a_trace
from wavescope.analyze.ranks.digest import DigestOptions, RankDigest, digests_of, joined

OPTIONS = DigestOptions(step_marker="^step")


def part(path: str, at: int, *, name: str = "gemm", phase: str = "", size: int = 64) -> RankDigest:
    """A file with a kernel of 10 ns and a collective of 20 ns from `at` on."""
    maker = a_trace().with_process(41, rank=3, host="node7")
    maker.with_marker(f"step {at} {phase}", at, at + 50)
    maker.with_kernel(name, at, at + 10, grid_x=size)
    maker.with_kernel(f"ncclDevKernel_{phase or 'AllReduce'}_Sum", at + 5, at + 25, queue=1)
    (digest,) = digests_of(maker.build(), OPTIONS)
    return replace(digest, path=path)


def test_files_of_one_rank_follow_each_other() -> None:
    one = joined([part("b", 500, phase="decode"), part("a", 100), part("c", 900, phase="decode")])

    assert (one.path, one.later_files) == ("a", ((500, "b"), (900, "c")))
    assert [one.path_at(time_ns) for time_ns in (0, 499, 500, 950)] == ["a", "a", "b", "c"]
    assert (one.first_ns, one.last_ns, one.op_count) == (100, 925, 6)
    assert one.collectives.start_ns.tolist() == [105, 505, 905]
    assert one.collectives.step.tolist() == [0, 1, 2]
    assert one.collectives.use.tolist() == [0, 1, 1]
    assert one.steps.label.tolist() == [100, 500, 900]
    assert one.phases == ("decode",)
    assert one.steps.phase.tolist() == [-1, 0, 0]
    (kernel,) = one.kernels
    assert (kernel.run_count, kernel.total_ns, kernel.shortest_ns) == (3, 30, 10)
    assert kernel.work_items == 3 * 64
    assert one.notes == ("one rank in 3 files: it goes on in b, c",)


def test_what_is_missing_of_several_files_is_added_up() -> None:
    files = [replace(part("a", 100), lost_ops=1, older_ops=20), replace(part("b", 500), lost_ops=3)]

    assert (joined(files).lost_ops, joined(files).older_ops) == (4, 20)


def test_a_file_given_twice_counts_once() -> None:
    one = joined([part("a", 100), part("a again", 100), part("later", 110)])

    assert one.op_count == 2
    assert one.notes == (
        "a again is left out: a was recorded meanwhile",
        "later is left out: a was recorded meanwhile",
    )


def test_a_file_without_ops_is_left_out() -> None:
    (empty,) = digests_of(a_trace().with_process(41, rank=3).build())
    one = joined([replace(empty, path="empty"), part("a", 100)])

    assert one.op_count == 2
    assert one.notes == ("empty is left out: no GPU op in it takes any time",)
    assert joined([empty]) == empty


def test_without_any_file_there_is_no_rank() -> None:
    with pytest.raises(ValueError, match="no digest"):
        joined([])


def test_what_one_file_does_not_say_another_does() -> None:
    first = part("a", 100)
    silent = replace(first, identity=replace(first.identity, host="", rank=None))

    assert joined([silent, part("b", 500)]).identity.host == "node7"


def test_a_median_is_that_of_most_runs() -> None:
    short, long = part("a", 100), part("b", 500)
    (kernel,) = long.kernels
    many = replace(long, kernels=(kernel._replace(run_count=9, median_ns=70, shortest_ns=1),))
    (merged,) = joined([short, many]).kernels

    assert (merged.median_ns, merged.shortest_ns, merged.run_count) == (70, 1, 10)


@given(st.lists(st.integers(0, 400), min_size=1, max_size=5, unique=True))
@settings(max_examples=50)
def test_time_in_bins_is_never_lost(places: list[int]) -> None:
    parts = [part(str(place), 1000 + 30 * place) for place in places]
    one = joined(parts)

    for name in ("busy_ns", "compute_ns", "collective_ns", "exposed_ns"):
        sums = [int(getattr(each.bins, name).sum()) for each in parts]
        spread = getattr(one.bins, name)
        assert int(spread.sum()) == sum(sums)
        assert spread.min() >= 0
    assert one.bins.first_ns == one.first_ns
    assert one.bins.width_ns * len(one.bins) >= one.last_ns - one.first_ns
