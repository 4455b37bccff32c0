"""Which rows a selection keeps."""

from __future__ import annotations

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.errors import UsageError
from wavescope.model.columns import LINKS, OPS
from wavescope.model.selection import SelectedSource, Selection, select, timestamp_ns
from wavescope.model.source import read_columns, read_metadata


def sample() -> TraceMaker:
    return (
        a_trace()
        .with_process(100, rank=0)
        .with_process(101, rank=1)
        .with_kernel("gemm", 0, 100, gpu=0)
        .with_kernel("add", 100, 150, gpu=1, process=1)
        .with_kernel("gemm", 500, 1000, gpu=1, process=1)
        .with_marker("prefill", 0, 120)
        .with_marker("decode", 400, 1000)
        .with_call("hipLaunchKernel", 0, 10)
        .with_call("hipLaunchKernel", 450, 460, process=1)
        .with_link(1, 1)
        .with_link(2, 3)
    )


@pytest.mark.parametrize(
    ("selection", "ops"),
    [
        (Selection(), [1, 2, 3]),
        (Selection(gpus=(1,)), [2, 3]),
        (Selection(kernel="^g"), [1, 3]),
        (Selection(marker="decode"), [3]),
        (Selection(ranks=(1,)), [2, 3]),
        (Selection(processes=(100,)), [1]),
        (Selection(start="10%"), [2, 3]),
        (Selection(start="100", end="500"), [2]),
        (Selection(end="0.5us"), [1, 2]),
        (Selection(gpus=(1,), kernel="gemm"), [3]),
    ],
)
def test_ops_are_kept_by_every_condition(selection: Selection, ops: list[int]) -> None:
    trace = select(sample().build(), selection)

    assert trace.ops["id"].tolist() == ops


def test_markers_are_kept_inside_a_marker_and_when_they_match() -> None:
    maker = sample().with_marker("step", 500, 600).with_marker("decode mark", 50, 50, flags=1)

    trace = select(maker.build(), Selection(marker="decode"))

    assert trace.markers.strings("name") == ["decode", "step", "decode mark"]


def test_a_selection_says_what_it_is() -> None:
    selection = Selection(start="10%", end="5ms", gpus=(0, 2), ranks=(1,), kernel="ge", marker="d")

    assert str(selection) == "from 10%; until 5ms; gpu 0,2; rank 1; kernel ge; marker d"
    assert str(Selection()) == ""


def test_links_stay_only_with_both_their_ends() -> None:
    trace = select(sample().build(), Selection(start="400"))

    assert trace.calls["id"].tolist() == [2]
    assert trace.links["op"].tolist() == [3]


def test_a_selected_source_gives_the_same_rows() -> None:
    source = SelectedSource(sample().builder, Selection(gpus=(1,)))

    assert read_columns(source, OPS, ("id", "start_ns"))["start_ns"].tolist() == [100, 500]
    assert read_columns(source, LINKS, ("call", "op"))["op"].tolist() == [3]


def test_a_selected_source_tells_what_was_selected() -> None:
    source = SelectedSource(sample().with_metadata("host", "a").builder, Selection(gpus=(7,)))

    assert not source.has_ops
    assert read_metadata(source) == {"host": "a", "selection": "gpu 7"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0%", 1000),
        ("50%", 1500),
        ("100%", 2000),
        ("1us", 2000),
        ("0.25us", 1250),
        ("1234", 1234),
        ("99999999999999999999", 2**63 - 1),
        ("-99999999999999999999", -(2**63)),
        ("999999999999999999s", 2**63 - 1),
    ],
)
def test_time_bounds(text: str, expected: int) -> None:
    assert timestamp_ns(text, 1000, 2000) == expected


def test_a_window_may_end_after_all_times() -> None:
    for end in ("99999999999999999999", "999999999999999999s"):
        assert len(select(sample().build(), Selection(end=end)).ops) == len(sample().build().ops)


@pytest.mark.parametrize("text", ["", "x%", "101%", "5 minutes", "1.5.2ms", "us", "9" * 5000])
def test_a_bad_time_bound_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        timestamp_ns(text, 0, 1)


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(kernel="("), "not a regular expression"),
        (Selection(marker="nothing"), "no marker matches"),
        (Selection(start="60%", end="50%"), "the window is empty"),
    ],
)
def test_an_impossible_selection_says_why(selection: Selection, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        select(sample().build(), selection)
