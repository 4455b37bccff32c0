"""Colours of real traces are what the commands say of the same ops."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import wavescope
from wavescope.analyze.ops.op_labels import op_categories
from wavescope.analyze.phases import phases_of
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Value
from wavescope.view.colouring import colouring_of, trace_steps
from wavescope.view.opening import TraceView, loaded_view
from wavescope.view.rows import RowKind

PATHS = (
    "kineto/mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "rocprofv3/908_results.json.gz",
)


def op_rows_and_labels(view: TraceView, by: str) -> tuple[list[int], list[str]]:
    """The ops that are drawn, and the label of each."""
    colouring = colouring_of(by)
    labels = colouring.labels(view)
    rows: list[int] = []
    found: list[str] = []
    for row in view.loaded.rows:
        for lane in row.lanes if row.table == "ops" else ():
            rows += lane.rows.tolist()
            found += [labels[number] for number in colouring.classes(view, row, lane).tolist()]
    return rows, found


def wrong(rows: list[int], found: list[str], expected: Iterable[str]) -> list[tuple[int, str, str]]:
    """The first ops whose label is another than expected."""
    told = zip(rows, found, expected, strict=True)
    return list(islice((each for each in told if each[1] != each[2]), 5))


@pytest.mark.parametrize("path", PATHS)
def test_categories_and_phases_are_those_of_the_commands(shared_data: Path, path: str) -> None:
    with wavescope.open(shared_data / path) as trace:
        view = loaded_view(trace)
        categories = op_categories(trace)
        rows, found = op_rows_and_labels(view, "category")

        assert np.array_equal(np.sort(rows), np.flatnonzero(trace.op_kind != OpKind.BARRIER))
        expected = (categories.labels[code] for code in categories.codes[rows].tolist())
        assert wrong(rows, found, expected) == []

        phases = phases_of(trace)
        rows, found = op_rows_and_labels(view, "phase")
        if phases.labels and len(phases.labels) <= 6:
            named = [*phases.labels, phases.outside_label]
            assert wrong(rows, found, (named[code] for code in phases.codes[rows].tolist())) == []


@pytest.mark.parametrize("path", PATHS)
def test_steps_are_odd_and_even_by_their_numbers_in_the_table(shared_data: Path, path: str) -> None:
    with wavescope.open(shared_data / path) as trace:
        rows, found = op_rows_and_labels(loaded_view(trace), "step")
        of_op = trace_steps(trace).of_op
        steps = wavescope.steps(trace).tables
        (table,) = (each for each in steps if each.name == "steps")
        lanes: dict[tuple[Value, Value], list[dict[str, Value]]] = {}
        for step in table.records():
            lanes.setdefault((step["gpu"], step["queue"]), []).append(step)
        ops = {name: trace.ops[name][rows].tolist() for name in ("gpu", "queue", "start_ns")}
        names = trace.ops.strings("name")

        label_of = dict(zip(rows, found, strict=True))
        assert {label_of[row] for row in rows if of_op[row] < 0} <= {"outside any step"}
        for row, gpu, queue, start_ns in zip(rows, *ops.values(), strict=True):
            begun = lanes.get((gpu, queue), [])
            place = bisect_right(begun, start_ns, key=lambda step: step["start_ns"]) - 1
            # What the runtime copies may be for a step of another queue.
            is_programs = not names[row].startswith("__amd_rocclr_")
            if is_programs and of_op[row] >= 0 and place >= 0:
                word = "odd steps" if int(begun[place]["step"] or 0) % 2 else "even steps"
                assert (row, label_of[row]) == (row, word)


def test_calls_of_a_pytorch_trace_are_told_by_their_category(shared_data: Path) -> None:
    expected = {"cpu_op": "operator", "python_function": "Python", "cuda_runtime": "runtime API"}
    with wavescope.open(shared_data / PATHS[0]) as trace:
        view = loaded_view(trace)
        colouring = colouring_of("category")
        labels = colouring.labels(view)
        categories = trace.calls.strings("category")
        wrong = 0
        seen = set()
        for row in view.loaded.rows:
            if row.kind is not RowKind.CALLS:
                continue
            for lane in row.lanes:
                for at, number in zip(
                    lane.rows.tolist(), colouring.classes(view, row, lane).tolist(), strict=True
                ):
                    seen.add(categories[at])
                    wrong += expected.get(categories[at], labels[number]) != labels[number]

    assert wrong == 0
    assert seen & set(expected)
