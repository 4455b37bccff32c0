"""What is done with sessions works with those of CUDA programs: their records are longer."""

from __future__ import annotations

from pathlib import Path

import pytest

import wavescope
from tests.chunks import ProcessMaker, a_cuda_process
from wavescope.collect.running_sessions import ControlPage
from wavescope.collect.windows.recorded_window import counted_between
from wavescope.collect.windows.snapshots import write_snapshot
from wavescope.formats.session.folder import write_session_facts
from wavescope.formats.session.layout import COUNTERS, SKIP_OUTSIDE_SLICES
from wavescope.formats.session.record_file import RecordFile

ALL_QUEUES = 0xFFFE
GRAPH_RUN = 5


def a_session(folder: Path) -> ProcessMaker:
    folder.mkdir()
    write_session_facts(folder, {"command": "python3 model.py"})
    return (
        a_cuda_process(folder)
        .with_records("markers", 64)
        .with_marker("decode", 90, 400, id=1, flags=4, domain="LLM")
        .with_op(start=100, end=150, kernel=1, queue=1, graph=12, graph_node=5, marker=1)
        .with_op(start=200, end=390, kind=GRAPH_RUN, queue=1, graph=12)
        .with_counter(seen=9, timed=1, queue=ALL_QUEUES, skipped=(0, 0, 0, 0, 0, 8))
        .with_slice(95, 120)
    )


def require_all_of_it(path: Path) -> None:
    with wavescope.open(path) as trace:
        assert trace.ops.strings("name") == ["gemm(float*, int)", "graph 12"]
        assert trace.ops["graph"].tolist() == [12, 12]
        assert trace.ops["graph_node"].tolist() == [5, -1]
        assert trace.ops["stream"].tolist() == [13, 13]
        assert trace.slices["start_ns"].tolist() == [95]
        assert trace.slices["end_ns"].tolist() == [120]
        assert trace.coverage["skipped"].tolist() == [8]
        assert trace.markers.strings("domain") == ["LLM"]


@pytest.mark.parametrize("ended", [True, False])
def test_a_session_that_a_dead_recorder_left_is_recovered(tmp_path: Path, *, ended: bool) -> None:
    a_session(tmp_path / "session").write(ended=ended)

    found = wavescope.recover(tmp_path / "session", tmp_path / "trace.db")

    require_all_of_it(found.output)


def test_a_snapshot_has_all_of_it_so_far(tmp_path: Path) -> None:
    session = tmp_path / "session"
    process = a_session(session)
    process.write(ended=False)
    page = ControlPage(process.pid, process.path("control"))

    made = write_snapshot(session, [page], tmp_path / "trace.db", force=False)

    require_all_of_it(made.output)


def test_a_window_counts_what_was_outside_of_slices_meanwhile(tmp_path: Path) -> None:
    """Counters are per GPU; what was counted between two moments is of the window."""
    before = a_cuda_process(tmp_path, pid=1)
    before.with_counter(seen=10, timed=3, queue=ALL_QUEUES, skipped=(0, 0, 2, 0, 0, 5)).write()
    after = a_cuda_process(tmp_path, pid=2)
    after.with_counter(seen=30, timed=8, queue=ALL_QUEUES, skipped=(0, 0, 2, 0, 0, 20)).write()
    first, last = (
        next(RecordFile(process.path("counters"), COUNTERS).blocks()).records
        for process in (before, after)
    )

    counted = counted_between(first, first, last, last)

    assert counted["queue"].tolist() == [ALL_QUEUES]
    assert counted["seen"].tolist() == [20]
    assert counted["timed"].tolist() == [5]
    assert counted["skipped"][0].tolist()[SKIP_OUTSIDE_SLICES] == 15
