"""Aligning several traces, and the kernels that differ: the numbers of `wavescope compare`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import TraceMaker, a_trace
from tests.unit.view.test_view_colourings import marked_steps, view_of
from wavescope.analyze.compare import CompareOptions, Part, compare
from wavescope.errors import UsageError
from wavescope.view.answers import Asked
from wavescope.view.answers.comparing import alignments, differences
from wavescope.view.opening import Loaded, StillReadingError, TraceView


def views_of(*makers: TraceMaker, first_ns: tuple[int, ...] = (0, 0)) -> list[TraceView]:
    views = [view_of(maker, number) for number, maker in enumerate(makers)]
    for view, first in zip(views, first_ns, strict=True):
        view.loaded = Loaded(rows=view.loaded.rows, first_ns=first, is_whole=True)
    views[0].compared_with, views[1].compared_with = views[1], views[0]
    return views


def answer(views: list[TraceView], **parameters: str) -> Any:
    return json.loads(alignments(Asked(views, parameters)).body)


def test_markers_that_all_traces_have_are_offered_in_order_of_time() -> None:
    views = views_of(
        a_trace().with_marker("b", 50, 60).with_marker("a", 20, 30).with_marker("a", 10, 15),
        a_trace().with_marker("a", 1040, 1050).with_marker("b", 1005, 1006).with_marker("c", 1, 2),
        first_ns=(10, 1000),
    )

    assert answer(views) == {
        "start": [0, 0],
        "markers": [
            {"name": "a", "count": 1, "at": [0, 40]},
            {"name": "b", "count": 1, "at": [40, 5]},
        ],
    }


def test_the_nth_marker_of_a_name_is_found_in_each_trace() -> None:
    views = views_of(
        a_trace().with_marker("a", 90, 99).with_marker("a", 10, 15).with_marker("a", 30, 31),
        a_trace().with_marker("a", 7, 8).with_marker("a", 107, 108).with_marker("x", 1, 2),
    )

    assert answer(views)["markers"] == [{"name": "a", "count": 2, "at": [10, 7]}]
    assert answer(views, marker="a", number="2") == {"name": "a", "count": 2, "at": [30, 107]}
    for number in ("0", "3"):
        with pytest.raises(UsageError, match="2 markers 'a'"):
            answer(views, marker="a", number=number)
    with pytest.raises(UsageError, match="not all traces have a marker 'x'"):
        answer(views, marker="x", number="1")


def test_steps_align_by_number_as_far_as_all_traces_have_them() -> None:
    views = views_of(marked_steps([10, 20, 10]), marked_steps([40, 60]), first_ns=(0, -5))

    assert answer(views, by="step") == {
        "steps": [{"name": "step 1", "at": [0, 5]}, {"name": "step 2", "at": [10, 45]}]
    }


def test_without_steps_or_markers_only_the_start_is_left() -> None:
    views = views_of(a_trace().with_kernel("a", 0, 1), marked_steps([10, 20]))

    assert answer(views) == {"start": [0, 0], "markers": []}
    assert answer(views, by="step") == {"steps": []}


def test_aligning_waits_until_all_traces_are_read() -> None:
    views = views_of(a_trace(), a_trace())
    views[1].loaded = Loaded()
    with pytest.raises(StillReadingError):
        answer(views)


def test_differences_have_the_numbers_of_the_command_a_word_and_an_example() -> None:
    base = a_trace().with_kernel("warm", 0, 90).with_kernel("warm", 100, 110)
    base.with_kernel("warm", 200, 210).with_kernel("ncclDevKernel_AllReduce", 300, 310)
    new = a_trace().with_kernel("warm", 1000, 1100).with_copy(1200, 1300)
    views = views_of(base, new, first_ns=(0, 1000))
    table = compare([view.trace for view in views], CompareOptions((Part.KERNEL,))).table("kernels")

    for number in ("0", "1"):
        found = json.loads(differences(Asked(views, {"trace": number})).body)
        assert (found["base"], found["new"], found["total"]) == (0, 1, 3)
        rows = {row["name"]: row for row in found["rows"]}
        for record in table.records():
            row = rows[str(record["name"])]
            assert {name: row[name] for name in record} == record
        words = {name: row["change"] for name, row in rows.items()}
        assert words == {
            "warm": "slower",
            "ncclDevKernel_AllReduce": "gone",
            "CopyHostToDevice": "only here",
        }
        place = {"table": "ops", "rowId": "queue/0/0"}
        assert rows["warm"]["at"] == [
            {**place, "row": 1, "start": 100, "duration": 10},
            {**place, "row": 0, "start": 0, "duration": 100},
        ]
        assert rows["ncclDevKernel_AllReduce"]["at"][1] is None
        assert rows["CopyHostToDevice"]["at"] == [
            None,
            {"table": "ops", "rowId": "copies/0", "row": 1, "start": 200, "duration": 100},
        ]


def test_one_trace_has_no_differences() -> None:
    with pytest.raises(UsageError, match="no other trace"):
        differences(Asked([view_of(a_trace().with_kernel("a", 0, 1))]))
