"""The page's flame graph: the tree of the command, of the trace or of a range."""

from __future__ import annotations

import json
from typing import Any

import pytest

import wavescope
from tests.builders import TraceMaker, a_trace
from wavescope.errors import UsageError
from wavescope.view.answers import Asked
from wavescope.view.answers import flame as flame_answer
from wavescope.view.answers.flame import flame, flame_search
from wavescope.view.opening import Loaded, StillReadingError, TraceView, loaded_view

FIRST_NS = 5_000_000_000_000_000_000


def stacks() -> TraceMaker:
    """Two operators, each launching a kernel, in a trace that begins long after 0."""
    return (
        a_trace()
        .with_process(7)
        .with_call("forward", FIRST_NS, FIRST_NS + 100, category="python_function")
        .with_call("aten::mm", FIRST_NS + 10, FIRST_NS + 40, category="cpu_op")
        .with_call("aten::add", FIRST_NS + 50, FIRST_NS + 90, category="cpu_op")
        .with_kernel("gemm", FIRST_NS + 100, FIRST_NS + 400)
        .with_kernel("add", FIRST_NS + 500, FIRST_NS + 510)
        .with_link(2, 1)
        .with_link(3, 2)
    )


def asked(view: TraceView, **parameters: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(flame(Asked([view], parameters)).body)
    return found


def paths(document: dict[str, Any]) -> dict[tuple[str, ...], tuple[int, int, int]]:
    nodes = document["nodes"]
    found: list[tuple[str, ...]] = []
    for parent, name in zip(nodes["parent"], nodes["name"], strict=True):
        found.append((*(found[parent] if parent >= 0 else ()), document["names"][name]))
    return dict(zip(found, zip(nodes["value"], nodes["self"], nodes["count"], strict=True)))  # noqa: B905


def test_the_whole_trace_is_what_the_command_says() -> None:
    trace = stacks().build()
    for of in ("gpu", "host"):
        document = asked(loaded_view(trace), of=of)

        table = wavescope.flame(trace, of).table("flame")
        assert document["total"] == table.rows[0][2]
        assert sorted(
            (path[-1], len(path) - 1, *figures) for path, figures in paths(document).items()
        ) == sorted(
            (row["name"], row["depth"], row["total_ns"], row["self_ns"], row["count"])
            for row in table.records()
        )
        assert (document["unit"], document["of"], document["left_out"]) == ("ns", of, 0)


def test_a_range_counts_from_the_first_event_on() -> None:
    view = loaded_view(stacks().build())

    late = asked(view, of="gpu", start="450", end="600")
    host = asked(view, of="host", start="20", end="60")

    assert paths(late) == {
        ("all",): (10, 0, 1),
        ("all", "forward"): (10, 0, 1),
        ("all", "forward", "aten::add"): (10, 0, 1),
        ("all", "forward", "aten::add", "add"): (10, 10, 1),
    }
    assert host["total"] == 40
    assert paths(host)["all", "process 7", "thread 1", "forward", "aten::mm"] == (20, 20, 1)


def test_few_nodes_are_the_heaviest_and_the_rest_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flame_answer, "MOST_NODES", 3)

    document = asked(loaded_view(stacks().build()), of="gpu")

    assert paths(document) == {
        ("all",): (310, 0, 2),
        ("all", "forward"): (310, 0, 2),
        ("all", "forward", "aten::mm"): (300, 0, 1),
    }
    assert document["left_out"] == 3


def test_modules_of_a_kind_are_together_when_asked() -> None:
    maker = stacks()
    for number in range(2):
        at = FIRST_NS + 2_000 + 10 * number
        maker.with_call(f"nn.Module: Block_{number}", at, at + 5, category="python_function")
    view = loaded_view(maker.build())

    apart, together = asked(view, of="host"), asked(view, of="host", kinds="1")
    part = asked(view, of="host", kinds="1", start="2000", end="3000")

    above = ("all", "process 7", "thread 1")
    assert paths(apart)[(*above, "nn.Module: Block_1")] == (5, 5, 1)
    assert paths(together)[(*above, "nn.Module: Block")] == (10, 10, 2)
    assert paths(part)[(*above, "nn.Module: Block")] == (10, 10, 2)


def test_a_sampled_trace_says_so() -> None:
    sampled = stacks().with_slice(FIRST_NS, FIRST_NS + 450).build()

    assert "slice of time only" in asked(loaded_view(sampled))["sampled"]
    assert asked(loaded_view(sampled))["total"] == 300
    assert asked(loaded_view(stacks().build()))["sampled"] == ""


def test_what_cannot_be_answered_is_refused() -> None:
    view = loaded_view(stacks().build())

    with pytest.raises(UsageError, match="gpu or of host"):
        asked(view, of="cpu")
    with pytest.raises(UsageError, match="range is empty"):
        asked(view, start="5", end="5")
    with pytest.raises(StillReadingError):
        asked(TraceView(0, "a", stacks().build(), Loaded()))


def test_a_trace_of_nothing_has_a_root() -> None:
    assert paths(asked(loaded_view(a_trace().build()))) == {("all",): (0, 0, 0)}


def found(view: TraceView, **parameters: str) -> list[str]:
    """The names of a tree that a search finds."""
    tree = asked(view, **{name: text for name, text in parameters.items() if name != "pattern"})
    hits = json.loads(flame_search(Asked([view], parameters)).body)["hits"]
    return sorted(tree["names"][hit] for hit in set(hits) & set(tree["nodes"]["name"]))


def test_names_of_the_very_tree_are_searched() -> None:
    view = loaded_view(stacks().build())

    assert found(view, pattern="MM$|^add") == ["add", "aten::mm", "gemm"]
    assert found(view, pattern="MM$|^add", of="host") == ["aten::mm"]
    assert found(view, pattern="MM$|^add", start="450", end="600") == ["add"]


def test_a_search_does_not_need_the_tree_to_be_asked_for_before() -> None:
    view = loaded_view(stacks().build())
    parameters = {"pattern": "gemm", "start": "0", "end": "450"}
    (hit,) = json.loads(flame_search(Asked([view], parameters)).body)["hits"]

    assert asked(view, start="0", end="450")["names"][hit] == "gemm"


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [("gemm(", "is not a regular expression"), ("(.*)*\\d{50}$", "takes too long")],
)
def test_what_cannot_be_searched_for_is_said(pattern: str, problem: str) -> None:
    view = loaded_view(stacks().with_kernel("x" * 200, FIRST_NS + 600, FIRST_NS + 610).build())

    with pytest.raises(UsageError, match=problem):
        flame_search(Asked([view], {"pattern": pattern}))


def test_ranges_may_end_where_no_time_is() -> None:
    view = loaded_view(stacks().build())

    assert asked(view, start="0", end=str(2**63 - 1))["total"] == 310
