"""Long op records of every size, torn and damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.chunks import PAGE, a_cuda_process, with_cuda_calls
from wavescope.formats import open_trace
from wavescope.formats.session import layout
from wavescope.formats.session.record_file import RecordFile
from wavescope.model.columns import TABLES
from wavescope.model.trace import Trace

GRAPH_RUN = 5
ALL_QUEUES = 0xFFFE


def rows_of(trace: Trace, table: str, *columns: str) -> list[tuple[int, ...]]:
    found = getattr(trace, table)
    found.load(*columns)
    return list(zip(*(found[name].tolist() for name in columns), strict=True))


@pytest.mark.parametrize(
    ("op_bytes", "graphs", "nodes"),
    [(64, [-1, -1], [-1, -1]), (72, [-1, -1], [-1, -1]), (80, [9, -1], [5, -1]), (96, [9, -1], [5, -1])],
)  # fmt: skip
def test_records_of_every_size_are_read(
    tmp_path: Path, op_bytes: int, graphs: list[int], nodes: list[int]
) -> None:
    folder = (
        a_cuda_process(tmp_path / "s", op_bytes)
        .with_op(start=1, end=2, kernel=1, graph=9, graph_node=5)
        .with_empty("ops")
        .with_op(start=3, end=4, kernel=1, queue=1)
        .write()
    )
    with open_trace(folder) as trace:
        assert rows_of(trace, "ops", "id", "start_ns", "end_ns", "stream") == [
            (1, 1, 2, 7),
            (3, 3, 4, 13),
        ]
        assert trace.ops["graph"].tolist() == graphs
        assert trace.ops["graph_node"].tolist() == nodes
        assert not list(trace.notes)


@pytest.mark.parametrize("op_bytes", [0, 16, 63, 64 * 16 + 1, 1 << 31])
def test_records_of_an_impossible_size_are_left_out(tmp_path: Path, op_bytes: int) -> None:
    process = a_cuda_process(tmp_path / "s").with_op(start=1, end=2, kernel=1)
    process.write()
    content = bytearray(process.path("ops").read_bytes())
    content[16:20] = op_bytes.to_bytes(4, "little")
    process.path("ops").write_bytes(content)
    with open_trace(process.folder) as trace:
        assert len(trace.ops) == 0
        assert dict(trace.notes) == {
            f"file 7-1000.ops is with records of {op_bytes} bytes: left out": 1
        }


@pytest.mark.parametrize("op_bytes", [72, 80, 96])
def test_a_torn_tail_of_any_length_is_left_out(tmp_path: Path, op_bytes: int) -> None:
    process = a_cuda_process(tmp_path / "s", op_bytes)
    for start in (1, 3, 5):
        process.with_op(start=start, end=start + 1, kernel=1, graph=2, graph_node=1)
    process.write(ended=False)
    whole = process.path("ops").read_bytes()
    for missing in range(1, op_bytes, 7):
        process.path("ops").write_bytes(whole[:-missing])
        with open_trace(process.folder) as trace:
            assert trace.ops["start_ns"].tolist() == [1, 3]
            notes = dict(trace.notes)
            assert notes["records that were cut off at the end of a file, left out"] == 1


def test_zeros_of_a_killed_process_are_no_records(tmp_path: Path) -> None:
    process = (
        a_cuda_process(tmp_path / "s").with_op(start=1, end=2, kernel=1).with_op(start=3, end=4)
    )
    process.write(ended=False)
    process.path("ops").write_bytes(process.path("ops").read_bytes() + bytes(3 * 80 + 17))
    file = RecordFile(process.path("ops"), layout.OPS)
    assert (file.filled_count, file.slot_count, file.is_torn) == (2, 5, False)


@settings(max_examples=60)
@given(data=st.data())
def test_random_damage_of_long_records_never_crashes(tmp_path: Path, data: st.DataObject) -> None:
    process = with_cuda_calls(
        a_cuda_process(tmp_path / "s", data.draw(st.sampled_from([72, 80, 96])))
    )
    process.with_op(start=7, end=9, kind=GRAPH_RUN, graph=3).with_slice(1, 5).with_slice(8, 9)
    process.with_counter(seen=5, timed=4, queue=ALL_QUEUES).with_records("markers", 64)
    process.with_marker("m", 1, 2, id=1, domain="NCCL", payload=b"1234", payload_kind=6, category=3)
    process.write()
    suffix = data.draw(st.sampled_from(["ops", "calls", "markers", "counters", "facts"]))
    content = bytearray(process.path(suffix).read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        low = PAGE if suffix in process.records and data.draw(st.booleans()) else 0
        content[data.draw(st.integers(low, len(content) - 1))] = data.draw(st.integers(0, 255))
    process.path(suffix).write_bytes(content)
    with open_trace(process.folder) as trace:
        for table in TABLES:
            lengths = {len(trace.table(table)[name]) for name in table.column_names}
            assert len(lengths) == 1, table.name
        assert (np.diff(trace.ops["id"]) > 0).all()
        assert (trace.ops.duration_ns >= 0).all()
        assert (trace.slices.duration_ns >= 0).all()
        assert not (trace.ops["graph"] == 0).any()
