"""rocprofv3 JSON: records, names and processes become the rows they mean."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.registered import importer_called
from wavescope.errors import UnreadableInputError
from wavescope.formats import open_trace
from wavescope.formats.sniff import probe
from wavescope.model.trace import Trace

IMPORTER = importer_called("rocprofv3 JSON")

OPERATIONS = [
    {"kind": "NONE", "operations": []},
    {"kind": "KERNEL_DISPATCH", "operations": ["NONE", "ENQUEUE", "COMPLETE"]},
    {
        "kind": "MEMORY_COPY",
        "operations": [
            "MEMORY_COPY_NONE",
            "MEMORY_COPY_HOST_TO_HOST",
            "MEMORY_COPY_HOST_TO_DEVICE",
        ],
    },
    {"kind": "HIP_RUNTIME_API", "operations": ["hipFree", "hipLaunchKernel"]},
    {"kind": "MARKER_CORE_RANGE_API", "operations": ["roctxMarkA", "roctxThreadRangeA"]},
    {"kind": "MEMORY_ALLOCATION", "operations": ["NONE", "MEMORY_ALLOCATION_ALLOCATE"]},
]


def agent(handle: int, kind: int, node: int, number: int, name: str = "gfx942") -> dict[str, Any]:
    return {
        "id": {"handle": handle},
        "type": kind,
        "node_id": node,
        "logical_node_id": node,
        "logical_node_type_id": number,
        "name": name,
        "product_name": "MI300X",
        "cu_count": 304,
        "wave_front_size": 64,
        "max_engine_clk_fcompute": 2100,
        "mem_banks": [{"size_in_bytes": 7}, {"size_in_bytes": 5}],
        "uuid": {"bytes": {"value0": 255, "value1": 1}},
        "caches": [{}] * 3,
    }


def dispatch(start: int, end: int, **values: Any) -> dict[str, Any]:
    info = {
        "agent_id": {"handle": values.get("agent", 12)},
        "queue_id": {"handle": values.get("queue", 1)},
        "kernel_id": values.get("kernel", 1),
        "dispatch_id": values.get("dispatch", 1),
        "private_segment_size": 16,
        "group_segment_size": 2048,
        "workgroup_size": {"x": 256, "y": 2, "z": 1},
        "grid_size": {"x": 4096, "y": 2, "z": 1},
    }
    return {
        "kind": 1,
        "operation": 2,
        "thread_id": 77,
        "correlation_id": {"internal": values.get("correlation", 1), "external": 0},
        "start_timestamp": start,
        "end_timestamp": end,
        "dispatch_info": info,
        "stream_id": {"handle": 3},
    }


def record(kind: int, operation: int, start: int, end: int, **values: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "operation": operation,
        "thread_id": 77,
        "correlation_id": {"internal": values.pop("correlation", 1), "external": 0},
        "start_timestamp": start,
        "end_timestamp": end,
        **values,
    }


def entry(pid: int = 900, host: str = "node1", **records: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "node": {"hostname": host, "release": "6.1"},
            "pid": pid,
            "init_time": 5,
            "fini_time": 500,
            "command": ["/usr/bin/python3", "-u", "train.py"],
        },
        "agents": [agent(10, 1, 0, 0, "EPYC"), agent(13, 2, 2, 1), agent(12, 2, 1, 0)],
        "counters": [{"id": {"handle": 4}, "name": "SQ_WAVES"}],
        "strings": {
            "buffer_records": OPERATIONS,
            "marker_api": records.pop("texts", []),
            "att_filenames": ["x"],
        },
        "code_objects": [{"code_object_id": 2, "uri": "file://lib.so"}],
        "kernel_symbols": [
            {"kernel_id": 0, "kernel_name": "", "formatted_kernel_name": "0"},
            {
                "kernel_id": 1,
                "code_object_id": 2,
                "kernel_name": "_Z1fi.kd",
                "formatted_kernel_name": "f",
                "demangled_kernel_name": "f(int) [clone .kd]",
                "arch_vgpr_count": 24,
                "accum_vgpr_count": 4,
                "sgpr_count": 112,
                "group_segment_size": 1024,
                "private_segment_size": 8,
                "kernarg_segment_size": 40,
            },
        ],
        "callback_records": {"counter_collection": records.pop("counters", [])},
        "buffer_records": records,
    }


def document(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"rocprofiler-sdk-tool": list(entries)}


def opened(tmp_path: Path, content: Any, name: str = "x_results.json") -> Trace:
    path = tmp_path / name
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert IMPORTER.matches(probe(path))
    return Trace(IMPORTER.open(path))


def test_a_dispatch_is_an_op_of_a_named_kernel(tmp_path: Path) -> None:
    trace = opened(
        tmp_path, document(entry(kernel_dispatch=[dispatch(100, 150, agent=13, dispatch=9)]))
    )

    row = {name: trace.ops[name].tolist()[0] for name in trace.ops.column_names}
    assert trace.ops.strings("name") == ["f(int)"]
    assert trace.ops.strings("type") == ["KernelExecution"]
    assert (row["gpu"], row["queue"], row["stream"], row["thread"]) == (1, 1, 3, 77)
    assert (row["start_ns"], row["end_ns"], row["sequence"], row["kernel"]) == (100, 150, 9, 1)
    assert [row[f"grid_{axis}"] for axis in "xyz"] == [4096, 2, 1]
    assert [row[f"workgroup_{axis}"] for axis in "xyz"] == [256, 2, 1]
    assert (row["lds_bytes"], row["scratch_bytes"]) == (2048, 16)
    assert trace.kernels.strings("mangled") == ["_Z1fi"]
    assert trace.kernels.strings("code_object") == ["file://lib.so"]
    assert [
        int(trace.kernels[name][0]) for name in ("vgprs", "agprs", "sgprs", "kernarg_bytes")
    ] == [
        24,
        4,
        112,
        40,
    ]


def test_agents_processes_and_metadata(tmp_path: Path) -> None:
    trace = opened(tmp_path, document(entry()))

    assert trace.agents["gpu"].tolist() == [0, 1]
    assert trace.agents.strings("host") == ["node1", "node1"]
    assert trace.agents["memory_bytes"].tolist() == [12, 12]
    assert trace.agents.strings("uuid") == ["ff01", "ff01"]
    assert trace.processes["pid"].tolist() == [900]
    assert trace.processes.strings("name") == ["python3"]
    assert trace.processes.strings("command") == ["/usr/bin/python3 -u train.py"]
    assert (trace.processes["start_ns"][0], trace.processes["end_ns"][0]) == (5, 500)
    assert trace.metadata["node.release"] == "6.1"


def test_calls_copies_and_links(tmp_path: Path) -> None:
    calls = [
        record(3, 1, 90, 99, correlation=5, args=[{"name": "stream", "value": "0x0"}]),
        record(3, 0, 200, 210, correlation=6, stream_id={"handle": 4}, retval=1),
    ]
    copies = [
        record(
            2, 2, 120, 130, correlation=6, bytes=4096,
            src_agent_id={"handle": 10}, dst_agent_id={"handle": 13},
        )
    ]  # fmt: skip
    trace = opened(
        tmp_path,
        document(
            entry(
                hip_api=calls,
                kernel_dispatch=[
                    dispatch(100, 110, correlation=5),
                    dispatch(110, 115, correlation=5),
                ],
                memory_copy=copies,
            )
        ),
    )

    assert trace.calls.strings("name") == ["hipLaunchKernel", "hipFree"]
    assert trace.calls.strings("category") == ["HIP_RUNTIME_API"] * 2
    assert trace.calls.strings("domain") == ["HIP", "HIP"]
    assert trace.calls.strings("args") == ['{"stream":"0x0"}', ""]
    assert trace.calls["stream"].tolist() == [-1, 4]
    assert trace.calls["return_code"].tolist() == [-1, 1]
    assert trace.ops.strings("type")[2] == "CopyHostToDevice"
    assert trace.ops["gpu"].tolist() == [0, 0, 1]
    assert trace.ops["size_bytes"].tolist() == [-1, -1, 4096]
    assert (trace.ops["source_device"][2], trace.ops["target_device"][2]) == (-1, 1)
    assert list(zip(trace.links["call"], trace.links["op"], strict=True)) == [
        (1, 1),
        (1, 2),
        (2, 3),
    ]


def test_markers_take_their_text_by_correlation_id(tmp_path: Path) -> None:
    markers = [
        record(4, 1, 10, 50, correlation=8),
        record(4, 0, 20, 25, correlation=9),
        record(4, 1, 30, 40, correlation=99),
    ]
    texts = [{"key": 9, "value": "mark"}, {"key": 8, "value": "step </script>"}]
    trace = opened(tmp_path, document(entry(marker_api=markers, texts=texts)))

    assert trace.markers.strings("name") == ["step </script>", "mark", "roctxThreadRangeA"]
    assert trace.markers["flags"].tolist() == [0, 1, 0]
    assert len(trace.ops) == 0


def test_counters_precede_their_dispatches_or_stand_alone(tmp_path: Path) -> None:
    def counted(dispatch_id: int, value: float) -> dict[str, Any]:
        data = dispatch(10 * dispatch_id, 10 * dispatch_id + 5, dispatch=dispatch_id)
        return {
            "thread_id": 78,
            "dispatch_data": data,
            "records": [{"counter_id": {"handle": 4}, "value": value}],
        }

    trace = opened(
        tmp_path,
        document(
            entry(
                counters=[counted(2, 64.0), counted(3, 8)],
                kernel_dispatch=[dispatch(21, 24, dispatch=2)],
            )
        ),
    )

    assert trace.ops["start_ns"].tolist() == [21, 30]
    assert trace.counters["op"].tolist() == [1, 2]
    assert trace.counters["value"].tolist() == [64.0, 8.0]
    assert trace.counters.strings("name") == ["SQ_WAVES"] * 2


def test_a_counter_is_the_sum_over_its_hardware_instances(tmp_path: Path) -> None:
    counted = {
        "thread_id": 78,
        "dispatch_data": dispatch(10, 15, dispatch=1),
        "records": [
            {"counter_id": {"handle": 4}, "value": 64.0},
            {"counter_id": {"handle": 5}, "value": 1},
            {"counter_id": {"handle": 4}, "value": 0.5},
            {"counter_id": {"handle": 4}, "value": "no number"},
            {"counter_id": {"handle": 4}, "value": 10**400},
            {"counter_id": {"handle": 5}, "value": float("inf")},
        ],
        "stream_id": {"handle": 3},
    }
    trace = opened(tmp_path, document(entry(counters=[counted])))

    assert trace.ops["stream"].tolist() == [3]
    assert trace.counters["op"].tolist() == [1, 1]
    assert trace.counters.strings("name") == ["SQ_WAVES", "counter 5"]
    assert trace.counters["value"].tolist() == [64.5, 1.0]

    path = tmp_path / "instances.json"
    path.write_text(json.dumps(document(entry(counters=[counted]))))
    apart = open_trace(path, counter_instances=True)

    assert apart.counters["op"].tolist() == [1, 1, 1]
    assert apart.counters.strings("name") == ["SQ_WAVES[0]", "counter 5[0]", "SQ_WAVES[1]"]
    assert apart.counters["value"].tolist() == [64.0, 1.0, 0.5]


def test_a_counter_of_one_instance_keeps_its_name(tmp_path: Path) -> None:
    counted = [
        {
            "dispatch_data": dispatch(10 * number, 10 * number + 5, dispatch=number),
            "records": [
                {"counter_id": {"handle": 4}, "value": number},
                {"counter_id": {"handle": 5}, "value": 7 * number},
                {"counter_id": {"handle": 5}, "value": 0},
            ],
        }
        for number in (1, 2)
    ]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document(entry(counters=counted))))

    trace = open_trace(path, counter_instances=True)

    names = ["SQ_WAVES", "counter 5[0]", "counter 5[1]"]
    assert trace.counters.strings("name") == [*names, *names]
    assert trace.counters["value"].tolist() == [1, 7, 0, 2, 14, 0]


@pytest.mark.parametrize(
    "symbol",
    [
        {
            "formatted_kernel_name": "_Z3addPf.kd",
            "demangled_kernel_name": "add(float*) [clone .kd]",
        },
        {"formatted_kernel_name": "_Z3addPf.kd"},
        {"formatted_kernel_name": "add(float*)"},
        {},
    ],
)
def test_a_kernel_has_one_name_however_it_is_spelled(
    tmp_path: Path, symbol: dict[str, Any]
) -> None:
    content = entry(kernel_dispatch=[dispatch(10, 15, dispatch=1)])
    content["kernel_symbols"] = [{"kernel_id": 1, "kernel_name": "_Z3addPf.kd", **symbol}]
    trace = opened(tmp_path, document(content))

    assert trace.ops.strings("name") == ["add(float*)"]
    assert trace.kernels.strings("mangled") == ["_Z3addPf"]


def test_allocations_are_calls_and_never_cause_ops(tmp_path: Path) -> None:
    allocation = record(
        5,
        1,
        1,
        2,
        correlation=5,
        agent_id={"handle": 12},
        address={"handle": 64},
        allocation_size=9,
    )
    trace = opened(
        tmp_path,
        document(
            entry(memory_allocation=[allocation], kernel_dispatch=[dispatch(5, 6, correlation=5)])
        ),
    )

    assert trace.calls.strings("name") == ["MEMORY_ALLOCATION_ALLOCATE"]
    assert json.loads(trace.calls.strings("args")[0]) == {
        "agent_id": 12,
        "address": 64,
        "allocation_size": 9,
    }
    assert len(trace.links) == 0


def test_processes_keep_gpus_queues_and_correlations_apart(tmp_path: Path) -> None:
    call = record(3, 1, 1, 2, correlation=5)
    own = {"hip_api": [call], "kernel_dispatch": [dispatch(5, 6, correlation=5)]}
    trace = opened(
        tmp_path, document(entry(1, **own), entry(2, **own), entry(3, host="node2", **own))
    )

    assert trace.ops["process"].tolist() == [0, 1, 2]
    assert trace.ops["gpu"].tolist() == [0, 0, 2]
    assert trace.ops["queue"].tolist() == [1, 2, 1]
    assert trace.ops["kernel"].tolist() == [1, 2, 3]
    assert list(zip(trace.links["call"], trace.links["op"], strict=True)) == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    assert trace.calls["pid"].tolist() == [1, 2, 3]


def test_records_before_their_names_are_read_in_a_second_pass(tmp_path: Path) -> None:
    usual = entry(
        kernel_dispatch=[dispatch(5, 6)],
        marker_api=[record(4, 1, 1, 2, correlation=8)],
        texts=[{"key": 8, "value": "step"}],
    )
    trace = opened(tmp_path, document(dict(reversed(usual.items())), usual))

    assert trace.ops.strings("name") == ["f(int)"] * 2
    assert trace.markers.strings("name") == ["step"] * 2
    assert len(trace.kernels) == 2


def test_one_entry_need_not_be_in_a_list_and_gzip_is_undone(tmp_path: Path) -> None:
    content = {"rocprofiler-sdk-tool": entry(kernel_dispatch=[dispatch(5, 6)])}

    assert len(opened(tmp_path, content, "x.json.gz").ops) == 1


def test_strange_records_are_repaired_or_left_out_and_counted(tmp_path: Path) -> None:
    big = dispatch(50, 60, queue=2**64 - 1)
    trace = opened(
        tmp_path,
        document(
            entry(
                kernel_dispatch=[
                    dispatch(100, 90),
                    dispatch(0, 0),
                    {"start_timestamp": "x"},
                    dispatch(1, 2, kernel=7),
                    big,
                    17,
                ],
                pc_sample_host_trap=[{}],
            )
        ),
    )

    assert trace.ops["start_ns"].tolist() == [100, 1, 50]
    assert trace.ops["end_ns"].tolist() == [100, 2, 60]
    assert trace.ops.strings("name") == ["f(int)", "unknown kernel 7", "f(int)"]
    assert trace.ops["queue"].tolist() == [1, 1, -1]
    notes = dict(trace.notes)
    assert notes["ops that end before they start, given a length of zero"] == 1
    assert notes["ops without times, left out"] == 2
    assert notes["pc_sample_host_trap records, which are not read"] == 1


def test_invalid_utf8_is_replaced_and_noted(tmp_path: Path) -> None:
    text = json.dumps(document(entry(kernel_dispatch=[dispatch(5, 6)]))).encode()
    trace = opened(tmp_path, text.replace(b"f(int)", b"f(\xff)"))

    assert trace.ops.strings("name") == ["f(\ufffd)"]
    assert dict(trace.notes) == {"blocks of text with invalid UTF-8, replaced by U+FFFD": 1}


def test_a_cut_file_gives_what_is_whole(tmp_path: Path) -> None:
    dispatches = [dispatch(5 + n, 6 + n) for n in range(20)]
    text = json.dumps(document(entry(kernel_dispatch=dispatches))).encode()
    cut = text.index(b'"start_timestamp": 15')
    trace = opened(tmp_path, text[:cut])

    assert trace.ops["start_ns"].tolist() == list(range(5, 15))
    assert dict(trace.notes) == {"the file ends in the middle: what follows was not written": 1}


def test_a_file_cut_before_its_records_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="ends in the middle"):
        opened(tmp_path, b'{"rocprofiler-sdk-tool":[{"metadata":{"pid":1')


def test_text_that_is_no_json_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="not valid JSON"):
        opened(tmp_path, b'{"rocprofiler-sdk-tool": [{"agents" 5}]}')


@pytest.mark.parametrize("text", ['{"traceEvents":[]}', "[]", "rocprofiler-sdk-tool"])
def test_other_json_is_not_taken(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)

    assert not IMPORTER.matches(probe(path))


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["handle", "internal", "kernel_id", "bytes", "name", "operations", "x"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(st.data())
def test_any_values_in_any_place_give_a_trace(tmp_path: Path, data: st.DataObject) -> None:
    shared = entry(
        kernel_dispatch=[dispatch(5, 6)],
        memory_copy=[record(2, 2, 5, 6)],
        hip_api=[record(3, 1, 5, 6)],
        marker_api=[record(4, 1, 5, 6)],
        counters=[{"dispatch_data": dispatch(5, 6), "records": [{}]}],
        texts=[{"key": 1, "value": "x"}],
    )
    # What is put into a place of it must not be there in the next example.
    whole = copy.deepcopy(shared)
    place: Any = whole
    while True:
        key = data.draw(
            st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place)))
        )
        inner = place[key]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.booleans()):
            break
        place = inner
    place[key] = data.draw(junk)

    trace = opened(tmp_path, document(whole))

    assert (trace.ops["end_ns"] >= trace.ops["start_ns"]).all()


@given(st.binary(max_size=20), st.data())
def test_damaged_bytes_give_a_trace_or_a_clear_error(
    tmp_path: Path, noise: bytes, data: st.DataObject
) -> None:
    text = json.dumps(document(entry(kernel_dispatch=[dispatch(5, 6)] * 3))).encode()
    at = data.draw(st.integers(30, len(text)))
    path = tmp_path / "x.json"
    path.write_bytes(text[:at] + noise + text[at + data.draw(st.integers(0, 40)) :])

    try:
        trace = Trace(IMPORTER.open(path))
    except UnreadableInputError:
        return
    assert len(trace.ops) <= 4


def test_return_codes_are_numbers_or_objects_by_type(tmp_path: Path) -> None:
    returned: list[object] = [
        2, {"uint64_t_retval": 0}, {"hipError_t_retval": 98}, {"uint64_t_retval": 94046300063056},
        {}, {"uint64_t_retval": "0"}, None,
    ]  # fmt: skip
    calls = [
        record(3, 0, 10 * place, 10 * place + 5, correlation=place, retval=each)
        for place, each in enumerate(returned, start=1)
    ]
    trace = opened(tmp_path, document(entry(hip_api=calls)))

    # An address, as of a registered binary, is no code.
    assert trace.calls["return_code"].tolist() == [2, 0, 98, -1, -1, -1, -1]
