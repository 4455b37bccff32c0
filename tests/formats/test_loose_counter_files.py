"""Counter CSVs in long and wide form, as profilers write them and as users spoil them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.errors import UnreadableInputError
from wavescope.formats.counters.loose_files import is_counter_csv, read_counter_csv
from wavescope.model.dispatch_counters import DispatchCounters, counter_name, united

LONG = """"Correlation_Id","Dispatch_Id","Agent_Id","Kernel_Name","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"
1,1,"Agent 1","gemm(float*, int)","TCC_HIT_sum",30.000000,1000,3000
1,1,"Agent 1","gemm(float*, int)","TCC_MISS_sum",70.000000,1000,3000
1,1,"Agent 1","gemm(float*, int)","SQ_WAVES",4.000000,1000,3000
2,2,"Agent 1","copy","TCC_HIT_sum",1.000000e+00,4000,4000
"""
WIDE = """Dispatch_ID,Kernel_Name,GPU_ID,TCC_HIT_sum,TCC_MISS[0],TCC_MISS[1],SQ_WAVES,wave_size,Start_Timestamp,End_Timestamp
0,"gemm(float*, int)",2,30,20,50,4,64,1000,3000
1,copy,2,1,,2,1,64,4000,4500
"""


def wanted(name: str) -> bool:
    return name.startswith("TCC_")


def read(folder: Path, text: str, name: str = "out_counter_collection.csv") -> DispatchCounters:
    path = folder / name
    path.write_text(text)
    assert is_counter_csv(path)
    return read_counter_csv(path, wanted)


def values_of(counters: DispatchCounters) -> list[tuple[str, str, int | None, dict[str, float]]]:
    return [
        (each.dispatch, each.kernel, each.duration_ns, dict(each.values))
        for each in counters.dispatches
    ]


def test_a_row_for_each_counter(tmp_path: Path) -> None:
    assert values_of(read(tmp_path, LONG)) == [
        ("1", "gemm(float*, int)", 2_000, {"TCC_HIT": 30.0, "TCC_MISS": 70.0}),
        ("2", "copy", None, {"TCC_HIT": 1.0}),
    ]


def test_a_row_for_each_dispatch_and_channels_added_up(tmp_path: Path) -> None:
    assert values_of(read(tmp_path, WIDE, "pmc_perf.csv")) == [
        ("0", "gemm(float*, int)", 2_000, {"TCC_HIT": 30.0, "TCC_MISS": 70.0}),
        ("1", "copy", 500, {"TCC_HIT": 1.0, "TCC_MISS": 2.0}),
    ]


def test_a_sum_over_all_channels_is_preferred_to_its_parts(tmp_path: Path) -> None:
    text = "Dispatch_ID,Kernel_Name,TCC_HIT[0],TCC_HIT_sum\n0,k,3,10\n"

    assert values_of(read(tmp_path, text)) == [("0", "k", None, {"TCC_HIT": 10.0})]


def test_the_spelling_of_rocpd_is_read(tmp_path: Path) -> None:
    text = "Guid,Pid,Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value\na,1,7,k,TCC_HIT,5.5\n"

    assert values_of(read(tmp_path, text)) == [("7", "k", None, {"TCC_HIT": 5.5})]


def test_a_dispatch_run_again_in_another_pass_is_another_run(tmp_path: Path) -> None:
    text = (
        "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
        "1,k,TCC_HIT_sum,5,0,10\n1,k,TCC_HIT_sum,7,100,120\n"
    )

    assert values_of(read(tmp_path, text)) == [
        ("1", "k", 10, {"TCC_HIT": 5.0}),
        ("1", "k", 20, {"TCC_HIT": 7.0}),
    ]


def test_values_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    text = "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value\n1,k,TCC_HIT,nan\n1,k,TCC_MISS,-3\n"

    assert values_of(read(tmp_path, text)) == []


def test_timestamps_beyond_floating_point_stay_exact(tmp_path: Path) -> None:
    text = (
        "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
        "1,k,TCC_HIT,1,13386742234691895,13386742234700548\n"
    )

    assert read(tmp_path, text).dispatches[0].duration_ns == 8_653


@pytest.mark.parametrize(
    ("start", "end", "duration_ns"),
    [
        ("1.4E+15", "2.4E+15", None),
        ("1E+15", "1.4E+15", None),
        ("1749000000000000001.0", "1749000000000000008.0", 7),
        ("100", "90", None),
        ("-5", "90", None),
        ("", "90", None),
        ("1e400", "90", None),
    ],
)
def test_only_times_with_all_their_digits_count(
    tmp_path: Path, start: str, end: str, duration_ns: int | None
) -> None:
    text = (
        "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
        f"1,gemm,TCC_HIT_sum,5,{start},{end}\n"
    )

    assert read(tmp_path, text).dispatches[0].duration_ns == duration_ns


def test_the_chip_is_told_by_the_files_beside(tmp_path: Path) -> None:
    (tmp_path / "1_agent_info.csv").write_text(
        'Node_Id,Agent_Type,Name,Product_Name\n0,CPU,AMD EPYC,"x"\n1,GPU,gfx942,"MI325X, rev 2"\n'
    )
    found = read(tmp_path, LONG)

    assert (found.chip, found.product) == ("gfx942", "MI325X, rev 2")


def test_the_chip_of_a_workload_is_told_by_its_sysinfo(tmp_path: Path) -> None:
    (tmp_path / "sysinfo.csv").write_text("gpu_model,gpu_arch\nMI200,gfx90a\n")

    assert read(tmp_path, WIDE, "pmc_perf.csv").chip == "gfx90a"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a,b\n1,2\n", "no column Kernel_Name"),
        ("Kernel_Name,Dispatch_ID,SQ_WAVES\nk,1,2\n", "none of the counters"),
        ("", "no column Kernel_Name"),
    ],
)
def test_other_files_are_refused_with_a_way_out(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "other.csv"
    path.write_text(text)

    with pytest.raises(UnreadableInputError, match=reason) as error:
        read_counter_csv(path, wanted)
    assert error.value.hint


def test_a_cut_row_is_noted(tmp_path: Path) -> None:
    found = read(tmp_path, LONG + '3,3,"Agent 1","gemm(fl')

    assert len(found.dispatches) == 2
    assert found.notes == ("out_counter_collection.csv: 1 rows could not be read",)


def test_several_files_become_one(tmp_path: Path) -> None:
    parts = [read(tmp_path, LONG, "a.csv"), read(tmp_path, WIDE, "b.csv")]

    found = united(parts)

    assert [each.file for each in found.dispatches] == [0, 0, 1, 1]
    assert found.kernels == ["gemm(float*, int)", "copy"]
    assert len(found.files) == 2


@pytest.mark.parametrize(
    ("text", "base", "is_part"),
    [("TCC_HIT_sum", "TCC_HIT", False), ("TCC_HIT[12]", "TCC_HIT", True), ("l2cachehit", "L2CACHEHIT", False)],
)  # fmt: skip
def test_counter_names(text: str, base: str, is_part: bool) -> None:
    assert counter_name(text) == (base, is_part)
    assert counter_name(f"{text}; drop table") is None


@given(body=st.text(alphabet='0123456789,"\n\r.eE-+[]abTCHIT_ ', max_size=200))
def test_any_text_is_read_or_refused(tmp_path: Path, body: str) -> None:
    path = tmp_path / "any.csv"
    path.write_text("Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value\n" + body)

    for dispatch in read_counter_csv(path, lambda name: True).dispatches:
        assert all(value >= 0 for value in dispatch.values.values())
