"""Counter CSVs in long and wide form, as profilers write them and as users spoil them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_trace
from wavescope.analyze.traffic import counters_of_trace, kernels_of
from wavescope.errors import UnreadableInputError
from wavescope.formats.counters import (
    counter_csv,
    read_counter_files,
    read_pass_output,
    write_counter_csv,
)
from wavescope.formats.counters.counter_files import is_counter_csv, read_counter_file
from wavescope.model.counters import CounterTable, counter_name, whole_counters

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


def no_trace(path: Path) -> CounterTable:
    raise AssertionError(f"{path} is no trace")


def read(folder: Path, text: str, name: str = "out_counter_collection.csv") -> CounterTable:
    path = folder / name
    path.write_text(text)
    assert is_counter_csv(path)
    return read_counter_file(path, wanted)


def test_peaks_that_were_measured_beside_the_file_belong_to_it(tmp_path: Path) -> None:
    (tmp_path / "roofline.csv").write_text("device,HBMBw\n0,4000.5\n")

    assert read(tmp_path, WIDE).measured_peaks == {"device": 0.0, "HBMBw": 4000.5}


def test_measured_peaks_that_cannot_be_read_are_noted(tmp_path: Path) -> None:
    (tmp_path / "roofline.csv").write_text("device,HBMBw\n0,fast\n")

    table = read(tmp_path, WIDE)

    assert table.measured_peaks == {}
    assert "roofline.csv holds no measured peaks" in table.notes.sentences()


def values_of(table: CounterTable) -> list[tuple[int, str, int | None, dict[str, float]]]:
    """Number, kernel, duration and counters of each dispatch, without what is not there."""
    counters = whole_counters(table, wanted)
    return [
        (
            number,
            kernel,
            None if math.isnan(duration) else int(duration),
            {
                name: float(values[row])
                for name, values in counters.items()
                if not math.isnan(values[row])
            },
        )
        for row, (number, kernel, duration) in enumerate(
            zip(
                table.dispatch_ids.tolist(),
                table.kernels(),
                table.known_durations_ns.tolist(),
                strict=True,
            )
        )
    ]


def test_a_row_for_each_counter(tmp_path: Path) -> None:
    assert values_of(read(tmp_path, LONG)) == [
        (1, "gemm(float*, int)", 2_000, {"TCC_HIT": 30.0, "TCC_MISS": 70.0}),
        (2, "copy", None, {"TCC_HIT": 1.0}),
    ]


def test_a_row_for_each_dispatch_and_channels_added_up(tmp_path: Path) -> None:
    assert values_of(read(tmp_path, WIDE, "pmc_perf.csv")) == [
        (0, "gemm(float*, int)", 2_000, {"TCC_HIT": 30.0, "TCC_MISS": 70.0}),
        (1, "copy", 500, {"TCC_HIT": 1.0, "TCC_MISS": 2.0}),
    ]


def test_a_sum_over_all_channels_is_preferred_to_its_parts(tmp_path: Path) -> None:
    text = "Dispatch_ID,Kernel_Name,TCC_HIT[0],TCC_HIT_sum\n0,k,3,10\n"

    assert values_of(read(tmp_path, text)) == [(0, "k", None, {"TCC_HIT": 10.0})]


def test_the_spelling_of_rocpd_is_read(tmp_path: Path) -> None:
    text = "Guid,Pid,Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value\na,1,7,k,TCC_HIT,5.5\n"

    assert values_of(read(tmp_path, text)) == [(7, "k", None, {"TCC_HIT": 5.5})]


def test_a_dispatch_run_again_in_another_pass_is_another_run(tmp_path: Path) -> None:
    text = (
        "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
        "1,k,TCC_HIT_sum,5,0,10\n1,k,TCC_HIT_sum,7,100,120\n"
    )

    assert values_of(read(tmp_path, text)) == [
        (1, "k", 10, {"TCC_HIT": 5.0}),
        (1, "k", 20, {"TCC_HIT": 7.0}),
    ]


def test_values_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    text = "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value\n1,k,TCC_HIT,nan\n1,k,TCC_MISS,-3\n"

    assert values_of(read(tmp_path, text)) == []


def test_timestamps_beyond_floating_point_stay_exact(tmp_path: Path) -> None:
    text = (
        "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
        "1,k,TCC_HIT,1,13386742234691895,13386742234700548\n"
    )

    assert read(tmp_path, text).durations_ns.tolist() == [8_653]


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

    assert values_of(read(tmp_path, text))[0][2] == duration_ns


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
        read_counter_file(path, wanted)
    assert error.value.hint


def test_kernels_without_any_name_are_kept(tmp_path: Path) -> None:
    table = read(tmp_path, LONG.replace('"gemm(float*, int)"', "").replace('"copy"', ""))

    assert values_of(table) == [
        (1, "", 2000, {"TCC_HIT": 30.0, "TCC_MISS": 70.0}),
        (2, "", None, {"TCC_HIT": 1.0}),
    ]


def test_a_cut_row_is_noted(tmp_path: Path) -> None:
    found = read(tmp_path, LONG + '3,3,"Agent 1","gemm(fl')

    assert found.count == 2
    assert found.notes.sentences() == ["out_counter_collection.csv: 1 rows could not be read"]


def test_several_files_become_one(tmp_path: Path) -> None:
    parts = [read(tmp_path, LONG, "a.csv"), read(tmp_path, WIDE, "b.csv")]

    found = read_counter_files([tmp_path], wanted, read_trace=no_trace)

    assert [(Path(table.path).name, table.count) for table in found] == [("a.csv", 2), ("b.csv", 2)]
    assert [values_of(table) for table in found] == [values_of(table) for table in parts]
    assert kernels_of(found) == ["gemm(float*, int)", "copy"]


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

    table = read_counter_file(path, lambda name: True)
    for _, _, _, values in values_of(table):
        assert all(value >= 0 for value in values.values())
    counted = [table.columns[name] >= 0 for name in table.counters]
    assert not table.count or np.logical_or.reduce(counted).all(), "no dispatch without counters"


def test_one_run_is_the_same_table_whoever_wrote_it(tmp_path: Path) -> None:
    rows = [("a(int)", 1_000, 1_500, 3.0, 0.5), ("b", 2_000, 2_010, 4.0, 2.25)]
    header = "Dispatch_Id,Process_Id,Agent_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp"
    lines = [
        f'{number},7,Agent 1,"{kernel}",{name},{value},{start},{end}'
        for number, (kernel, start, end, *values) in enumerate(rows, 1)
        for name, value in zip(("TCC_HIT_sum", "TCC_MISS[0]"), values, strict=True)
    ]
    (tmp_path / "7_counter_collection.csv").write_text("\n".join([header, *lines]) + "\n")
    of_pass = read_pass_output(tmp_path).counters
    write_counter_csv(of_pass, tmp_path / "wide.csv")
    trace = a_trace()
    for number, (kernel, start, end, *values) in enumerate(rows, 1):
        trace = trace.with_kernel(kernel, start, end)
        trace = trace.with_counter(number, "TCC_HIT_sum", values[0])
        trace = trace.with_counter(number, "TCC_MISS[0]", values[1])

    tables = [
        of_pass,
        read_counter_file(tmp_path / "7_counter_collection.csv", wanted),
        read_counter_file(tmp_path / "wide.csv", wanted),
        counters_of_trace(trace.build(), "trace.db", wanted),
    ]

    for table in tables:
        assert [each[1:] for each in values_of(table)] == [
            ("a(int)", 500, {"TCC_HIT": 3.0, "TCC_MISS": 0.5}),
            ("b", 10, {"TCC_HIT": 4.0, "TCC_MISS": 2.25}),
        ]
        assert table.starts_ns is not None
        assert table.starts_ns.tolist() == [1_000, 2_000]


def test_rows_that_each_name_another_counter_are_no_file_of_counters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter_csv, "_MOST_CELLS", 99)
    rows = "".join(f"{number},k,TCC_{number},1\n" for number in range(10))
    path = tmp_path / "hostile.csv"
    path.write_text("Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value\n" + rows)

    with pytest.raises(UnreadableInputError, match="10 dispatches have 10 counters"):
        read_counter_file(path, wanted)


def test_values_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    text = "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value\n1,k,TCC_HIT,x\n1,k,TCC_MISS,3\n"

    found = read(tmp_path, text, "spoiled.csv")

    assert values_of(found) == [(1, "k", None, {"TCC_MISS": 3.0})]
    assert found.notes.sentences() == ["spoiled.csv: 1 values are not numbers and were left out"]
