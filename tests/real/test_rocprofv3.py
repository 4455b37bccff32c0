"""Real rocprofv3 output: a training run on MI350X (JSON) and llama.cpp on gfx1151 (CSV)."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import orjson
import pytest

from tests.registered import importer_called
from wavescope.formats import ExportOptions
from wavescope.formats.rocprofv3.json_writer import write_rocprofv3_json
from wavescope.formats.sniff import probe
from wavescope.model.columns import AGENTS, KERNELS, OPS, PROCESSES
from wavescope.model.trace import Trace

CSV_IMPORTER = importer_called("rocprofv3 CSV")
JSON_IMPORTER = importer_called("rocprofv3 JSON")


@pytest.fixture
def results(shared_data: Path) -> Path:
    return shared_data / "rocprofv3" / "908_results.json.gz"


@pytest.fixture
def llama(shared_data: Path) -> Path:
    return shared_data / "rocprofv3" / "gfx1151"


def test_every_dispatch_of_the_json_is_there(results: Path) -> None:
    assert JSON_IMPORTER.matches(probe(results))
    trace = Trace(JSON_IMPORTER.open(results))

    truth = orjson.loads(gzip.decompress(results.read_bytes()))["rocprofiler-sdk-tool"][0]
    dispatches = truth["buffer_records"]["kernel_dispatch"]
    names = {symbol["kernel_id"]: symbol for symbol in truth["kernel_symbols"]}
    assert len(trace.ops) == len(dispatches) == 43_915
    assert trace.ops["start_ns"].tolist() == [item["start_timestamp"] for item in dispatches]
    assert trace.ops["end_ns"].tolist() == [item["end_timestamp"] for item in dispatches]
    assert trace.ops.strings("name") == [
        names[item["dispatch_info"]["kernel_id"]]["formatted_kernel_name"] for item in dispatches
    ]
    assert trace.ops["queue"].tolist() == [
        item["dispatch_info"]["queue_id"]["handle"] for item in dispatches
    ]
    assert set(trace.ops["gpu"].tolist()) == {0}
    assert len(trace.kernels) == 9_888
    assert trace.agents["gpu"].tolist() == list(range(8))
    assert set(trace.agents.strings("chip")) == {"gfx950"}
    assert trace.processes["pid"].tolist() == [908]
    assert list(trace.notes) == []


def test_the_json_survives_export_and_import(results: Path, tmp_path: Path) -> None:
    source = JSON_IMPORTER.open(results)
    path = tmp_path / "908_results.json"
    write_rocprofv3_json(source, path, ExportOptions(), lambda done, total: None)
    before, after = Trace(source), Trace(JSON_IMPORTER.open(path))

    renumbered = {"correlation", "sequence"}
    for table in (OPS, KERNELS, AGENTS, PROCESSES):
        for column in table.columns:
            if column.name in renumbered:
                continue
            one, other = before.table(table), after.table(table)
            if column.type.label == "string":
                assert one.strings(column.name) == other.strings(column.name), column.name
            else:
                assert np.array_equal(one[column.name], other[column.name]), column.name


def test_a_csv_file_brings_its_siblings(llama: Path) -> None:
    path = llama / "decode_kernel_trace.csv"
    assert CSV_IMPORTER.matches(probe(path))
    trace = Trace(CSV_IMPORTER.open(path))

    assert (len(trace.ops), len(trace.calls), len(trace.links)) == (144, 920, 27)
    assert trace.calls.strings("name")[:2] == ["hipLaunchKernel", "hipMemcpyAsync"]
    assert trace.ops["start_ns"][0] == 342331487558371
    assert trace.processes["pid"].tolist() == [2684120]
    first = int(trace.links["op"][0]) - 1
    assert trace.ops.strings("name")[first].startswith("void k_get_rows_float<float, float>(")
    assert list(trace.notes) == []


def test_a_graph_launch_is_linked_to_all_of_its_kernels(llama: Path) -> None:
    trace = Trace(CSV_IMPORTER.open(llama / "prefill_hip_api_trace.csv"))

    launched = np.bincount(trace.links["call"], minlength=6)[1:].tolist()
    assert dict(zip(trace.calls["correlation"].tolist(), launched, strict=True)) == {
        57175: 0,
        57328: 1_123,
        57343: 0,
        57428: 1,
        57482: 0,
    }
    assert trace.calls.strings("name")[1] == "hipGraphLaunch"


def test_the_folder_is_six_runs_with_counters(llama: Path) -> None:
    assert CSV_IMPORTER.matches(probe(llama))
    trace = Trace(CSV_IMPORTER.open(llama))

    assert sorted(trace.processes.strings("name")) == [
        "decode",
        "decode_fetch",
        "decode_stall",
        "prefill",
        "prefill_fetch",
        "prefill_stall",
    ]
    assert len(trace.counters) == 968
    assert "FETCH_SIZE" in set(trace.counters.strings("name"))
    assert list(trace.notes) == []


def test_folders_of_other_tools_are_not_taken(shared_data: Path) -> None:
    for name in ("compute-workloads/MI200/vcopy", "compute-workloads/MI300X_A1_rocpd/vcopy"):
        assert not CSV_IMPORTER.matches(probe(shared_data / name))
