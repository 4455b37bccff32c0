"""SQLite traces that other tools wrote: rocm-trace-lite, rocmProfileData, rocpd."""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from tests.registered import importer_called
from wavescope.formats import Importer
from wavescope.formats.sniff import probe
from wavescope.model.columns import LAUNCHES, MARKER_INSTANT, TABLES
from wavescope.model.trace import Trace

RTL = importer_called("rocm-trace-lite")
RPD = importer_called("rocmProfileData")
ROCPD = importer_called("rocpd")
FILES = {
    "rtl/hip_4gpu.db": RTL,
    "rtl/ctypes_markers.db": RTL,
    "rpd/synthetic_v3.rpd": RPD,
    "rocprofv3/rocpd_v3_sample.db": ROCPD,
}


def opened(shared_data: Path, name: str) -> Trace:
    return Trace(FILES[name].open(shared_data / name))


@pytest.mark.parametrize(("name", "importer"), FILES.items())
def test_each_file_is_known_by_one_importer(
    shared_data: Path, name: str, importer: Importer
) -> None:
    seen = probe(shared_data / name)
    ours = (RTL, RPD, ROCPD)
    assert [candidate for candidate in ours if candidate.matches(seen)] == [importer]


@pytest.mark.parametrize("name", FILES)
def test_reading_everything_changes_nothing_and_finds_nothing_wrong(
    shared_data: Path, name: str
) -> None:
    path = shared_data / name
    before = (digest(path), sorted(path.parent.iterdir()))
    with opened(shared_data, name) as trace:
        for table in TABLES:
            rows = sum(len(batch[table.column_names[0]]) for batch in trace.source.batches(table))
            assert rows <= trace.source.row_count(table)
        assert dict(trace.notes) == {}
    assert (digest(path), sorted(path.parent.iterdir())) == before


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_recorded_kernels_are_those_that_the_gpus_executed(shared_data: Path) -> None:
    plain = {"_Z7add_onePfi": "add_one", "_Z5scalePffi": "scale"}
    truth: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    with gzip.open(shared_data / "rtl/hip_4gpu_truth.csv.gz", "rt") as file:
        for gpu, _, _, kind, name, start, end, _ in csv.reader(file):
            if kind == "dispatch" and name != "(rocr blit)":
                truth[int(gpu) - 1, plain.get(name, name)].append((int(start), int(end)))
    with opened(shared_data, "rtl/hip_4gpu.db") as trace:
        recorded: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
        ops = trace.ops
        ops.load("gpu", "name", "start_ns", "end_ns")
        keys = zip(ops["gpu"].tolist(), ops.strings("name"), strict=True)
        for key, start, end in zip(
            keys, ops["start_ns"].tolist(), ops["end_ns"].tolist(), strict=True
        ):
            recorded[key].append((start, end))

    assert {key: len(rows) for key, rows in recorded.items()} == {
        key: len(rows) for key, rows in truth.items()
    }
    assert sum(map(len, recorded.values())) == 4816
    for key, rows in truth.items():
        difference = np.array(sorted(recorded[key])) - np.array(sorted(rows))
        assert np.abs(difference).max() <= 10  # the recorder converts GPU ticks of 10 ns


def test_markers_of_a_lite_trace_enclose_their_kernels(shared_data: Path) -> None:
    with opened(shared_data, "rtl/ctypes_markers.db") as trace:
        markers, ops = trace.markers, trace.ops
        assert len(ops) == 900
        assert Counter(markers.strings("name")) == {
            "start": 1,
            "prefill": 20,
            "decode": 20,
            **{f"step_{index}": 1 for index in range(20)},
        }
        assert markers["flags"].tolist().count(MARKER_INSTANT) == 1
        name_of = dict(zip(markers["id"].tolist(), markers.strings("name"), strict=True))
        launched_in = Counter(name_of[marker] for marker in ops["marker"].tolist())
        assert launched_in == {"prefill": 100, "decode": 800}
        assert set(ops["workgroup_x"].tolist()) == {256}
        assert (ops["hardware_queue"] > 0).all()
        assert trace.processes["pid"].tolist() == [11543]


def test_rocmprofiledata(shared_data: Path) -> None:
    with opened(shared_data, "rpd/synthetic_v3.rpd") as trace:
        assert len(trace.ops) == len(trace.calls) == len(trace.links) == 3000
        assert len(trace.markers) == 20
        assert trace.markers.strings("name") == [f"step_{index}" for index in range(1, 21)]
        assert set(trace.calls.strings("name")) == {"hipLaunchKernel"}
        assert trace.processes["pid"].tolist() == [4242, 4243]
        assert Counter(trace.calls["process"].tolist()) == {0: 1500, 1: 1500}
        launches = trace.table(LAUNCHES)
        assert launches["stream"][0] == 0x7F0000001000
        assert launches.strings("name") == trace.ops.strings("name")
        pid_of_call = dict(
            zip(trace.calls["id"].tolist(), trace.calls["pid"].tolist(), strict=True)
        )
        pid_of_op = {
            op: pid_of_call[call]
            for call, op in zip(
                trace.links["call"].tolist(), trace.links["op"].tolist(), strict=True
            )
        }
        pids = trace.processes["pid"][trace.ops["process"]].tolist()
        assert pids == [pid_of_op[op] for op in trace.ops["id"].tolist()]
        lanes = Counter(zip(trace.ops["gpu"].tolist(), trace.ops["queue"].tolist(), strict=True))
        assert lanes == {(gpu, queue): 375 for gpu in (0, 1) for queue in range(4)}


def test_rocpd_says_the_same_as_the_json_of_the_same_run(shared_data: Path) -> None:
    with gzip.open(shared_data / "rocprofv3/908_results.json.gz") as file:
        run = orjson.loads(file.read())["rocprofiler-sdk-tool"][0]
    recorded = run["buffer_records"]["kernel_dispatch"]
    by_number = {record["dispatch_info"]["dispatch_id"]: record for record in recorded}
    symbols = {symbol["kernel_id"]: symbol for symbol in run["kernel_symbols"]}
    gpu_of = {
        agent["id"]["handle"]: agent["logical_node_type_id"]
        for agent in run["agents"]
        if agent["type"] == 2
    }
    with opened(shared_data, "rocprofv3/rocpd_v3_sample.db") as trace:
        ops = trace.ops
        assert sorted(ops["sequence"].tolist()) == sorted(by_number)[:2000]
        dispatches = [by_number[number] for number in ops["sequence"].tolist()]
        assert ops["start_ns"].tolist() == [d["start_timestamp"] for d in dispatches]
        assert ops["end_ns"].tolist() == [d["end_timestamp"] for d in dispatches]
        assert ops["thread"].tolist() == [d["thread_id"] for d in dispatches]
        assert ops["correlation"].tolist() == [d["correlation_id"]["internal"] for d in dispatches]
        infos = [d["dispatch_info"] for d in dispatches]
        assert ops["gpu"].tolist() == [gpu_of[i["agent_id"]["handle"]] for i in infos]
        assert ops["queue"].tolist() == [i["queue_id"]["handle"] for i in infos]
        assert ops["grid_x"].tolist() == [i["grid_size"]["x"] for i in infos]
        assert ops["workgroup_x"].tolist() == [i["workgroup_size"]["x"] for i in infos]
        assert ops["lds_bytes"].tolist() == [i["group_segment_size"] for i in infos]
        used = [symbols[i["kernel_id"]] for i in infos]
        assert ops.strings("name") == [symbol["formatted_kernel_name"] for symbol in used]
        check_kernels(trace, symbols)
        assert trace.processes["pid"].tolist() == [run["metadata"]["pid"]]
        assert trace.agents.strings("chip") == ["gfx950"] * 8
        assert len(set(trace.agents.strings("uuid"))) == 8


def check_kernels(trace: Trace, symbols: dict[int, Any]) -> None:
    kernels = trace.kernels
    assert sorted(kernels["id"].tolist()) == sorted(set(trace.ops["kernel"].tolist()))
    for row, kernel in enumerate(kernels["id"].tolist()):
        symbol = symbols[kernel]
        assert kernels.strings("mangled")[row] == symbol["kernel_name"].removesuffix(".kd")
        assert kernels["vgprs"][row] == symbol["arch_vgpr_count"]
        assert kernels["agprs"][row] == symbol["accum_vgpr_count"]
        assert kernels["sgprs"][row] == symbol["sgpr_count"]
        assert kernels["kernarg_bytes"][row] == symbol["kernarg_segment_size"]
