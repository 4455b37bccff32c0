"""rocprofv3 CSV: every file of a set, in any spelling, becomes the rows it means."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.registered import importer_called
from wavescope.errors import UnreadableInputError
from wavescope.formats.sniff import probe
from wavescope.model.columns import QUEUES
from wavescope.model.trace import Trace

IMPORTER = importer_called("rocprofv3 CSV")

KERNELS = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
    '"Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size",'
    '"VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y",'
    '"Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
)
CALLS = (
    '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp",'
    '"End_Timestamp"\n'
)
COUNTERS = (
    '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size",'
    '"Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count",'
    '"Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp",'
    '"End_Timestamp"\n'
)
COPIES = (
    '"Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id","Correlation_Id",'
    '"Start_Timestamp","End_Timestamp"\n'
)
AGENTS = (
    '"Node_Id","Logical_Node_Id","Agent_Type","Wave_Front_Size","Cu_Count",'
    '"Max_Engine_Clk_Fcompute","Name","Product_Name"\n'
)


def kernel(  # noqa: PLR0917
    name: str,
    start: int,
    end: int,
    agent: str = "Agent 1",
    dispatch: int = 1,
    correlation: int = 0,
    queue: int = 2,
) -> str:
    return (
        f'"KERNEL_DISPATCH","{agent}",{queue},3,77,{dispatch},9,"{name}",{correlation},'
        f"{start},{end},512,16,24,4,112,64,2,1,1024,8,1\n"
    )


def counter(dispatch: int, name: str, value: str, start: int = 10, end: int = 30) -> str:
    return (
        f'5,{dispatch},"Agent 1",1,4242,4243,1024,9,"gemm",256,0,0,32,0,128,"{name}",{value},'
        f"{start},{end}\n"
    )


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        folder.joinpath(f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def opened(path: Path) -> Trace:
    assert IMPORTER.matches(probe(path))
    return Trace(IMPORTER.open(path))


def test_a_kernel_trace_gives_ops_and_kernels(tmp_path: Path) -> None:
    text = KERNELS + kernel("void f<int>(int, int)", 100, 150, dispatch=7, correlation=5)
    trace = opened(write(tmp_path, out_kernel_trace=text) / "out_kernel_trace.csv")

    row = {name: trace.ops[name].tolist()[0] for name in trace.ops.column_names}
    assert trace.ops.strings("name") == ["void f<int>(int, int)"]
    assert trace.ops.strings("type") == ["KernelExecution"]
    assert (row["gpu"], row["queue"], row["stream"], row["thread"]) == (1, 2, 3, 77)
    assert (row["sequence"], row["correlation"], row["kernel"]) == (7, 5, 1)
    assert (row["start_ns"], row["end_ns"]) == (100, 150)
    assert [row[f"grid_{axis}"] for axis in "xyz"] == [1024, 8, 1]
    assert [row[f"workgroup_{axis}"] for axis in "xyz"] == [64, 2, 1]
    kernels = trace.kernels
    assert kernels.strings("name") == ["void f<int>(int, int)"]
    numbers = [
        int(kernels[name][0]) for name in ("vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes")
    ]
    assert numbers == [24, 4, 112, 512, 16]
    assert trace.agents["gpu"].tolist() == [1]


@pytest.mark.parametrize("ids", ["", '"Thread_Id","Dispatch_Id",'])
def test_kernel_traces_of_the_first_versions(tmp_path: Path, ids: str) -> None:
    """ROCm 6.2 has no dispatch ids, 6.4 and earlier have bare agents and other names of sizes."""
    path = tmp_path / "5_kernel_trace.csv"
    numbers = "77,1," if ids else ""
    path.write_text(
        f'"Kind","Agent_Id","Queue_Id",{ids}"Kernel_Id","Kernel_Name","Correlation_Id",'
        '"Start_Timestamp","End_Timestamp","Private_Segment_Size","Group_Segment_Size",'
        '"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y",'
        '"Grid_Size_Z"\n'
        f'"KERNEL_DISPATCH",4,1,{numbers}15,"k(float*)",2,1000,1500,8,4360,256,1,1,1024,1,1\n'
    )

    trace = opened(path)

    assert trace.ops["start_ns"].tolist() == [1000]
    assert trace.ops["gpu"].tolist() == [4]
    assert trace.ops["scratch_bytes"].tolist() == [8]
    assert trace.ops["sequence"].tolist() == ([1] if ids else [-1])
    assert trace.kernels["lds_bytes"].tolist() == [4360]


def test_lds_is_the_kernels_static_one_and_not_claimed_for_the_launch(tmp_path: Path) -> None:
    text = KERNELS + kernel("f", 100, 150)
    trace = opened(write(tmp_path, out_kernel_trace=text))

    assert trace.kernels["lds_bytes"].tolist() == [512]
    assert trace.ops["lds_bytes"].tolist() == [-1]


def test_mangled_names_and_descriptors_are_one_kernel(tmp_path: Path) -> None:
    spellings = ("add(float*)", "_Z3addPf", "_Z3addPf.kd", "add(float*) [clone .kd]")
    text = KERNELS + "".join(kernel(name, 100, 150) for name in spellings)
    trace = opened(write(tmp_path, out_kernel_trace=text))

    assert set(trace.ops.strings("name")) == {"add(float*)"}
    assert len(trace.kernels) == 1


def test_calls_are_linked_to_the_ops_of_the_same_set(tmp_path: Path) -> None:
    calls = (
        CALLS
        + '"HIP_RUNTIME_API_EXT","hipLaunchKernel",900,901,5,90,99\n'
        + '"HIP_RUNTIME_API_EXT","hipFree",900,901,6,91,92\n'
        + '"HSA_CORE_API","hsa_init",900,901,7,80,81\n'
    )
    kernels = KERNELS + kernel("b", 100, 110, correlation=8) + kernel("a", 120, 130, correlation=5)
    write(tmp_path, p_kernel_trace=kernels, p_hip_api_trace=calls, other_hip_api_trace=calls)
    trace = opened(tmp_path / "p_kernel_trace.csv")

    assert trace.calls.strings("name") == ["hipLaunchKernel", "hipFree", "hsa_init"]
    assert trace.calls.strings("domain") == ["HIP", "HIP", "HSA"]
    assert trace.calls["pid"].tolist() == [900] * 3
    assert list(zip(trace.links["call"], trace.links["op"], strict=True)) == [(1, 2)]
    assert trace.processes["pid"].tolist() == [900]
    assert trace.ops["process"].tolist() == [0, 0]


def test_headers_may_have_any_casing_a_guid_and_more_columns(tmp_path: Path) -> None:
    text = (
        "guid,EXTRA,agent_id,dispatch_id,kernel_name,start_timestamp,END_TIMESTAMP,Vgpr_Count\r\n"
        "g1,x,GPU 0,1,f,10,20,8\r\n"
        "g2,x,GPU 0,1,g,15,25,16\r\n"
    )
    trace = opened(write(tmp_path, out_kernel_trace="\ufeff" + text))

    assert trace.ops.strings("name") == ["f", "g"]
    assert trace.ops["process"].tolist() == [0, 1]
    assert trace.ops["gpu"].tolist() == [0, 0]
    assert trace.ops["stream"].tolist() == [-1, -1]
    assert trace.kernels["vgprs"].tolist() == [8, 16]


def test_markers_are_markers_and_marks_are_instant(tmp_path: Path) -> None:
    text = (
        CALLS
        + '"MARKER_CORE_RANGE_API","step "one", warm",900,901,3,10,50\n'
        + '"MARKER_CORE_API","mark",900,901,4,20,20\n'
    )
    trace = opened(write(tmp_path, p_marker_api_trace=text))

    assert trace.markers.strings("name") == ['step "one", warm', "mark"]
    assert trace.markers["start_ns"].tolist() == [10, 20]
    assert trace.markers["end_ns"].tolist() == [50, 20]
    assert trace.markers["flags"].tolist() == [0, 1]
    assert trace.markers["thread"].tolist() == [901, 901]
    assert len(trace.ops) == len(trace.calls) == 0


def test_copies_find_their_gpu_by_direction(tmp_path: Path) -> None:
    text = (
        COPIES
        + '"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE",0,"Agent 0","Agent 2",3,10,20\n'
        + '"MEMORY_COPY","DEVICE_TO_HOST",0,"Agent 1","Agent 0",4,30,40\n'
        + '"MEMORY_COPY","DEVICE_TO_DEVICE",0,"Agent 1","Agent 2",5,50,60\n'
    )
    trace = opened(write(tmp_path, p_memory_copy_trace=text))

    assert trace.ops.strings("type") == [
        "CopyHostToDevice",
        "CopyDeviceToHost",
        "CopyDeviceToDevice",
    ]
    assert trace.ops["gpu"].tolist() == [2, 1, 1]
    assert trace.ops["source_device"].tolist() == [-1, 1, 1]
    assert trace.ops["target_device"].tolist() == [2, -1, 2]
    assert trace.ops.strings("name") == ["", "", ""]


def test_agent_info_numbers_gpus_among_gpus(tmp_path: Path) -> None:
    agents = (
        AGENTS
        + '0,0,"CPU",0,64,0,"EPYC","EPYC"\n1,1,"CPU",0,64,0,"EPYC","EPYC"\n'
        + '3,3,"GPU",64,256,2400,"gfx950","MI350X"\n2,2,"GPU",64,304,2100,"gfx942","MI300X"\n'
    )
    kernels = (
        KERNELS + kernel("a", 1, 2, "Agent 3") + kernel("b", 1, 2, "2") + kernel("c", 1, 2, "?")
    )
    write(tmp_path, p_agent_info=agents, p_kernel_trace=kernels)
    trace = opened(tmp_path)

    assert trace.ops["gpu"].tolist() == [1, 0, 0]
    assert trace.agents.strings("chip") == ["gfx942", "gfx950"]
    assert trace.agents["cu_count"].tolist() == [304, 256]
    assert trace.agents["clock_mhz"].tolist() == [2100, 2400]
    assert dict(trace.notes) == {"ops whose agent is not a known GPU, counted for GPU 0": 1}


def test_counters_belong_to_the_ops_of_the_kernel_trace(tmp_path: Path) -> None:
    kernels = KERNELS + kernel("gemm", 11, 29, dispatch=2) + kernel("gemm", 31, 39, dispatch=1)
    counters = COUNTERS + counter(1, "SQ_WAVES", "64.000000") + counter(2, "SQ_WAVES", "8.5")
    write(tmp_path, p_kernel_trace=kernels, p_counter_collection=counters)
    trace = opened(tmp_path / "p_counter_collection.csv")

    assert len(trace.ops) == 2
    assert trace.counters["op"].tolist() == [2, 1]
    assert trace.counters["value"].tolist() == [64.0, 8.5]
    assert trace.counters.strings("name") == ["SQ_WAVES", "SQ_WAVES"]


def test_counters_alone_make_one_op_per_dispatch(tmp_path: Path) -> None:
    text = (
        COUNTERS
        + counter(1, "A", "1", 10, 20)
        + counter(1, "B", "0.00000000e+00", 10, 20)
        + counter(4, "A", "nan", 30, 40)
        + counter(4, "B", "4", 30, 40)
    )
    trace = opened(write(tmp_path, p_counter_collection=text))

    assert trace.ops["start_ns"].tolist() == [10, 30]
    assert trace.ops["sequence"].tolist() == [1, 4]
    assert trace.ops["thread"].tolist() == [4243, 4243]
    assert trace.counters["op"].tolist() == [1, 1, 2]
    assert trace.counters["value"].tolist() == [1.0, 0.0, 4.0]
    assert trace.processes["pid"].tolist() == [4242]
    assert dict(trace.notes) == {"counter values that are not numbers, left out": 1}


def test_counters_without_values_are_refused(tmp_path: Path) -> None:
    text = (COUNTERS + counter(1, "A", "1")).replace('"Counter_Value"', '"Value_Of_Counter"')
    path = write(tmp_path, p_counter_collection=text)

    with pytest.raises(UnreadableInputError) as refused:
        opened(path)

    assert refused.value.reason == "it has no column Counter_Value"
    assert refused.value.path.endswith("p_counter_collection.csv")


def test_allocations_are_calls_that_cause_no_op(tmp_path: Path) -> None:
    allocations = (
        '"Kind","Operation","Agent_Id","Allocation_Size","Address","Correlation_Id",'
        '"Start_Timestamp","End_Timestamp"\n'
        '"MEMORY_ALLOCATION","MEMORY_ALLOCATION_ALLOCATE","Agent 1",4096,"0x7f00",5,10,11\n'
    )
    kernels = KERNELS + kernel("a", 20, 30, correlation=5)
    trace = opened(write(tmp_path, p_memory_allocation_trace=allocations, p_kernel_trace=kernels))

    assert trace.calls.strings("name") == ["MEMORY_ALLOCATION_ALLOCATE"]
    assert trace.calls.strings("domain") == ["MEMORY"]
    assert trace.calls.strings("args") == [
        '{"agent_id":"Agent 1","allocation_size":"4096","address":"0x7f00"}'
    ]
    assert len(trace.links) == 0


def test_a_folder_holds_processes_hosts_and_passes(tmp_path: Path) -> None:
    write(tmp_path / "pass_1" / "node1", **{"11_kernel_trace": KERNELS + kernel("a", 10, 20)})
    write(tmp_path / "pass_2" / "node2", **{"12_kernel_trace": KERNELS + kernel("b", 10, 20)})
    write(tmp_path / "pass_10", **{"13_kernel_trace": KERNELS + kernel("c", 10, 20)})
    trace = opened(tmp_path)

    assert trace.ops.strings("name") == ["a", "b", "c"]
    assert trace.processes["pid"].tolist() == [11, 12, 13]
    assert trace.processes.strings("host") == ["node1", "node2", ""]
    assert trace.processes.strings("origin")[0] == "pass_1/node1/11"
    assert trace.ops["gpu"].tolist() == [1, 2, 3]
    assert trace.agents["local_index"].tolist() == [1, 1, 1]
    assert dict(trace.notes) == {
        "passes, each a run of its own: the trace holds the ops of all of them": 3
    }


def test_processes_on_one_gpu_keep_their_queues_apart(tmp_path: Path) -> None:
    write(
        tmp_path,
        **{
            "11_kernel_trace": KERNELS
            + kernel("a", 10, 20, queue=1)
            + kernel("a", 20, 30, queue=2),
            "12_kernel_trace": KERNELS + kernel("b", 10, 20, queue=1),
        },
    )
    trace = opened(tmp_path)

    assert trace.ops["queue"].tolist() == [1, 2, 3]
    assert trace.table(QUEUES).strings("name") == ["queue 1 of process 12"]


def test_bad_rows_are_repaired_or_left_out_and_counted(tmp_path: Path) -> None:
    text = (
        KERNELS
        + kernel("backwards", 100, 90)
        + kernel("untimed", 0, 0)
        + kernel("fine", 5, 6)
        + '"KERNEL_DISPATCH","Agent 1"\n'
    )
    trace = opened(write(tmp_path, p_kernel_trace=text))

    assert trace.ops.strings("name") == ["backwards", "fine"]
    assert trace.ops["end_ns"].tolist() == [100, 6]
    assert dict(trace.notes) == {
        "CSV rows that cannot be made out, left out": 1,
        "ops that end before they start, given a length of zero": 1,
        "ops without times, left out": 1,
    }


def test_gzipped_files_and_empty_sets_are_read(tmp_path: Path) -> None:
    path = tmp_path / "p_kernel_trace.csv.gz"
    path.write_bytes(gzip.compress((KERNELS + kernel("a", 10, 20)).encode()))
    write(tmp_path, q_kernel_trace=KERNELS)

    assert opened(path).ops.strings("name") == ["a"]
    assert len(opened(tmp_path / "q_kernel_trace.csv").ops) == 0


@pytest.mark.parametrize(
    "header",
    [
        "Dispatch_ID,GPU_ID,Kernel_Name,Start_Timestamp,End_Timestamp,Counter_Name,Counter_Value",
        "Name,Calls,TotalDurationNs",
        "",
        "\0\0\0",
    ],
)
def test_other_csv_files_are_not_taken(tmp_path: Path, header: str) -> None:
    path = write(tmp_path, x=header + "\n") / "x.csv"

    assert not IMPORTER.matches(probe(path))
    assert not IMPORTER.matches(probe(tmp_path))
    with pytest.raises(UnreadableInputError, match="no CSV file"):
        IMPORTER.open(tmp_path)


def test_agent_info_alone_makes_no_folder_a_trace(tmp_path: Path) -> None:
    write(tmp_path, p_agent_info=AGENTS)

    assert not IMPORTER.matches(probe(tmp_path))


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_characters='"\r\n', exclude_categories=("Cs", "Cc"))),
            st.integers(1, 2**62),
            st.integers(0, 1000),
        ),
        max_size=10,
    )
)
def test_names_and_times_are_exact(tmp_path: Path, rows: list[tuple[str, int, int]]) -> None:
    text = KERNELS + "".join(kernel(name, start, start + length) for name, start, length in rows)
    trace = opened(write(tmp_path, p_kernel_trace=text))

    assert trace.ops["start_ns"].tolist() == [start for _, start, _ in rows]
    assert trace.ops.duration_ns.tolist() == [length for _, _, length in rows]
    names = [name.removesuffix(".kd").removesuffix(" [clone .kd]").rstrip() for name, _, _ in rows]
    assert trace.ops.strings("name") == names


@given(st.binary(max_size=400), st.integers(0, 300))
def test_damaged_files_never_crash(tmp_path: Path, noise: bytes, at: int) -> None:
    good = (KERNELS + kernel("a", 10, 20) * 3).encode()
    (tmp_path / "p_kernel_trace.csv").write_bytes(good[: len(KERNELS) + at] + noise)

    trace = Trace(IMPORTER.open(tmp_path))

    assert (trace.ops["end_ns"] >= trace.ops["start_ns"]).all()


def test_files_that_cannot_be_opened_are_counted(tmp_path: Path) -> None:
    write(tmp_path, p_kernel_trace=KERNELS + kernel("a", 10, 20))
    (tmp_path / "p_hip_api_trace.csv.gz").write_bytes(b"\x1f\x8b\x08\0not gzip at all")
    os.mkfifo(tmp_path / "q_kernel_trace.csv")
    trace = opened(tmp_path)

    assert trace.ops.strings("name") == ["a"]
    assert dict(trace.notes) == {"CSV files that cannot be opened, left out": 2}


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "outside", p_kernel_trace=KERNELS + kernel("a", 10, 20))
    inside = write(tmp_path / "inside", q_kernel_trace=KERNELS + kernel("b", 10, 20))
    (inside / "link").symlink_to(tmp_path / "outside")

    assert opened(inside).ops.strings("name") == ["b"]
