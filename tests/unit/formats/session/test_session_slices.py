"""A session that was recorded in slices of time says which, whatever its files are like."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chunks import a_cuda_process, a_process
from wavescope.formats import open_trace
from wavescope.formats.session.reading import Window, open_session
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.trace import Trace

ALL_QUEUES = 0xFFFE
OUTSIDE = (0, 0, 0, 0, 0, 9)


def slices(trace: Trace) -> list[tuple[int, int, int]]:
    columns = (trace.slices[name].tolist() for name in ("process", "start_ns", "end_ns"))
    return list(zip(*columns, strict=True))


def test_slices_of_every_process_come_in_order_and_apart(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    a_process(folder, pid=6, start_ns=1).with_agent(0).with_op(start=1, end=2).write()
    a_cuda_process(folder, pid=7, start_ns=2).with_slice(500, 520).with_slice(100, 120).write()
    (
        a_cuda_process(folder, pid=8, start_ns=3)
        .with_slice(100, 120)
        .with_slice(110, 130)
        .with_slice(130, 140)
        .with_slice(200, 200)
        .write()
    )
    with open_trace(folder) as trace:
        assert slices(trace) == [(1, 100, 120), (1, 500, 520), (2, 100, 140)]
        assert not list(trace.notes)
    with open_session(folder) as source:
        write_trace([source], tmp_path / "trace.db")
    with open_trace(tmp_path / "trace.db") as trace:
        assert slices(trace) == [(1, 100, 120), (1, 500, 520), (2, 100, 140)]


@pytest.mark.parametrize(
    ("start_ns", "end_ns"),
    [
        (20, 10),
        (-5, 10),
        (1 << 62, (1 << 62) + 5),
        (5, 1 << 70),
        ("10", "20"),
        (None, 20),
        (1.5, 20),
        (True, 20),
        ([1], {}),
    ],
)
def test_slices_that_cannot_be_are_left_out_and_counted(
    tmp_path: Path, start_ns: object, end_ns: object
) -> None:
    process = a_cuda_process(tmp_path / "s").with_slice(start_ns, end_ns).with_slice(30, 40)
    with open_trace(process.write()) as trace:
        assert slices(trace) == [(0, 30, 40)]
        assert dict(trace.notes) == {"facts that cannot be read, left out": 1}


def test_a_fact_that_was_cut_off_leaves_the_slices_before_it(tmp_path: Path) -> None:
    process = a_cuda_process(tmp_path / "s").with_slice(30, 40).with_slice(50, 60)
    process.write(ended=False)
    facts = process.path("facts").read_bytes()
    process.path("facts").write_bytes(facts[:-4])
    with open_trace(process.folder) as trace:
        assert slices(trace) == [(0, 30, 40)]


def test_a_process_that_was_killed_before_its_first_slice_was_over_is_no_whole_one(
    tmp_path: Path,
) -> None:
    process = a_cuda_process(tmp_path / "s", start_ns=1000)
    process.with_counter(seen=9, timed=0, queue=ALL_QUEUES, skipped=OUTSIDE)
    with open_trace(process.write(ended=False)) as trace:
        assert slices(trace) == [(0, 1000, 1000)]


def test_a_process_that_skipped_for_other_reasons_has_no_slices(tmp_path: Path) -> None:
    process = a_cuda_process(tmp_path / "s")
    process.with_counter(seen=9, timed=4, queue=ALL_QUEUES, skipped=(1, 1, 1, 1, 1, 0))
    with open_trace(process.write()) as trace:
        assert slices(trace) == []


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (Window(110, 310), [(0, 110, 120), (0, 300, 310)]),
        (Window(120, 300), [(0, 120, 120)]),
        (Window(0, (1 << 63) - 1), [(0, 100, 120), (0, 300, 320)]),
        (Window(-50, 105), [(0, 100, 105)]),
    ],
)
def test_slices_are_cut_to_the_window(
    tmp_path: Path, window: Window, expected: list[tuple[int, int, int]]
) -> None:
    process = a_cuda_process(tmp_path).with_slice(100, 120).with_slice(300, 320)
    process.write()
    with Trace(open_session(tmp_path, {process.base: window})) as trace:
        assert slices(trace) == expected
