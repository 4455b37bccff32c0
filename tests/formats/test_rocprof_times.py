"""rocprof's timestamps.csv, and pmc_perf.csv beside it, which is no trace."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.registered import importer_called
from wavescope import kind_of
from wavescope.errors import UnreadableInputError
from wavescope.formats import is_trace, open_trace
from wavescope.formats.sniff import probe
from wavescope.model.paths import InputKind
from wavescope.model.trace import Trace

IMPORTER = importer_called("rocprof timestamps")
NEWER = (
    "Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,"
    "Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Wave_Size,Kernel_Name,Start_Timestamp,"
    "End_Timestamp,Correlation_ID\n"
)
OLDER = (
    "Dispatch_ID,Kernel_Name,GPU_ID,queue-id,queue-index,pid,tid,Grid_Size,Workgroup_Size,"
    "LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,wave_size,sig,obj,"
    "DispatchNs,Start_Timestamp,End_Timestamp,CompleteNs\n"
)


def written(folder: Path, text: str, name: str = "timestamps.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def first_row(trace: Trace, *names: str) -> list[int]:
    return [int(trace.ops[name][0]) for name in names]


@pytest.mark.parametrize(
    "text",
    [
        NEWER + '7,60633,3,10,11,1024,256,512,16,4,8,32,64,"add(int, int) (.kd)",100,150,9\n',
        OLDER + '7,"add(int, int) (.kd)",60633,3,5,10,11,1024,256,512,16,4,8,32,64,0x0,0x7f,90,'
        "100,150,160\n",
    ],
    ids=["newer", "older"],
)  # fmt: skip
def test_a_row_is_a_dispatch(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    assert IMPORTER.matches(probe(path))
    trace = open_trace(path)

    assert trace.ops.strings("name") == ["add(int, int)"]
    assert trace.ops.strings("type") == ["KernelExecution"]
    assert first_row(trace, "gpu", "queue", "sequence", "start_ns", "end_ns") == [0, 3, 7, 100, 150]
    assert first_row(trace, "thread", "grid_x", "workgroup_x", "lds_bytes", "scratch_bytes") == [
        11, 1024, 256, 512, 16,
    ]  # fmt: skip
    assert first_row(trace, "grid_y", "workgroup_z") == [-1, -1]
    assert [int(trace.kernels[name][0]) for name in ("vgprs", "agprs", "sgprs")] == [4, 8, 32]
    assert trace.processes["pid"].tolist() == [10]
    assert list(trace.notes) == []


def test_gpus_are_numbered_as_they_appear_and_processes_keep_their_queues(tmp_path: Path) -> None:
    rows = [(1, 900, 3, 10), (2, 100, 3, 10), (3, 900, 3, 20)]
    text = NEWER + "".join(
        f"{dispatch},{gpu},{queue},{pid},1,64,64,0,0,4,0,16,64,k,{10 * dispatch},{10 * dispatch + 5},0\n"
        for dispatch, gpu, queue, pid in rows
    )
    trace = open_trace(written(tmp_path, text))

    assert trace.ops["gpu"].tolist() == [0, 1, 0]
    assert trace.ops["process"].tolist() == [0, 0, 1]
    assert trace.ops["queue"].tolist() == [3, 3, 4]


def test_counters_make_it_a_counter_file_that_stands_for_its_folder(tmp_path: Path) -> None:
    text = NEWER.replace("\n", ",SQ_WAVES\n") + "1,0,0,1,1,64,64,0,0,4,0,16,64,k,1,2,0,99\n"
    path = written(tmp_path, text, "pmc_perf.csv")

    assert not is_trace(path)
    assert kind_of(path) is InputKind.COUNTERS


@pytest.mark.parametrize(
    "text",
    [
        NEWER,
        NEWER + "1,2\n",
        NEWER + "x,y,z,,,,,,,,,,,k,a,b,c\n",
        NEWER + "1,0,0,1,1,1,1,0,0,4,0,16,64,k,9,5,0\n",
        NEWER + "1,0,0,1,1,1,1,0,0,4,0,16,64,k,99999999999999999999999,5,0\n",
    ],
)
def test_rows_that_make_no_sense_are_noted_and_never_a_traceback(tmp_path: Path, text: str) -> None:
    trace = open_trace(written(tmp_path, text))

    assert len(trace.ops) <= 1
    assert (len(trace.ops) == 0) or trace.ops["end_ns"][0] >= trace.ops["start_ns"][0]


@given(st.text(max_size=200))
def test_anything_after_the_header_is_read_or_refused(tmp_path_factory, text: str) -> None:
    path = written(tmp_path_factory.mktemp("times"), NEWER + text)
    try:
        trace = open_trace(path)
    except UnreadableInputError:
        return
    assert (trace.ops["end_ns"] >= trace.ops["start_ns"]).all()


def test_real_workloads_hold_as_many_dispatches_as_rows(shared_data: Path) -> None:
    paths = sorted((shared_data / "compute-workloads").rglob("timestamps.csv"))

    assert len(paths) >= 10
    for path in paths:
        with path.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        trace = open_trace(path)
        # A spreadsheet made 8.1097E+14 of the times of one: they are lost.
        exact = [row for row in rows if row["Start_Timestamp"].isdecimal()]
        assert trace.ops["start_ns"].tolist() == [int(row["Start_Timestamp"]) for row in exact]
        assert trace.ops["end_ns"].tolist() == [int(row["End_Timestamp"]) for row in exact]
        lost = [("ops without times, left out", len(rows) - len(exact))]
        assert list(trace.notes) == (lost if len(rows) > len(exact) else [])
        assert not any(name.endswith("(.kd)") for name in trace.ops.strings("name"))


def test_a_file_of_counters_is_read_with_its_folder(shared_data: Path) -> None:
    from wavescope.formats.counters import read_workload

    folder = shared_data / "compute-workloads" / "MI200" / "vcopy"
    whole, by_file = read_workload(folder), read_workload(folder / "pmc_perf.csv")

    assert kind_of(folder / "pmc_perf.csv") is InputKind.COUNTERS
    assert by_file.path == whole.path
    assert by_file.count == whole.count
