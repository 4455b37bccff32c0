"""rocprofv3 JSON export: laid out as rocprofv3 does, read back without loss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import TraceMaker, a_trace, random_ops
from tests.registered import exporter_called, importer_called
from wavescope.formats import ExportOptions
from wavescope.formats.rocprofv3.json_names import truncated_name
from wavescope.formats.sniff import probe
from wavescope.model.columns import KERNELS, MARKER_INSTANT
from wavescope.model.trace import Trace

IMPORTER = importer_called("rocprofv3 JSON")
EXPORTER = exporter_called("rocprofv3")


def exported(maker: TraceMaker, folder: Path, *, gzip: bool = False) -> Path:
    path = folder / "x_results.json"
    EXPORTER.write(maker.builder, path, ExportOptions(gzip=gzip), lambda done, total: None)
    return path


def entries(maker: TraceMaker, folder: Path) -> list[dict[str, Any]]:
    content = json.loads(exported(maker, folder).read_text())
    found: list[dict[str, Any]] = content["rocprofiler-sdk-tool"]
    return found


def read_back(maker: TraceMaker, folder: Path) -> Trace:
    path = exported(maker, folder)
    assert IMPORTER.matches(probe(path))
    return Trace(IMPORTER.open(path))


def a_rich_trace() -> TraceMaker:
    maker = (
        a_trace()
        .with_process(900, host="node1", command="python3 -u x.py", start_ns=1, end_ns=99, rank=3)
        .with_agent(0, chip="gfx942", model="MI300X", host="node1", cu_count=304, uuid="ff00")
        .with_agent(1, chip="gfx942", model="MI300X", host="node1", memory_bytes=1 << 37)
    )
    maker.builder.add_row(
        KERNELS, process=0, name="void f<int>(int)", mangled="_Z1fIiEvT_", vgprs=24, code_object="u"
    )
    return (
        maker.with_kernel(
            "void f<int>(int)", 20, 30, kernel=1, gpu=1, queue=7, stream=2, thread=77, grid_x=64,
            grid_y=1, grid_z=1, workgroup_x=64, workgroup_y=1, workgroup_z=1, lds_bytes=512,
            scratch_bytes=0,
        )
        .with_copy(30, 35, size_bytes=4096, gpu=1, target_device=1, source_device=-1, stream=2)
        .with_kernel("g", 40, 45)
        .with_op("", 50, 55, type="FillMemory", gpu=1, size_bytes=64)
        .with_call("hipLaunchKernel", 10, 12, category="HIP_RUNTIME_API_EXT", thread=77,
                   args='{"stream":"0x2"}')
        .with_call("hipMemcpyAsync", 13, 14, category="HIP_RUNTIME_API_EXT", stream=2, return_code=0)
        .with_call("aten::mm", 5, 15, category="cpu_op", args="not json")
        .with_call("MEMORY_ALLOCATION_ALLOCATE", 1, 2, category="MEMORY_ALLOCATION",
                   args='{"allocation_size":64}')
        .with_link(1, 1)
        .with_link(2, 2)
        .with_marker('step "1"', 1, 60)
        .with_marker("mark", 5, 5, flags=MARKER_INSTANT)
        .with_counter(1, "SQ_WAVES", 64.5)
        .with_counter(3, "SQ_WAVES", 8.0)
    )  # fmt: skip


def test_the_layout_is_rocprofv3s(tmp_path: Path) -> None:
    (entry,) = entries(a_rich_trace(), tmp_path)

    assert list(entry) == [
        "metadata",
        "agents",
        "counters",
        "strings",
        "code_objects",
        "kernel_symbols",
        "host_functions",
        "summary",
        "callback_records",
        "buffer_records",
    ]
    assert entry["metadata"]["pid"] == 900
    assert entry["metadata"]["node"]["hostname"] == "node1"
    assert entry["metadata"]["command"] == ["python3", "-u", "x.py"]
    assert [agent["type"] for agent in entry["agents"]] == [1, 2, 2]
    records = entry["buffer_records"]
    assert {name: len(rows) for name, rows in records.items() if rows} == {
        "kernel_dispatch": 2,
        "memory_copy": 2,
        "marker_api": 2,
        "hip_api": 2,
        "memory_allocation": 1,
        "host_api": 1,
    }
    assert [symbol["kernel_id"] for symbol in entry["kernel_symbols"]] == [0, 1, 2]
    assert entry["kernel_symbols"][1] == {
        "size": 88,
        "kernel_id": 1,
        "code_object_id": 1,
        "kernel_name": "_Z1fIiEvT_.kd",
        "arch_vgpr_count": 24,
        "formatted_kernel_name": "void f<int>(int)",
        "demangled_kernel_name": "void f<int>(int)",
        "truncated_kernel_name": "f",
    }


def test_numbers_resolve_through_the_string_tables(tmp_path: Path) -> None:
    (entry,) = entries(a_rich_trace(), tmp_path)
    kinds = entry["strings"]["buffer_records"]

    def spelled(record: dict[str, Any]) -> tuple[str, str]:
        kind = kinds[record["kind"]]
        return kind["kind"], kind["operations"][record["operation"]]

    records = entry["buffer_records"]
    assert spelled(records["kernel_dispatch"][0]) == ("KERNEL_DISPATCH", "KERNEL_DISPATCH_COMPLETE")
    assert (records["kernel_dispatch"][0]["kind"], records["kernel_dispatch"][0]["operation"]) == (
        11,
        2,
    )
    assert [spelled(row) for row in records["memory_copy"]] == [
        ("MEMORY_COPY", "MEMORY_COPY_HOST_TO_DEVICE"),
        ("MEMORY_COPY", "FillMemory"),
    ]
    assert [spelled(row) for row in records["hip_api"]] == [
        ("HIP_RUNTIME_API_EXT", "hipLaunchKernel"),
        ("HIP_RUNTIME_API_EXT", "hipMemcpyAsync"),
    ]
    assert spelled(records["host_api"][0]) == ("cpu_op", "aten::mm")
    assert [spelled(row)[1] for row in records["marker_api"]] == ["roctxThreadRangeA", "roctxMarkA"]
    texts = {item["key"]: item["value"] for item in entry["strings"]["marker_api"]}
    assert [texts[row["correlation_id"]["internal"]] for row in records["marker_api"]] == [
        'step "1"',
        "mark",
    ]
    assert (
        records["hip_api"][0]["correlation_id"] == records["kernel_dispatch"][0]["correlation_id"]
    )
    assert records["hip_api"][0]["args"] == [{"name": "stream", "value": "0x2"}]


def test_counters_name_their_dispatch(tmp_path: Path) -> None:
    (entry,) = entries(a_rich_trace(), tmp_path)

    names = {counter["id"]["handle"]: counter["name"] for counter in entry["counters"]}
    first, second = entry["callback_records"]["counter_collection"]
    assert [(names[row["counter_id"]["handle"]], row["value"]) for row in first["records"]] == [
        ("SQ_WAVES", 64.5)
    ]
    assert first["dispatch_data"]["dispatch_info"]["kernel_id"] == 1
    assert second["dispatch_data"]["start_timestamp"] == 40


def test_reading_back_gives_the_same_trace(tmp_path: Path) -> None:
    maker = a_rich_trace()
    before, after = maker.build(), read_back(maker, tmp_path)

    order = [0, 2, 1, 3]
    for name in ("start_ns", "end_ns", "gpu", "queue", "stream", "thread", "size_bytes", "grid_x",
                 "workgroup_x", "lds_bytes", "scratch_bytes"):  # fmt: skip
        assert after.ops[name].tolist() == before.ops[name][order].tolist(), name
    for name in ("name", "type"):
        assert after.ops.strings(name) == [before.ops.strings(name)[row] for row in order]
    calls = [0, 1, 3, 2]
    for name in ("start_ns", "end_ns", "stream", "return_code", "thread"):
        assert after.calls[name].tolist() == before.calls[name][calls].tolist(), name
    for name in ("name", "category", "args"):
        assert after.calls.strings(name) == [before.calls.strings(name)[row] for row in calls]
    for name in ("start_ns", "end_ns", "flags", "thread"):
        assert after.markers[name].tolist() == before.markers[name].tolist(), name
    assert after.markers.strings("name") == before.markers.strings("name")
    assert list(zip(after.links["call"], after.links["op"], strict=True)) == [(1, 1), (2, 3)]
    assert after.counters["op"].tolist() == [1, 2]
    assert after.counters["value"].tolist() == [64.5, 8.0]
    assert after.agents["gpu"].tolist() == [0, 1]
    assert after.agents.strings("uuid") == ["ff00", ""]
    assert after.processes["rank"].tolist() == [3]
    assert after.kernels.strings("mangled") == ["_Z1fIiEvT_", "g"]
    assert after.kernels["vgprs"].tolist() == [24, -1]
    assert list(after.notes) == []


def test_each_process_has_an_entry(tmp_path: Path) -> None:
    maker = (
        a_trace()
        .with_process(1, host="a")
        .with_process(2, host="b")
        .with_agent(0, host="a")
        .with_agent(1, host="b")
        .with_kernel("f", 10, 20, process=1, gpu=1)
        .with_kernel("g", 10, 20, process=0, gpu=0)
        .with_kernel("f", 30, 40, process=-1, gpu=0)
    )
    first, second = entries(maker, tmp_path)

    assert [first["metadata"]["pid"], second["metadata"]["pid"]] == [1, 2]
    names = [symbol["formatted_kernel_name"] for symbol in first["kernel_symbols"]]
    assert names == ["", "g", "f"]
    assert len(first["agents"]) == len(second["agents"]) == 2
    after = read_back(maker, tmp_path)
    assert after.ops["gpu"].tolist() == [0, 0, 1]
    assert after.ops["process"].tolist() == [0, 0, 1]


def test_a_trace_without_anything_is_still_a_file(tmp_path: Path) -> None:
    assert len(read_back(a_trace(), tmp_path).ops) == 0


def test_many_ops_keep_every_time(tmp_path: Path) -> None:
    maker = random_ops(40_000)
    before, after = maker.build(), read_back(maker, tmp_path)

    assert np.array_equal(before.ops["start_ns"], after.ops["start_ns"])
    assert before.ops.strings("name") == after.ops.strings("name")
    assert np.array_equal(before.ops["gpu"], after.ops["gpu"])


def test_gzip_is_written_when_asked_for(tmp_path: Path) -> None:
    path = exported(a_rich_trace(), tmp_path, gzip=True)

    assert path.read_bytes()[:2] == b"\x1f\x8b"
    assert len(Trace(IMPORTER.open(path)).ops) == 4


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("void at::native::vectorized<4, std::array<char*, 2ul> >(int, float)", "vectorized"),
        ("__amd_rocclr_copyBuffer", "__amd_rocclr_copyBuffer"),
        ("Cijk_Ailk_MT64x16", "Cijk_Ailk_MT64x16"),
        ("(anonymous namespace)::k<int>(int)", "k"),
        ("", ""),
        ("<>", "<>"),
    ],
)
def test_truncated_names_are_bare_function_names(name: str, short: str) -> None:
    assert truncated_name(name) == short


@given(st.lists(st.text(max_size=10), min_size=1, max_size=6))
def test_any_names_and_texts_survive(tmp_path: Path, texts: list[str]) -> None:
    maker = a_trace()
    for text in texts:
        maker.with_kernel(text + "k", 1, 2).with_marker(text, 1, 2)
        maker.with_call("hip" + text, 1, 2, args=text.encode("utf-8", "replace").decode())
    after = read_back(maker, tmp_path)

    clean = [text.encode("utf-8", "replace").decode() for text in texts]
    assert after.ops.strings("name") == [text + "k" for text in clean]
    assert after.markers.strings("name") == clean
    assert after.calls.strings("name") == ["hip" + text for text in clean]
