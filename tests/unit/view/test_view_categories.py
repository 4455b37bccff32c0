"""Colours by category: ops as `op_categories` says, calls by their category, markers by name."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.ops.op_labels import op_categories
from wavescope.errors import UsageError
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace
from wavescope.view.answers import Asked
from wavescope.view.answers.colours import colouring
from wavescope.view.colouring import colouring_of
from wavescope.view.colouring.code_classes import CodeClasses
from wavescope.view.colouring.colouring import MOST_CLASSES
from wavescope.view.lanes import Lane
from wavescope.view.opening import CallCategories, TraceView
from wavescope.view.rows import Row, RowKind


def lane_of(trace: Trace, table: str, rows: list[int]) -> Lane:
    """Some rows of a table as one lane, called as lanes call them."""
    columns = getattr(trace, table)
    chosen = np.array(rows, np.intp)
    names = columns["name"][chosen].copy()
    if table == "ops":
        is_unnamed = np.array([not trace.strings[code] for code in names.tolist()], bool)
        names[is_unnamed] = columns["type"][chosen][is_unnamed]
    lengths = (columns["end_ns"] - columns["start_ns"])[chosen].astype(np.uint32)
    return Lane(columns["start_ns"][chosen], lengths, names, chosen.astype(np.uint32))


def view_of(maker: TraceMaker) -> TraceView:
    trace = maker.build()
    view = TraceView(0, "a", trace)
    view.call_categories.add(trace.calls["name"], trace.calls["category"])
    return view


def labels_of(view: TraceView, kind: RowKind, table: str, rows: list[int]) -> list[str]:
    by = colouring_of("category")
    lane = lane_of(view.trace, table, rows)
    row = Row("r", kind, "r", table=table, lanes=(lane,))
    labels = by.labels(view)
    return [labels[number] for number in by.classes(view, row, lane).tolist()]


def test_ops_have_the_category_that_every_command_gives_them() -> None:
    view = view_of(
        a_trace()
        .with_kernel("Cijk_Ailk_Bljk_HHS_BH_MT64", 0, 10)
        .with_kernel("ncclDevKernel_AllReduce_Sum_f16_RING_LL", 10, 20)
        .with_kernel("elementwise_copy_buffer", 20, 30)
        .with_kernel("", 30, 40)
        .with_op("graph 7", 40, 50, type="GraphExecution")
        .with_op("", 50, 60, type="GraphExecution")
        .with_copy(60, 70)
        .with_op("", 70, 80, type="FillMemory")
        .with_op("staged part 3", 80, 90, type="CopyHostToDevice")
    )
    trace = view.trace
    found = op_categories(trace)
    expected = [found.labels[code] for code in found.codes.tolist()]
    is_copy = np.isin(trace.op_kind, (OpKind.COPY, OpKind.FILL))
    queued, copied = np.flatnonzero(~is_copy).tolist(), np.flatnonzero(is_copy).tolist()

    assert labels_of(view, RowKind.QUEUE, "ops", queued) == [expected[row] for row in queued]
    assert labels_of(view, RowKind.COPIES, "ops", copied) == [expected[row] for row in copied]
    assert expected[:2] == ["GEMM", "communication"]
    assert expected[3:6] == ["other", "graph", "graph"]
    assert copied == [6, 7, 8]


@pytest.mark.parametrize(
    ("name", "category", "label"),
    [
        ("aten::mm", "cpu_op", "operator"),
        ("MmBackward0", "Operator", "operator"),
        ("model.py(3): forward", "python_function", "Python"),
        ("cudaLaunchKernel", "cuda_runtime", "runtime API"),
        ("hipLaunchKernel", "HIP_RUNTIME_API", "runtime API"),
        ("hsa_signal_wait", "hsa_api", "runtime API"),
        ("hipMemcpy", "hip", "runtime API"),
        ("hipMemcpy", "", "runtime API"),
        ("solve", "", "other host call"),
        ("hipster", "Runtime Overhead", "other host call"),
    ],
)
def test_calls_are_told_by_their_category(name: str, category: str, label: str) -> None:
    view = view_of(a_trace().with_call(name, 0, 1, category=category))

    assert labels_of(view, RowKind.CALLS, "calls", [0]) == [label]


def test_markers_of_steps_stand_out() -> None:
    view = view_of(a_trace().with_marker("ProfilerStep#3", 0, 9).with_marker("stepwise", 1, 2))

    assert labels_of(view, RowKind.MARKERS, "markers", [0, 1]) == ["step marker", "marker"]


def test_names_that_come_while_the_trace_is_read_are_added() -> None:
    maker = a_trace().with_kernel("Cijk_Ailk_Bljk_HHS_BH_MT64", 0, 10)
    view = view_of(maker)
    first = labels_of(view, RowKind.QUEUE, "ops", [0])
    code = view.trace.strings.code("ncclDevKernel_AllReduce")
    lane = lane_of(view.trace, "ops", [0, 0])
    grown = Lane(lane.starts, lane.lengths, np.array([code, -1], np.int32), lane.rows)
    by = colouring_of("category")
    row = Row("queue/0/0", RowKind.QUEUE, "q", table="ops")

    assert first == ["GEMM"]
    labels = [by.labels(view)[number] for number in by.classes(view, row, grown).tolist()]
    assert labels == ["communication", "other"]


def test_each_code_is_asked_for_once_by_threads_at_the_same_time() -> None:
    asked: list[int] = []

    def class_of(code: int) -> int:
        asked.append(code)
        return (code + 1) % 7

    classes = CodeClasses(class_of)
    rng = np.random.default_rng(1)
    parts = [rng.integers(-1, 500 * (1 + number), 3000).astype(np.int32) for number in range(4)]
    found: list[np.ndarray | None] = [None] * len(parts)

    def look_up(number: int) -> None:
        found[number] = classes.of(parts[number])

    threads = [threading.Thread(target=look_up, args=(number,)) for number in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for part, values in zip(parts, found, strict=True):
        assert np.array_equal(values, (part + 1) % 7)
    assert len(asked) == len(set(asked))


def test_the_first_category_of_a_name_counts_and_can_be_kept() -> None:
    categories = CallCategories()
    categories.add(np.array([5, 9, 5, -1], np.int32), np.array([1, 2, 3, 4], np.int32))
    categories.add(np.array([9, 40], np.int32), np.array([8, -1], np.int32))
    again = CallCategories(categories.known)

    for table in (categories, again):
        assert [table.of(code) for code in (5, 9, 40, -1, 6, 1000)] == [1, 2, -1, 4, -1, -1]
    assert again.known.names.tolist() == [5, 9, 40, -1]


def test_the_question_answers_labels_with_the_colours_of_the_report() -> None:
    view = view_of(a_trace().with_kernel("a", 0, 1))
    answer = json.loads(colouring(Asked([view], {"by": "category"})).body)
    number = dict(zip(answer["labels"], answer["series"], strict=True))

    assert (number["GEMM"], number["attention"], number["other"]) == (0, 1, 10)
    assert len(answer["labels"]) <= MOST_CLASSES


def test_an_unknown_colouring_is_refused() -> None:
    with pytest.raises(UsageError, match="no colouring 'taste'"):
        colouring_of("taste")
