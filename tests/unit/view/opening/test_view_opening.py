"""Traces are read in the background: what is shown meanwhile, in the end, and when it fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.builders import TraceMaker, a_trace, random_ops
from tests.sample_files import SAMPLES, rich_trace, write_as
from tests.view_ranges import expected_host, expected_ops, shown_ranges
from wavescope.errors import UnknownFormatError, UnreadableInputError, WavescopeError
from wavescope.formats import open_trace
from wavescope.model.columns import OPS, Table
from wavescope.model.selection import Selection, trace_span
from wavescope.model.source import Batch, read_columns
from wavescope.model.trace import Trace
from wavescope.view.opening import (
    Loaded,
    OpeningOptions,
    StillReadingError,
    TraceView,
    growing_rows,
    loaded_view,
    open_view,
    reading,
)
from wavescope.view.opening.reading import Reading

_PATIENCE = 60.0
_EACH_BATCH = OpeningOptions(cache=None, batch_rows=50, publish_seconds=0.0)


def until(view: TraceView, condition: Callable[[Loaded], bool]) -> Loaded:
    """What is loaded once `condition` holds; a test that waits for too long fails."""
    waiting = threading.Event()
    for _ in range(int(_PATIENCE / 0.005)):
        loaded = view.loaded
        if condition(loaded):
            return loaded
        waiting.wait(0.005)
    pytest.fail(f"still waiting with {view.loaded}")


def whole(view: TraceView) -> Loaded:
    return until(view, lambda loaded: loaded.is_whole or bool(loaded.problem))


class ObservedSource:
    """The source of a trace, of which a test sees each batch before it is given."""

    def __init__(self, trace: Trace, before: Callable[[Table, int], None]) -> None:
        self._source = trace.source
        self._before = before
        self.closed = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._source, name)

    def batches(
        self, table: Table, columns: Sequence[str] | None = None, rows: int = 10
    ) -> Iterator[Batch]:
        whole = read_columns(self._source, table, columns or table.column_names)
        count = len(next(iter(whole.values())))
        for number, first in enumerate(range(0, count, rows)):
            self._before(table, number)
            yield {name: column[first : first + rows] for name, column in whole.items()}

    def close(self) -> None:
        self.closed = True


def observed(maker: TraceMaker, before: Callable[[Table, int], None]) -> TraceView:
    return TraceView(0, "test", Trace(ObservedSource(maker.build(), before)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SAMPLES)
def test_all_ranges_of_every_format_are_shown_to_the_nanosecond(name: str, tmp_path: Path) -> None:
    path = SAMPLES[name](tmp_path)

    with open_view(path, options=_EACH_BATCH) as view, open_trace(path) as trace:
        loaded = whole(view)

        assert loaded.problem == ""
        assert shown_ranges(view, "ops") == expected_ops(trace)
        assert shown_ranges(view, "markers") == expected_host(trace, "markers")
        assert shown_ranges(view, "calls") == expected_host(trace, "calls")
        assert (loaded.first_ns, loaded.end_ns) == trace_span(trace)
        assert (view.number, view.label, loaded.share) == (0, path.name, 1.0)


def test_calls_nest_below_each_other_and_overlapping_ops_lie_side_by_side() -> None:
    view = loaded_view(
        a_trace()
        .with_call("outer", 0, 100)
        .with_call("inner", 10, 20)
        .with_call("second", 30, 40)
        .with_kernel("a", 0, 50)
        .with_kernel("b", 10, 60)
        .build()
    )

    calls, queue = view.loaded.row_by_id["calls/0/1"], view.loaded.row_by_id["queue/0/0"]
    assert [(lane.depth, lane.starts.tolist()) for lane in calls.lanes] == [(0, [0]), (1, [10, 30])]
    assert [(lane.depth, lane.starts.tolist()) for lane in queue.lanes] == [(0, [0]), (1, [10])]
    assert calls.depth == queue.depth == 2


def test_more_is_shown_batch_by_batch_ops_first_then_markers_then_calls() -> None:
    shown: list[Loaded] = []
    view = observed(
        _many_rows(), lambda table, number: shown.append(view.loaded) if number else None
    )

    Reading(view, OpeningOptions(cache=None, batch_rows=100, publish_seconds=0.0)).read()

    counts = [
        tuple(
            sum(row.count for row in loaded.rows if row.table == table and row.lanes)
            for table in ("ops", "markers", "calls")
        )
        for loaded in [*shown, view.loaded]
    ]
    assert counts == [
        (100, 0, 0),
        (200, 0, 0),
        (300, 100, 0),
        (300, 200, 100),
        (300, 200, 200),
    ]
    versions = [loaded.version for loaded in [*shown, view.loaded]]
    assert versions == sorted(set(versions))
    shares = [loaded.share for loaded in [*shown, view.loaded]]
    assert shares == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert [loaded.is_whole for loaded in shown] == [False] * 4


def _many_rows() -> TraceMaker:
    maker = a_trace()
    for start in range(300):
        maker.with_kernel("k", 10 * start + 100, 10 * start + 105)
    for start in range(200):
        maker.with_marker("m", 10 * start + 50, 10 * start + 55)
        maker.with_call("c", 10 * start + 7, 10 * start + 9)
    return maker


def test_the_time_axis_begins_with_the_first_event_of_any_table_from_the_start() -> None:
    seen: list[int] = []
    view = observed(_many_rows(), lambda table, number: seen.append(view.loaded.first_ns))

    Reading(view, OpeningOptions(cache=None, batch_rows=100, publish_seconds=0.0)).read()

    assert set(seen[4:]) == {7}
    assert (view.loaded.first_ns, view.loaded.end_ns) == (7, 3095)


def test_what_is_shown_between_is_due_by_time_alone() -> None:
    now = 0.0

    def pass_time(table: Table, number: int) -> None:
        nonlocal now
        now += 0.1

    view = observed(_many_rows(), pass_time)
    options = OpeningOptions(cache=None, batch_rows=10, publish_seconds=1.0)

    Reading(view, options, clock=lambda: now).read()

    # Two looks ahead and 70 batches of a tenth of a second each: 1 + 7 pictures, then the whole.
    assert view.loaded.version == 8
    assert view.loaded.is_whole


@pytest.mark.parametrize(("part_rows", "batch_rows"), [(1, 7), (64, 1000), (1 << 20, 33)])
def test_batches_and_parts_of_any_size_give_the_same_lanes(
    part_rows: int, batch_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growing_rows, "PART_ROWS", part_rows)
    monkeypatch.setattr(reading, "_SHOWN_AT_ONCE", 10)
    trace = random_ops(3000, gpus=2, queues=2).build()
    view = TraceView(0, "test", trace)

    Reading(view, OpeningOptions(cache=None, batch_rows=batch_rows, publish_seconds=0.0)).read()

    assert shown_ranges(view, "ops") == expected_ops(trace)
    rows = [row for row in view.loaded.rows if row.lanes]
    assert [len(row.lanes) for row in rows] == [1] * 4
    for row in rows:
        assert np.all(np.diff(row.lanes[0].starts) > 0)


def test_a_very_long_row_keeps_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_rows, "MOST_JOINED", 100)
    monkeypatch.setattr("wavescope.view.lanes.growing.LONGEST_PART", 200)
    trace = random_ops(1000, gpus=1, queues=1).build()
    view = TraceView(0, "test", trace)

    Reading(view, OpeningOptions(cache=None, batch_rows=150, publish_seconds=0.0)).read()

    assert shown_ranges(view, "ops") == expected_ops(trace)
    assert len(view.loaded.row_by_id["queue/0/0"].lanes) > 1


def test_rows_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_rows, "MOST_PLACES", 2)
    maker = a_trace()
    for queue in (0, 1, 2, 0, 3):
        maker.with_kernel("k", queue, queue + 1, queue=queue)

    loaded = loaded_view(maker.build()).loaded

    assert [(row.id, row.count) for row in loaded.rows if row.lanes] == [
        ("queue/0/0", 2),
        ("queue/0/1", 1),
    ]
    assert loaded.notes == ("2 ranges could not be drawn: too deep, or on too many rows",)


@pytest.mark.parametrize(
    ("maker", "times", "rows"),
    [
        (a_trace(), (0, 1), []),
        (a_trace().with_kernel("a", 5, 9), (5, 9), ["gpu/0", "queue/0/0", "series/busy/0"]),
        (a_trace().with_kernel("a", 5, 5), (5, 6), ["gpu/0", "queue/0/0", "series/busy/0"]),
    ],
)
def test_traces_of_no_op_and_of_one(
    maker: TraceMaker, times: tuple[int, int], rows: list[str], tmp_path: Path
) -> None:
    with open_view(write_as(maker, tmp_path / "t.db"), options=_EACH_BATCH) as view:
        loaded = whole(view)

        assert loaded.problem == ""
        assert (loaded.first_ns, loaded.end_ns) == times
        assert [row.id for row in loaded.rows] == rows


def test_a_file_that_is_no_trace_is_an_error_at_once(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("no trace")

    with pytest.raises(UnknownFormatError):
        open_view(other)
    with pytest.raises(UnreadableInputError, match="no such file"):
        open_view(tmp_path / "missing.db")


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (UnreadableInputError("t.db", "it holds rubbish"), "cannot read t.db: it holds rubbish"),
        (OSError("the disk is gone"), "the disk is gone"),
        (MemoryError(), "there is not enough memory to show more of the trace"),
        (ZeroDivisionError("odd"), "reading failed: ZeroDivisionError: odd"),
    ],
)
def test_what_fails_while_reading_is_told_and_what_was_read_stays(
    error: Exception, problem: str
) -> None:
    def fail_late(table: Table, number: int) -> None:
        if table is OPS and number == 2:
            raise error

    view = observed(_many_rows(), fail_late)

    Reading(view, OpeningOptions(cache=None, batch_rows=100, publish_seconds=0.0)).run()

    assert view.loaded.problem == problem
    assert not view.loaded.is_whole
    assert len(shown_ranges(view, "ops")) == 200
    with pytest.raises(WavescopeError, match="not read to its end"):
        view.require_whole()


def test_a_damaged_file_ends_in_a_problem(tmp_path: Path) -> None:
    path = write_as(random_ops(20_000), tmp_path / "t.db")
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 40 * 4096] = bytes([255]) * (40 * 4096)
    path.write_bytes(content)

    with open_view(path, options=_EACH_BATCH) as view:
        loaded = whole(view)

        assert "t.db" in loaded.problem
        assert not loaded.is_whole


def test_closing_ends_reading_and_releases_the_file() -> None:
    is_reading, go_on = threading.Event(), threading.Event()

    def wait(table: Table, number: int) -> None:
        if table is OPS and number == 1:
            is_reading.set()
            assert go_on.wait(_PATIENCE)

    view = observed(_many_rows(), wait)
    reader = Reading(view, OpeningOptions(cache=None, batch_rows=10, publish_seconds=0.0))
    view.read_with(reader.run)
    assert is_reading.wait(_PATIENCE)
    with pytest.raises(StillReadingError):
        view.require_whole()

    closing = threading.Thread(target=view.close)
    closing.start()
    until(view, lambda _: view.is_closing)
    go_on.set()
    closing.join(_PATIENCE)

    assert not closing.is_alive()
    assert view.trace.source.closed  # type: ignore[attr-defined]
    assert not view.loaded.is_whole
    assert view.loaded.problem == ""
    assert len(shown_ranges(view, "ops")) < 300


def test_an_analysis_has_its_turn_between_two_batches() -> None:
    """Whoever waits for the turn gets it before the reading ends, and the reading waits for it."""
    counted: list[int] = []
    has_turn = threading.Event()

    def analyse() -> None:
        with view.turn:
            has_turn.set()
            counted.append(len(view.trace.calls["start_ns"]))
            counted.append(view.loaded.is_whole)

    asking = threading.Thread(target=analyse)

    def ask(table: Table, number: int) -> None:
        if table is OPS and number == 1:
            asking.start()

    view = observed(_many_rows(), ask)
    reader = Reading(view, OpeningOptions(cache=None, batch_rows=10, publish_seconds=0.0))
    add_markers = reader.markers.add

    def add(batch: Batch) -> None:
        assert has_turn.wait(_PATIENCE)  # called without the turn: otherwise nobody else gets it
        add_markers(batch)

    reader.markers.add = add  # type: ignore[method-assign]
    reader.read()
    asking.join(_PATIENCE)

    assert counted == [200, False]
    assert len(shown_ranges(view, "ops")) == 300


@pytest.mark.parametrize("name", SAMPLES)
def test_analyses_between_batches_disturb_no_reader(name: str, tmp_path: Path) -> None:
    path = SAMPLES[name](tmp_path)
    with open_trace(path) as plain, open_trace(path) as trace:
        view = TraceView(0, "test", trace)
        reader = Reading(view, OpeningOptions(cache=None, batch_rows=7, publish_seconds=0.0))
        add_ops = reader.ops.add

        def add(batch: Batch) -> None:
            for table in (trace.calls, trace.ops, trace.markers):
                with table.borrowed():
                    table.load("start_ns", "name")
            add_ops(batch)

        reader.ops.add = add  # type: ignore[method-assign]
        reader.read()

        assert shown_ranges(view, "ops") == expected_ops(plain)
        assert shown_ranges(view, "calls") == expected_host(plain, "calls")


def test_a_selected_part_of_a_trace_is_shown_alone(tmp_path: Path) -> None:
    path = write_as(rich_trace(), tmp_path / "t.db")

    with open_view(
        path, selection=Selection(gpus=(1,), start="100us"), options=_EACH_BATCH
    ) as view:
        whole(view)

        starts = [start for _, _, start, _, _ in shown_ranges(view, "ops")]
        assert starts == view.trace.ops["start_ns"].tolist()
        assert {row.id for row in view.loaded.rows if row.table == "ops"} == {
            "gpu/1",
            "queue/1/1",
            "copies/1",
        }


def test_categories_of_calls_are_known_by_their_names() -> None:
    view = loaded_view(
        a_trace().with_call("aten::mm", 0, 1, category="cpu_op").with_call("hip", 2, 3).build()
    )

    strings = view.trace.strings
    assert strings[view.call_categories.of(strings.find("aten::mm"))] == "cpu_op"
    assert strings[view.call_categories.of(strings.find("hip"))] == "hip"
