"""Searching names: counts, times, places and patterns of any kind."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.errors import UsageError
from wavescope.view.answers import Asked
from wavescope.view.answers.name_matcher import NameMatcher
from wavescope.view.answers.search import TABLES, search, search_next
from wavescope.view.opening import TraceView, loaded_view

FIRST = 2**60
NAMES = ("gemm", "add_kernel", "Cijk_Alik", "softmax", "step gemm")


def random_trace(seed: int) -> TraceMaker:
    rng = np.random.default_rng(seed)
    maker = a_trace().with_process(1)
    maker.with_kernel("first", FIRST, FIRST + 1)
    for _ in range(60):
        start = FIRST + int(rng.integers(0, 25))
        end = start + int(rng.choice((0, 3, 50)))
        name = NAMES[int(rng.integers(0, len(NAMES)))]
        kind = int(rng.integers(0, 3))
        if kind == 0:
            maker.with_kernel(name, start, end, gpu=int(rng.integers(0, 2)))
        elif kind == 1:
            maker.with_call(name, start, end, thread=int(rng.integers(1, 3)))
        else:
            maker.with_marker(name, start, end)
    return maker


def rows_of(view: TraceView) -> list[tuple[int, int, int, int, str]]:
    """Start, number of the table, row, length and name of everything, in order of time."""
    found = []
    for number, table in enumerate((view.trace.ops, view.trace.calls, view.trace.markers)):
        found += [
            (start - FIRST, number, row, end - start, name)
            for row, (start, end, name) in enumerate(
                zip(
                    table["start_ns"].tolist(),
                    table["end_ns"].tolist(),
                    table.strings("name"),
                    strict=True,
                )
            )
        ]
    return sorted(found)


def found_by(view: TraceView, pattern: str, **parameters: Any) -> dict[str, Any]:
    given = {"pattern": pattern, **{name: str(value) for name, value in parameters.items()}}
    answer: dict[str, Any] = json.loads(search(Asked([view], given)).body)
    return answer


@pytest.fixture(scope="module")
def view() -> Iterator[TraceView]:
    return loaded_view(random_trace(1).build())


@pytest.mark.parametrize("pattern", ["gemm", "^gemm$", "add|soft", ".", "nothing", r"\bCijk_"])
@pytest.mark.parametrize("tables", ["ops,calls,markers", "ops", "markers,calls"])
def test_counts_times_and_bins_are_those_of_every_row(
    view: TraceView, pattern: str, tables: str
) -> None:
    hits = [
        row
        for row in rows_of(view)
        if re.search(pattern, row[4]) and TABLES[row[1]] in tables.split(",")
    ]

    found = found_by(view, pattern, tables=tables, bins=7)

    assert found["count"] == len(hits)
    assert found["duration_ns"] == sum(row[3] for row in hits)
    counts = Counter(row[4] for row in hits)
    assert {each["name"]: each["count"] for each in found["by_name"]} == counts
    assert found["name_count"] == len(counts)
    span = view.loaded.span_ns
    edges = [span * number // 7 for number in range(7)]
    bins = [0] * 7
    for row in hits:
        bins[sum(edge <= row[0] for edge in edges) - 1] += 1
    assert found["bins"] == bins


def test_names_with_most_time_come_first_with_their_codes(view: TraceView) -> None:
    found = found_by(view, ".")

    totals = [each["duration_ns"] for each in found["by_name"]]
    assert totals == sorted(totals, reverse=True)
    assert {view.trace.strings[code] for code in found["codes"]} == {*NAMES, "first"}


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("seed", range(4))
def test_next_and_previous_come_by_every_hit_in_order(seed: int, direction: int) -> None:
    view = loaded_view(random_trace(seed).build())
    hits = [(row[0], row[1], row[2]) for row in rows_of(view) if "gemm" in row[4]]

    passed = []
    given: dict[str, str] = {"after": "-1" if direction > 0 else "1000000"}
    while True:
        parameters = {"pattern": "gemm", "direction": str(direction), **given}
        found = json.loads(search_next(Asked([view], parameters)).body)
        if not found:
            break
        passed.append((found["start"], TABLES.index(found["table"]), found["row"]))
        given = {"after": str(found["start"]), "table": found["table"], "row": str(found["row"])}

    assert passed == hits[::direction]


def test_next_says_where_the_hit_is() -> None:
    maker = a_trace().with_kernel("a", FIRST, FIRST + 5).with_kernel("b", FIRST + 10, FIRST + 17)
    view = loaded_view(maker.with_kernel("b", FIRST + 20, FIRST + 21, gpu=1, queue=4).build())

    found = json.loads(search_next(Asked([view], {"pattern": "b", "after": "10"})).body)

    assert found == {
        "table": "ops",
        "row": 2,
        "rowId": "queue/1/4",
        "start": 20,
        "duration": 1,
        "name": "b",
    }


def test_a_name_is_found_as_it_is_shown_and_as_it_is() -> None:
    whole = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)"
    view = loaded_view(a_trace().with_kernel(whole, 0, 5).build())
    shown = found_by(view, "vectorized")["by_name"][0]["short"]

    assert shown != whole
    assert found_by(view, "^" + re.escape(shown) + "$")["count"] == 1
    assert found_by(view, r"^void at::native::vec.*\(int\)$")["count"] == 1


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "(?P<a>x)(?P<a>y)", "a{2,1}"])
def test_what_is_no_pattern_is_a_clear_error(view: TraceView, pattern: str) -> None:
    with pytest.raises(UsageError, match="is not a regular expression") as told:
        found_by(view, pattern)

    assert pattern in str(told.value)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"pattern": ""}, "empty"),
        ({"pattern": "a" * 1001}, "longer than 1,000"),
        ({"pattern": "a", "bins": "0"}, "1 to 16,384 bins"),
        ({"pattern": "a", "bins": "99999"}, "1 to 16,384 bins"),
        ({"pattern": "a", "tables": "ops,strings"}, "no table 'strings'"),
        ({}, "'pattern' is missing"),
    ],
)
def test_what_cannot_be_asked_is_an_error(
    view: TraceView, parameters: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        search(Asked([view], parameters))


def test_a_pattern_that_takes_forever_is_given_up_and_the_next_one_works() -> None:
    names = [["a" * 60 + "!"], ["b"]]
    matcher = NameMatcher(most_seconds=0.1)
    patient = NameMatcher(most_seconds=60)

    with pytest.raises(UsageError, match=r"given up after 0\.1 s") as told:
        matcher.matching("(a+)+$", names)

    assert "(a+)+" in told.value.hint
    assert matcher._process is None
    assert patient.matching("b", names) == [1]
    assert patient.matching("a", names) == [0]
    assert patient.matching("a", [["c"], ["xa", "y"], ["y", "xa"]]) == [1, 2]
    patient.close()


def test_the_process_that_matches_is_replaced_when_it_died() -> None:
    matcher = NameMatcher(most_seconds=60)
    names = [["gemm"], ["add"]]
    assert matcher.matching("add", names) == [1]
    process = matcher._process
    assert process is not None
    process.kill()
    process.wait()

    assert matcher.matching("gemm", names) == [0]
    matcher.close()


def test_a_trace_without_anything_has_no_hits() -> None:
    empty = loaded_view(a_trace().build())

    found = found_by(empty, "a", bins=3)

    assert (found["count"], found["duration_ns"], found["bins"]) == (0, 0, [0, 0, 0])
    assert json.loads(search_next(Asked([empty], {"pattern": "a", "after": "0"})).body) == {}
