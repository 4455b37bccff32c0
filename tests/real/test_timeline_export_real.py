"""Real traces as timelines: Perfetto's trace_processor finds every slice, and so does our reader."""

from __future__ import annotations

from pathlib import Path

import pytest

import wavescope
from tests.formats.trace_processor import ask
from tests.registered import exporter_called
from wavescope.formats import ExportOptions
from wavescope.model.trace import Trace

TRACES = (
    "kineto/h200/h200_graph_decode.json.gz",
    "kineto/mi300/gaunernst_bert-small-uncased__1016001.json.gz",
    "kineto/vllm/vllm_decode_graph_execution.json.gz",
    "rtl/ctypes_markers.db",
    "rtl/hip_4gpu.db",
    "rpd/synthetic_v3.rpd",
)


def slice_totals(trace: Trace) -> tuple[int, int]:
    """How many slices a timeline of the trace has, and how long they are together."""
    tables = (trace.ops, trace.calls, trace.markers)
    return sum(map(len, tables)), sum(int(table.duration_ns.sum()) for table in tables)


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("written_as", ["perfetto", "chrome-json"], ids=["pftrace", "json"])
def test_every_slice_is_found(
    tmp_path: Path, shared_data: Path, name: str, written_as: str
) -> None:
    exporter = exporter_called(written_as)
    path = tmp_path / f"trace{exporter.suffixes[0]}"
    with wavescope.open(shared_data / name) as trace:
        exporter.write(trace.source, path, ExportOptions(), lambda done, total: None)
        expected, links = slice_totals(trace), len(trace.links)

    slices, flows = ask(path, "SELECT count(*), sum(dur) FROM slice", "SELECT count(*) FROM flow")

    assert slices.rows == [list(expected)]
    assert flows.value == links


@pytest.mark.parametrize("name", TRACES)
def test_our_own_reader_finds_the_same_rows(tmp_path: Path, shared_data: Path, name: str) -> None:
    path = tmp_path / "trace.pftrace"
    with wavescope.open(shared_data / name) as before:
        exporter_called("perfetto").write(
            before.source, path, ExportOptions(), lambda done, total: None
        )
        with wavescope.open(path) as after:
            assert slice_totals(after) == slice_totals(before)
            assert len(after.links) == len(before.links)
            assert sorted(after.ops.strings("name")) == sorted(before.ops.strings("name"))
            assert sorted(after.ops["size_bytes"].tolist()) == sorted(
                before.ops["size_bytes"].tolist()
            )
            assert sorted(after.calls.strings("args")) == sorted(before.calls.strings("args"))
            assert list(after.notes) == []
