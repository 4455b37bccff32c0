"""Which rank each digest is, where files, names and traces agree or not."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import a_trace
from wavescope.analyze.ranks.digest import RankDigest, digests_of
from wavescope.api.rank_files import RankFile, RankFrom
from wavescope.api.rank_numbers import ranks_of


def digest(path: str, rank: int | None = None, *, at: int = 0, host: str = "n1") -> RankDigest:
    maker = a_trace().with_process(41, rank=-1 if rank is None else rank, host=host)
    (made,) = digests_of(maker.with_kernel("gemm", at, at + 10).build())
    return replace(made, path=path)


def test_what_traces_say_counts_before_names() -> None:
    files = [RankFile("a", 5, rank_from=RankFrom.NAME), RankFile("b", 6, rank_from=RankFrom.NAME)]
    found = ranks_of(files, [[digest("a", 1)], [digest("b", 0)]])

    assert found.numbers == (0, 1)
    assert [each.path for each in found.digests] == ["b", "a"]
    assert found.of_file == ((1,), (0,))
    assert found.notes == ()


def test_a_pattern_counts_before_what_traces_say() -> None:
    files = [RankFile("a", 5, rank_from=RankFrom.PATTERN)]

    assert ranks_of(files, [[digest("a", 1)]]).numbers == (5,)


def test_names_count_where_traces_say_nothing() -> None:
    files = [RankFile("a", 5, "far", RankFrom.NAME), RankFile("b", 2, rank_from=RankFrom.NAME)]
    found = ranks_of(files, [[digest("a", host="")], [digest("b")]])

    assert found.numbers == (2, 5)
    assert found.digests[1].identity.host == "far"


def test_without_any_rank_the_order_counts() -> None:
    found = ranks_of([RankFile("a"), RankFile("b")], [[digest("a")], [digest("b")]])

    assert found.numbers == (0, 1)
    assert [each.path for each in found.digests] == ["a", "b"]
    assert found.notes == (
        "nothing says which rank is which: ranks are numbered in the order of the files",
    )
    assert ranks_of([RankFile("a")], [[digest("a")]]).notes == ()


def test_traces_that_all_say_the_same_rank_are_not_believed() -> None:
    """Where each rank was started on its own, all say that they are rank 0."""
    files = [RankFile(name, 3 + place, "", RankFrom.NAME) for place, name in enumerate("ab")]
    found = ranks_of(files, [[digest("a", 0)], [digest("b", 0)]])

    assert found.numbers == (3, 4)
    assert found.notes == (
        "several traces say that they are the same rank: the names of the files are believed",
    )


def test_files_of_one_rank_one_after_the_other_are_joined() -> None:
    found = ranks_of(
        [RankFile("a"), RankFile("b"), RankFile("c")],
        [[digest("a", 4)], [digest("b", 4, at=100)], [digest("c", 1)]],
    )

    assert found.numbers == (1, 4)
    assert found.digests[1].op_count == 2
    assert found.of_file == ((4,), (4,), (1,))


def test_files_that_cannot_be_one_rank_all_stay() -> None:
    files = [RankFile(name) for name in "abc"]
    found = ranks_of(
        files, [[digest("a", 1)], [digest("b", 1, at=5)], [digest("c", 1, at=99, host="n2")]]
    )

    assert found.numbers == (0, 1, 2)
    assert found.of_file == ((1,), (0,), (2,))
    (note,) = found.notes
    assert note.startswith("b, c: another file is rank 1, too, and was recorded at the same time")


def test_several_ranks_of_one_file_keep_their_own_numbers() -> None:
    files = [RankFile("a", 9, rank_from=RankFrom.PATTERN), RankFile("bad"), RankFile("b")]
    found = ranks_of(files, [[digest("a", 2), digest("a", 3)], [], [digest("b")]])

    assert found.numbers == (0, 2, 3)
    assert found.of_file == ((2, 3), (), (0,))
    assert found.notes == ("b: no rank is known, free numbers are given",)


def test_nothing_gives_nothing() -> None:
    assert ranks_of([], []).numbers == ()
    assert ranks_of([RankFile("bad")], [[]]).digests == ()
