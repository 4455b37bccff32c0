"""Slices of a recording stay with the trace: converted, merged, trimmed and selected."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wavescope
from tests.builders import TraceMaker, a_trace
from tests.sample_files import write_as
from wavescope.arrays.intervals import Intervals
from wavescope.errors import UnreadableInputError
from wavescope.model.columns import SLICES
from wavescope.model.selection import Selection, select, selected_source
from wavescope.model.slices import slice_rows
from wavescope.model.trace import Trace


def rows(trace: Trace) -> list[tuple[int, int, int]]:
    table = trace.slices
    columns = (table[name].tolist() for name in ("process", "start_ns", "end_ns"))
    return list(zip(*columns, strict=True))


def sampled() -> TraceMaker:
    """Two processes: the first in slices, the second not."""
    return (
        a_trace()
        .with_process(40, rank=0)
        .with_process(41, rank=1)
        .with_kernel("gemm", 110, 115)
        .with_kernel("gemm", 310, 315)
        .with_kernel("gemm", 10, 990, process=1)
        .with_marker("decode", 105, 112)
        .with_marker("decode", 114, 305)
        .with_marker("part", 101, 102)
        .with_marker("part", 103, 104)
        .with_marker("part", 105, 106)
        .with_marker("part", 119, 301)
        .with_slice(100, 120)
        .with_slice(300, 320)
        .with_slice(500, 520)
    )


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(), [(0, 100, 120), (0, 300, 320), (0, 500, 520)]),
        (Selection(start="110", end="310"), [(0, 110, 120), (0, 300, 310)]),
        (Selection(start="119", end="500"), [(0, 119, 120), (0, 300, 320)]),
        (Selection(start="120", end="300"), [(0, 120, 120)]),
        (Selection(start="600"), [(0, 600, 600)]),
        (Selection(end="50"), [(0, 50, 50)]),
        (Selection(marker="decode"), [(0, 105, 112), (0, 114, 120), (0, 300, 305)]),
        (Selection(marker="decode", end="110"), [(0, 105, 110)]),
        (
            Selection(marker="part"),
            [(0, 101, 102), (0, 103, 104), (0, 105, 106), (0, 119, 120), (0, 300, 301)],
        ),
        (Selection(ranks=(1,)), []),
        (Selection(ranks=(0,), start="500"), [(0, 500, 520)]),
        (Selection(kernel="gemm", gpus=(0,)), [(0, 100, 120), (0, 300, 320), (0, 500, 520)]),
    ],
)
def test_a_selection_cuts_slices_to_what_it_is_about(
    tmp_path: Path, selection: Selection, expected: list[tuple[int, int, int]]
) -> None:
    trace = sampled().build()

    assert rows(select(trace, selection)) == expected
    source = selected_source(sampled().builder, selection)
    assert rows(Trace(source)) == expected
    assert source.row_count(SLICES) >= len(expected)
    whole = write_as(sampled(), tmp_path / "whole.db")
    with wavescope.open(wavescope.convert(whole, tmp_path / "p.db", selection=selection)) as part:
        assert rows(part) == expected


def test_a_part_of_a_part_is_cut_again() -> None:
    part = select(sampled().build(), Selection(start="110"))

    assert rows(select(part, Selection(end="310"))) == [(0, 110, 120), (0, 300, 310)]


def test_merging_keeps_the_slices_of_every_process(tmp_path: Path) -> None:
    first = write_as(sampled(), tmp_path / "a.db")
    plain = write_as(a_trace().with_kernel("add", 1, 2), tmp_path / "b.db")
    third = write_as(a_trace().with_process(9).with_slice(7, 8), tmp_path / "c.db")

    merged = wavescope.merge([first, plain, third], tmp_path / "all.db")

    with wavescope.open(merged) as trace:
        assert rows(trace) == [(0, 100, 120), (0, 300, 320), (0, 500, 520), (3, 7, 8)]


def changed(tmp_path: Path, statement: str) -> Path:
    path = write_as(sampled(), tmp_path / "trace.db")
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def test_a_file_of_before_there_were_slices_has_none(tmp_path: Path) -> None:
    path = changed(tmp_path, "DROP TABLE wavescope_slice")

    with wavescope.open(path) as trace:
        assert rows(trace) == []
        assert len(trace.ops) == 3
        assert not list(trace.notes)
        assert rows(select(trace, Selection(start="110"))) == []


def test_a_slice_of_a_file_that_ends_before_it_starts_is_empty(tmp_path: Path) -> None:
    path = changed(tmp_path, "UPDATE wavescope_slice SET end = 1 WHERE start = 300")

    with wavescope.open(path) as trace:
        assert rows(trace) == [(0, 100, 120), (0, 300, 300), (0, 500, 520)]
        assert dict(trace.notes) == {"slices ended before they started: taken as ending there": 1}


@pytest.mark.parametrize("value", ["NULL", "'soon'", "4611686018427387905"])
def test_a_slice_of_a_file_without_a_usable_time_is_refused(tmp_path: Path, value: str) -> None:
    path = changed(tmp_path, f"UPDATE wavescope_slice SET start = {value}")

    with wavescope.open(path) as trace, pytest.raises(UnreadableInputError, match="usable start"):
        rows(trace)


def test_tables_for_other_tools_have_the_slices_too(tmp_path: Path) -> None:
    path = write_as(sampled(), tmp_path / "trace.db")
    folder = wavescope.convert(path, tmp_path / "tables", format="csv-folder")
    assert (folder / "slices.csv").read_text().splitlines() == [
        "process,start_ns,end_ns",
        "0,100,120",
        "0,300,320",
        "0,500,520",
    ]
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = wavescope.convert(path, tmp_path / "arrow", format="parquet-folder")
    assert parquet.read_table(folder / "slices.parquet")["end_ns"].to_pylist() == [120, 320, 520]
    with wavescope.open(path) as trace:
        assert trace.slices.to_arrow().to_pydict() == {
            "process": [0, 0, 0],
            "start_ns": [100, 300, 500],
            "end_ns": [120, 320, 520],
        }
        assert trace.slices.to_pandas()["end_ns"].tolist() == [120, 320, 520]


Pairs = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), min_size=1, max_size=8)


@given(pairs=Pairs, window=st.tuples(st.integers(0, 40), st.integers(0, 20)), ranges=Pairs)
def test_rows_hold_exactly_the_times_of_slices_window_and_ranges(
    pairs: list[tuple[int, int]], window: tuple[int, int], ranges: list[tuple[int, int]]
) -> None:
    starts, lengths = np.array(pairs, np.int64).T
    low, high = window[0], sum(window)
    chosen = Intervals.from_pairs([a for a, _ in ranges], [a + b for a, b in ranges])

    made = slice_rows(3, starts, starts + lengths, (low, high), chosen)

    def times(of: list[tuple[int, int]]) -> set[int]:
        return {at for start, length in of for at in range(start, start + length)}

    expected = times(pairs) & set(range(low, high)) & times(ranges)
    found = [
        at
        for start, end in zip(made["start_ns"].tolist(), made["end_ns"].tolist(), strict=True)
        for at in range(start, end)
    ]
    assert found == sorted(expected)
    assert len(made["process"]) >= 1
    assert set(made["process"].tolist()) == {3}
