"""A window of a recording as a trace of its own, and the space of what is not needed any more."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from tests.chunks import a_process
from wavescope.formats import open_trace
from wavescope.formats.session.layout import COUNTERS
from wavescope.formats.session.layout import MARKERS as MARKER_STREAM
from wavescope.formats.session.layout import OPS as OP_STREAM
from wavescope.formats.session.reading import Window
from wavescope.formats.session.reading.reader import ChunkSource, open_session
from wavescope.formats.session.record_file import RecordFile
from wavescope.formats.session.spent_records import forget_finished, forget_ops
from wavescope.model.columns import COVERAGE, MARKERS, OPS, Table

PAGE = 4096


def column(source: ChunkSource, table: Table, name: str) -> list[int]:
    values: list[int] = []
    for batch in source.batches(table, (name,)):
        values += batch[name].tolist()
    return values


def test_a_window_has_ops_that_start_in_it_and_markers_that_overlap_it(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_agent(0).with_counter(seen=4, timed=4)
    for start in (90, 100, 199, 200):
        process.with_op(start=start, end=start + 50)
    process.with_marker("over", 10, 99, id=1)
    process.with_marker("into", 10, 100, id=2)
    process.with_marker("open", 150, 0, id=3, kind=3)
    process.with_marker("after", 200, 210, id=4)
    process.write()
    with open_session(tmp_path, {process.base: Window(100, 200)}) as source:
        assert column(source, OPS, "start_ns") == [100, 199]
        assert column(source, MARKERS, "id") == [2, 3]


def test_coverage_of_a_window_tells_what_fell_out_of_it(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_agent(0).with_counter(seen=10, timed=9, lost=(1,))
    for start in (90, 100, 199, 200):
        process.with_op(start=start, end=start + 5)
    process.write()
    window = Window(100, 200, fallen_out={0: 5})
    with open_session(tmp_path, {process.base: window}) as source:
        assert column(source, COVERAGE, "seen") == [9, 0]  # without that which starts too late
        assert column(source, COVERAGE, "timed") == [2, 0]
        assert column(source, COVERAGE, "skipped") == [6, 0]
        assert column(source, COVERAGE, "lost") == [0, 1]


def test_counters_of_a_window_take_the_place_of_all(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_agent(0).with_counter(seen=100, timed=100)
    process.with_op(start=10, end=20).with_op(start=150, end=160)
    process.write()
    counters = np.zeros(1, COUNTERS.record)
    counters["kind"], counters["seen"], counters["timed"] = 1, 1, 1
    with open_session(tmp_path, {process.base: Window(100, 200, counters)}) as source:
        assert column(source, COVERAGE, "seen") == [1]
        assert column(source, COVERAGE, "timed") == [1]
        assert column(source, COVERAGE, "skipped") == [0]


def test_other_processes_are_not_in_it(tmp_path: Path) -> None:
    first = a_process(tmp_path, pid=7).with_agent(0).with_op(start=110, end=120)
    second = a_process(tmp_path, pid=8).with_agent(0).with_op(start=130, end=140)
    first.write()
    second.write()
    with open_session(tmp_path, {second.base: Window(100, 200)}) as source:
        assert column(source, OPS, "start_ns") == [130]


def test_ops_that_are_forgotten_take_no_space_and_others_keep_their_places(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_agent(0)
    for start in range(1000):
        process.with_op(start=start, end=start + 1)
    process.write()
    before = process.path("ops").stat().st_blocks
    forget_ops(tmp_path, process.base, 650)
    assert process.path("ops").stat().st_blocks < before - 8 * 9
    assert process.path("ops").stat().st_size == PAGE + 64_000
    file = RecordFile(process.path("ops"), OP_STREAM)
    kept = [place for block in file.blocks() for place in block.places.tolist()]
    assert kept == list(range(640, 1000))
    assert file.filled_count == 1000
    with open_trace(tmp_path) as trace:
        assert trace.ops["start_ns"].tolist() == list(range(640, 1000))


def test_only_blocks_without_open_or_new_ranges_are_forgotten(tmp_path: Path) -> None:
    process = a_process(tmp_path)
    for number in range(1, 256 * 3 + 11):  # a block has 256
        is_open = number == 300
        end = 0 if is_open else number + 1
        process.with_marker("range", number, end, id=number, kind=3 if is_open else 1)
    process.write()
    forget_finished(tmp_path, process.base, 10_000)
    file = RecordFile(process.path("markers"), MARKER_STREAM)
    kept = [place for block in file.blocks() for place in block.places.tolist()]
    assert kept == [*range(256, 512), *range(768, 778)]
    with process.path("markers").open("rb") as opened:
        assert os.lseek(opened.fileno(), PAGE, os.SEEK_DATA) == PAGE + 3 * PAGE
