"""Findings and steps of the page: those of the commands, and where to go for each."""

from __future__ import annotations

import json
from typing import Any

import pytest

import wavescope
from tests.builders import a_trace
from tests.sampled_runs import simulated_run
from tests.serving_traces import DECODE, PREFILL, VLLM_ROCM, Server, labelled
from wavescope.analyze.findings import Evidence, evidence_of
from wavescope.model.result import Finding, Severity, Value
from wavescope.model.trace import Trace
from wavescope.view.answers import Asked, Question
from wavescope.view.answers.insight import findings, steps
from wavescope.view.opening import Loaded, StillReadingError, TraceView, loaded_view

MS = 1_000_000
FIRST_NS = 7_000_000_000_000_000_000


def asked(question: Question, view: TraceView) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(question(Asked([view], {})).body)
    return found


def idle_trace() -> Trace:
    """Kernels of 1 ms, one of them after a pause of 300 ms."""
    maker = a_trace()
    at = FIRST_NS
    for number in range(40):
        at += 300 * MS if number == 25 else 0
        maker.with_kernel("gemm", at, at + MS, queue=3)
        at += MS + 5_000
    return maker.build()


def test_findings_are_those_of_the_command_with_places() -> None:
    trace = idle_trace()
    document = asked(findings, loaded_view(trace))

    told = wavescope.findings(trace)
    assert [each["id"] for each in document["findings"]] == [each.id for each in told]
    assert [each["title"] for each in document["findings"]] == [each.title for each in told]
    assert told[0].id == "gpu-idle"
    # The longest gap, before the 26th kernel.
    start = 25 * (MS + 5_000)
    assert document["findings"][0]["place"] == {
        "start": start - 5_000,
        "end": start + 300 * MS,
        "rowId": "gpu/0",
        "row": 25,
    }


def a_finding(**numbers: Value) -> Finding:
    return Finding("id", Severity.INFO, "title", "evidence", numbers=numbers)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"longest_op": 2}, Evidence(50, 80, op=1, gpu=1)),
        ({"first_op": 3, "gpu": 1}, Evidence(100, 104, op=2, gpu=0)),
        ({"longest_op": 99, "gpu": 1}, Evidence(50, 90, gpu=1)),
        ({"name": "CopyHostToDevice"}, Evidence(85, 90, op=3, gpu=1)),
        ({"name": "gemm"}, Evidence(50, 80, op=1, gpu=1)),
        ({"example": "nobody"}, None),
        ({"category": "GEMM"}, Evidence(50, 80, op=1, gpu=1)),
        ({"category": "nothing"}, None),
        ({"op_after_longest_gap": 3}, Evidence(20, 100, op=2, gpu=0)),
        ({"op_after_longest_gap": 1}, Evidence(10, 10, op=0, gpu=0)),
        ({"operator": "aten::mm"}, Evidence(100, 104, op=2, gpu=0)),
        ({"operator": "aten::add"}, None),
        ({"phase": "decode"}, Evidence(50, 90, gpu=1)),
        ({"phase": "other"}, None),
        ({"phase": None}, Evidence(300, 301, gpu=5)),
        ({"first_op": 1, "last_op": 3}, Evidence(10, 104, gpu=0)),
        ({"first_op": 1, "last_op": 99}, Evidence(10, 20, op=0, gpu=0)),
        ({"gpu": 7}, None),
        ({}, None),
    ],
)
def test_numbers_of_a_finding_name_a_place(
    numbers: dict[str, Value], expected: Evidence | None
) -> None:
    trace = (
        a_trace()
        .with_kernel("gemm", 10, 20)
        .with_kernel("gemm", 50, 80, gpu=1)
        .with_kernel("add", 100, 104)
        .with_copy(85, 90, gpu=1)
        .with_op("wait", 30, 95, type="Barrier")
        .with_call("aten::mm", 0, 60, category="cpu_op")
        .with_call("hipLaunchKernel", 10, 20)
        .with_link(2, 3)
        .with_marker("prefill", 0, 30)
        .with_marker("decode", 45, 95)
        .with_marker("idle", 96, 200)
        .with_kernel("outside", 300, 301, gpu=5)
        .build()
    )

    assert evidence_of(trace, a_finding(**numbers)) == expected


def test_a_trace_without_ops_has_no_places() -> None:
    assert evidence_of(a_trace().build(), a_finding(gpu=0)) is None
    assert asked(findings, loaded_view(a_trace().build()))["findings"] == []


def served(pause_ns: int = 3_000_000) -> Trace:
    """Two prefills, 30 decode steps after each; before the 12th decode step the host is late."""
    server = Server(VLLM_ROCM, layers=4)
    for _ in range(2):
        server.step(1024, PREFILL)
        for number in range(30):
            server.step(16, DECODE, graph=True, pause_ns=pause_ns if number == 11 else 0)
    return labelled(server).trace


def records(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    (table,) = [each for each in document["tables"] if each["name"] == name]
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row, strict=True)) for row in table["rows"]]


def test_steps_are_those_of_the_command_from_the_first_event_on() -> None:
    trace = served()
    view = loaded_view(trace)
    document = asked(steps, view)

    told = wavescope.steps(trace)
    first_ns = view.loaded.first_ns
    assert records(document, "step_kinds") == told.table("step_kinds").records()
    for name in ("step_outliers", "steps"):
        assert [
            {**row, "start_ns": row["start_ns"] + first_ns} for row in records(document, name)
        ] == told.table(name).records()


def test_the_median_step_is_one_that_takes_the_median() -> None:
    document = asked(steps, loaded_view(served()))

    decode, prefill = document["medians"]
    (kind, other) = records(document, "step_kinds")
    assert (decode["kind"], decode["phase"], decode["length"]) == (1, "decode", kind["median_ns"])
    all_steps = {row["step"]: row for row in records(document, "steps")}
    found, following = all_steps[decode["step"]], all_steps[decode["step"] + 1]
    assert found["start_ns"] == decode["start"]
    assert following["start_ns"] - found["start_ns"] == decode["length"]
    assert found["kind"] == following["kind"] == 1
    # Prefills follow no other prefill: they are compared by their spans.
    assert (prefill["kind"], prefill["length"]) == (None, other["span_median_ns"])
    assert all_steps[prefill["step"]]["span_ns"] == prefill["length"]


def test_a_trace_without_steps_or_a_sampled_one_says_so() -> None:
    none = asked(steps, loaded_view(a_trace().with_kernel("k", 0, 9).build()))
    sampled = asked(steps, loaded_view(simulated_run(1, blocks=20).trace))

    assert (none["facts"]["step_count"], none["medians"]) == (0, [])
    assert sampled["medians"] == []
    assert sampled["tables"][0]["name"] == "marked_steps"
    assert "sampled" in sampled["facts"]


@pytest.mark.parametrize("question", [findings, steps])
def test_a_trace_that_is_being_read_is_asked_again(question: Question) -> None:
    with pytest.raises(StillReadingError):
        asked(question, TraceView(0, "a", idle_trace(), Loaded()))


def test_answers_are_made_once() -> None:
    view = loaded_view(idle_trace())

    assert findings(Asked([view], {})).body is findings(Asked([view], {})).body
    assert steps(Asked([view], {})).body is steps(Asked([view], {})).body
