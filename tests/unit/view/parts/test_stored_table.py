"""Rows by number, id, value and time, read from files and from memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.builders import a_trace, random_ops
from wavescope.formats import exporter_for, open_source, write_source
from wavescope.model.columns import CALLS, LINKS, MARKERS, OPS, Table
from wavescope.model.source import Batch, TraceSource, read_columns
from wavescope.view.opening import loaded_view
from wavescope.view.parts import (
    Moments,
    TraceParts,
    parts_of,
    prepare_parts,
    stored_table,
    trace_parts,
)

ROWS = 40


class Unseekable:
    """A source of which only `batches` is known."""

    def __init__(self, source: TraceSource) -> None:
        self._source = source

    def __getattr__(self, name: str) -> object:
        if name == "keyed_batches":
            raise AttributeError(name)
        return getattr(self._source, name)


@pytest.fixture(params=["memory", "file", "rpd", "unseekable"])
def source(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TraceSource]:
    monkeypatch.setattr(stored_table, "ZONE_ROWS", 3)
    rng = np.random.default_rng(5)
    maker = a_trace().with_process(1)
    for number in range(ROWS):
        start = int(rng.integers(0, 100))
        end = start + int(rng.integers(0, 40))
        maker.with_kernel(f"k{number % 3}", start, end, grid_x=number)
        maker.with_call("launch", start, end, thread=number % 2, args=str(number))
        if number % 5 == 0:
            maker.with_marker(f"m{number}", start, end)
        maker.with_link(1 + (7 * number) % ROWS, number + 1)
    if request.param == "memory":
        yield maker.builder
        return
    target = tmp_path / ("trace.rpd" if request.param == "rpd" else "trace.db")
    write_source(maker.builder, target, exporter_for(target), inputs=[])
    opened = open_source(target)
    yield Unseekable(opened) if request.param == "unseekable" else opened  # type: ignore[misc]
    opened.close()


def whole(source: TraceSource, table: Table) -> Batch:
    return read_columns(source, table, table.column_names)


def same(found: Batch, expected: Batch, rows: np.ndarray) -> bool:
    return all(
        np.array_equal(values, expected[name][rows], equal_nan=values.dtype.kind == "f")
        for name, values in found.items()
    )


@pytest.mark.parametrize("table", [OPS, CALLS, MARKERS, LINKS])
def test_rows_come_by_number(source: TraceSource, table: Table) -> None:
    everything, parts = whole(source, table), TraceParts(source)
    count = len(everything[table.column_names[0]])
    assert len(parts.table(table)) == count

    for rows in ([0], [count - 1], [1, 2, count - 2], list(range(count))):
        found = parts.table(table).at(np.array(rows), table.column_names)
        assert same(found, everything, np.array(rows))


def test_rows_come_by_id_and_by_value(source: TraceSource) -> None:
    parts = TraceParts(source)
    ids = whole(source, OPS)["id"][[3, 17, 30]]

    rows, found = parts.table(OPS).with_ids(np.append(ids, 9_999), ("start_ns",))

    assert rows.tolist() == [3, 17, 30]
    assert same(found, whole(source, OPS), rows)
    links = whole(source, LINKS)
    (expected,) = np.nonzero(np.isin(links["call"], (1, 8)))
    assert parts.links_of("call", np.array([1, 8])).tolist() == expected.tolist()


@pytest.mark.parametrize("window", [(0, 200), (50, 50), (20, 30), (500, 600), (-9, -1)])
def test_rows_come_by_time(source: TraceSource, window: tuple[int, int]) -> None:
    everything = whole(source, CALLS)
    inside = (everything["start_ns"] <= window[1]) & (everything["end_ns"] >= window[0])

    rows, found = TraceParts(source).table(CALLS).overlapping(*window, ("thread",))

    assert rows.tolist() == np.flatnonzero(inside).tolist()
    assert same(found, everything, rows)


def test_rows_are_open_at_moments_of_their_thread(source: TraceSource) -> None:
    everything = whole(source, CALLS)
    moments = [(30, 0, 0), (31, 0, 1), (90, 0, 1), (30, 7, 0)]
    expected = [
        row
        for row in range(ROWS)
        if any(
            everything["start_ns"][row] <= time < everything["end_ns"][row]
            and (everything["process"][row], everything["thread"][row]) == (process, thread)
            for time, process, thread in moments
        )
    ]

    rows, _ = TraceParts(source).table(CALLS).open_at(Moments(*np.array(moments).T), ())

    assert rows.tolist() == expected


def test_reading_a_part_notes_nothing_about_the_whole(source: TraceSource) -> None:
    before = list(source.notes)

    TraceParts(source).table(OPS).at(np.array([5]), ("name",))

    assert list(source.notes) == before


def test_tables_are_gone_over_before_anybody_asks(tmp_path: Path) -> None:
    maker = a_trace().with_kernel("k", 0, 5).with_call("launch", 0, 1).with_link(1, 1)
    view, other = loaded_view(maker.build()), loaded_view(a_trace().build())
    other.close()

    prepare_parts([other, view], after_s=0).join()

    assert set(view.derived(parts_of)._tables) == {"ops", "calls", "links"}
    assert not other.has_derived(parts_of)


def test_a_pass_in_pieces_finds_the_same_and_ends_when_somebody_was_quicker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stored_table, "ZONE_ROWS", 3)
    monkeypatch.setattr(trace_parts, "_PIECE_ZONES", 2)
    source = random_ops(ROWS).builder
    in_pieces, at_once = TraceParts(source), TraceParts(source)

    pauses = sum(1 for _ in in_pieces.prepared(OPS))

    assert pauses == -(-ROWS // 3) // 2
    found, expected = in_pieces.table(OPS).zones, at_once.table(OPS).zones
    assert found.edges == expected.edges
    assert found.first_keys.tolist() == expected.first_keys.tolist()
    for name in ("id", "start_ns", "end_ns"):
        assert found.low[name].tolist() == expected.low[name].tolist()
        assert found.high[name].tolist() == expected.high[name].tolist()

    late = TraceParts(source)
    pieces = late.prepared(OPS)
    next(pieces)
    table = late.table(OPS)
    assert list(pieces) == []
    assert late.table(OPS) is table


def test_rows_that_were_added_together_are_found_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stored_table, "ZONE_ROWS", 3)
    source = random_ops(ROWS).builder
    everything = whole(source, OPS)

    for row in range(ROWS):
        found = TraceParts(source).table(OPS).at(np.array([row]), OPS.column_names)
        assert same(found, everything, np.array([row]))
