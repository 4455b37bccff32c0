"""Colours of real traces are what the commands say of the same ops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wavescope
from wavescope.analyze.ops.op_labels import op_categories
from wavescope.analyze.phases import phases_of
from wavescope.model.op_kinds import OpKind
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


@pytest.mark.parametrize("path", PATHS)
def test_categories_phases_and_steps_are_those_of_the_commands(
    shared_data: Path, path: str
) -> None:
    with wavescope.open(shared_data / path) as trace:
        view = loaded_view(trace)
        categories = op_categories(trace)
        rows, found = op_rows_and_labels(view, "category")

        assert sorted(rows) == np.flatnonzero(trace.op_kind != OpKind.BARRIER).tolist()
        assert found == [categories.labels[code] for code in categories.codes[rows].tolist()]

        phases = phases_of(trace)
        rows, found = op_rows_and_labels(view, "phase")
        if phases.labels and len(phases.labels) <= 6:
            named = [*phases.labels, phases.outside_label]
            assert found == [named[code] for code in phases.codes[rows].tolist()]

        rows, found = op_rows_and_labels(view, "step")
        steps = trace_steps(trace).of_op[rows].tolist()
        words = {0: "odd steps", 1: "even steps"}
        assert found == ["outside any step" if n < 0 else words[n % 2] for n in steps]


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
