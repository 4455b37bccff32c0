"""The question `traces`: rows and progress of all opened traces as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.builders import TraceMaker, a_trace
from wavescope.view.answers import Asked
from wavescope.view.answers.traces import traces
from wavescope.view.opening import TraceView, loaded_view

FIRST_NS = 1_700_000_000_123_456_789


def asked(*views: TraceView) -> list[dict[str, Any]]:
    answer = traces(Asked(views))
    assert answer.content_type == "application/json"
    found: list[dict[str, Any]] = json.loads(answer.body)["traces"]
    return found


def maker() -> TraceMaker:
    return (
        a_trace()
        .with_process(8, name="serve")
        .with_kernel("gemm", FIRST_NS, FIRST_NS + 10, queue=1)
        .with_kernel("gemm", FIRST_NS + 5, FIRST_NS + 20, queue=1)
        .with_copy(FIRST_NS + 2, FIRST_NS + 3)
        .with_call("outer", FIRST_NS + 1, FIRST_NS + 9)
        .with_call("inner", FIRST_NS + 2, FIRST_NS + 3)
        .with_slice(FIRST_NS, FIRST_NS + 12)
    )


def test_rows_are_told_with_all_that_the_page_draws_them_by() -> None:
    (found,) = asked(loaded_view(maker().build(), number=0, label="first"))

    common = {"unit": "", "isFolded": False, "planes": 1, "depth": 1, "table": "ops"}
    recorded = {"start": [0], "end": [12]}
    gpu, queue, copies, busy, process, calls = found.pop("rows")
    assert gpu == {
        **common,
        "id": "gpu/0",
        "kind": "gpu",
        "label": "GPU 0",
        "detail": "3 ops",
        "parent": "",
        "count": 3,
        "recorded": recorded,
    }
    assert queue == {
        **common,
        "id": "queue/0/1",
        "kind": "queue",
        "label": "queue 1",
        "detail": "2 ops",
        "parent": "gpu/0",
        "depth": 2,
        "count": 2,
        "recorded": recorded,
    }
    assert (copies["kind"], copies["detail"], copies["count"]) == ("copies", "1 copy or fill", 1)
    assert (busy["kind"], busy["unit"], busy["detail"], busy["count"]) == ("series", "%", "%", 0)
    assert (process["kind"], process["label"], process["recorded"]) == (
        "group",
        "serve (pid 8)",
        None,
    )
    assert calls == {
        **common,
        "id": "calls/0/1",
        "kind": "calls",
        "label": "thread 1",
        "detail": "2 calls",
        "parent": "process/0",
        "depth": 2,
        "planes": 2,
        "count": 2,
        "recorded": None,
        "table": "calls",
    }
    assert found["colourings"][0] == {"id": "category", "title": "Category"}
    assert "difference" not in [each["id"] for each in found["colourings"]]
    assert found == {
        "trace": 0,
        "label": "first",
        "file": "test.db",
        "format": "test",
        "first_ns": "1700000000123456789",
        "span_ns": 20,
        "version": found["version"],
        "share": 1.0,
        "is_whole": True,
        "problem": "",
        "notes": [],
        "colourings": found["colourings"],
    }


def test_several_traces_are_told_in_order_with_what_is_wrong_with_them() -> None:
    # One that is recorded in slices could not be told apart from another.
    first = loaded_view(a_trace().with_kernel("gemm", 0, 10).build(), number=0)
    second = loaded_view(a_trace().build(), number=1, label="</script>\udcff\"'")
    second.loaded = replace(
        second.loaded,
        version=9,
        is_whole=False,
        share=0.25,
        problem="cut",
        notes=("rows were skipped: 2", "3 left out"),
    )

    first.compared_with, second.compared_with = second, first

    found = asked(first, second)

    assert "difference" in [each["id"] for each in found[0]["colourings"]]
    assert [each["trace"] for each in found] == [0, 1]
    assert found[1]["label"].startswith("</script>")
    assert {name: found[1][name] for name in ("version", "is_whole", "share", "problem")} == {
        "version": 9,
        "is_whole": False,
        "share": 0.25,
        "problem": "cut",
    }
    assert found[1]["notes"] == ["rows were skipped: 2", "3 left out"]
    assert (found[1]["first_ns"], found[1]["span_ns"], found[1]["rows"]) == ("0", 1, [])


def test_very_long_labels_are_cut() -> None:
    (found,) = asked(
        loaded_view(a_trace().with_process(1, name="x" * 5000).with_call("c", 0, 1).build())
    )

    assert found["rows"][0]["label"] == "x" * 200
