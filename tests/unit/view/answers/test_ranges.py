"""The question `range`: what is asked, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.errors import UsageError
from wavescope.model.trace import Trace
from wavescope.view.answers import Asked
from wavescope.view.answers.ranges import range_
from wavescope.view.opening import Loaded, StillReadingError, TraceView, loaded_view

FIRST = 2**60


def traced() -> TraceMaker:
    """A gemm from 10 to 30, launched at 5, an add from 40 to 45, launched at 35."""
    maker = a_trace().with_process(3).with_marker("decode", FIRST, FIRST + 60)
    for number, (name, launch, start, end) in enumerate(
        (("gemm", 5, 10, 30), ("add", 35, 40, 45)), 1
    ):
        maker.with_call("hipLaunchKernel", FIRST + launch, FIRST + launch + 2)
        maker.with_kernel(name, FIRST + start, FIRST + end).with_link(number, number)
    return maker


def asked(trace: Trace, **parameters: Any) -> dict[str, Any]:
    given = {name: str(value) for name, value in parameters.items()}
    found: dict[str, Any] = json.loads(range_(Asked([loaded_view(trace)], given)).body)
    return found


def rows(found: dict[str, Any], name: str, *columns: str) -> list[list[Any]]:
    (table,) = (table for table in found["tables"] if table["name"] == name)
    places = [[column["name"] for column in table["columns"]].index(each) for each in columns]
    return [[row[place] for place in places] for row in table["rows"]]


def test_times_count_from_the_first_event_on() -> None:
    found = asked(traced().build(), start=8, end=46)

    assert rows(found, "kernels", "name", "total_ns") == [["gemm", 20], ["add", 5]]
    # Idle from 30 to 40: until the launch at 35, inside it until 37, after it.
    idle = ("idle_ns", "before_ns", "in_launch_ns", "after_launch_ns")
    assert rows(found, "idle", *idle) == [[10, 5, 2, 3]]
    assert found["facts"]["selection"] == f"from {FIRST + 8}; until {FIRST + 46}"
    assert found["facts"]["first_timestamp_ns"] == FIRST


def test_an_op_belongs_to_the_range_in_which_it_starts() -> None:
    assert rows(asked(traced().build(), start=11, end=41), "kernels", "name") == [["add"]]
    assert rows(asked(traced().build(), start=10, end=40), "kernels", "name") == [["gemm"]]


def test_parts_come_one_by_one() -> None:
    names = {
        part: {
            table["name"]
            for table in asked(traced().build(), start=0, end=60, parts=part)["tables"]
        }
        for part in ("summary", "phases", "idle")
    }

    assert "kernels" in names["summary"]
    assert not names["summary"] & (names["phases"] | names["idle"])
    assert "phases" in names["phases"]
    assert names["idle"] == {"idle"}


def test_a_range_may_end_where_no_time_is() -> None:
    found = asked(traced().build(), start=11, end=2**63 - 1)

    assert rows(found, "kernels", "name") == [["add"]]


def test_a_range_without_ops_says_so() -> None:
    found = asked(traced().build(), start=46, end=60)

    assert found["facts"]["op_count"] == 0
    assert [table["name"] for table in found["tables"] if table["name"] == "idle"] == []


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"start": 5, "end": 5}, "the range is empty"),
        ({"start": 6, "end": 5}, "the range is empty"),
        ({"start": 5}, "'end' is missing"),
        ({"start": 0, "end": 9, "parts": "summary,costs"}, "no part 'costs'"),
    ],
)
def test_what_cannot_be_asked_is_an_error(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        asked(traced().build(), **parameters)


def test_a_trace_that_is_being_read_has_no_ranges_yet() -> None:
    view = TraceView(0, "a", traced().build(), Loaded(first_ns=FIRST))

    with pytest.raises(StillReadingError):
        range_(Asked([view], {"start": "0", "end": "10"}))
