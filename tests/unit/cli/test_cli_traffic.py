"""`wavescope traffic` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import a_trace
from tests.unit.cli.conftest import Run
from wavescope.formats.wavescope.writing import write_trace

L2 = """Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp
1,"pa_decode<(int)1>(float*)",TCC_HIT_sum,17,0,1000
1,"pa_decode<(int)1>(float*)",TCC_MISS_sum,983,0,1000
2,copy,TCC_HIT_sum,1,2000,2010
"""
EA = """Dispatch_Id,Kernel_Name,TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_32B_sum,TCC_BUBBLE_sum,Start_Timestamp,End_Timestamp
1,"pa_decode<(int)1>(float*)",22500,0,22500,0,1000
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "l2.csv", tmp_path / "ea.csv"
    first.write_text(L2)
    second.write_text(EA)
    return first, second


def test_two_passes_of_one_kernel(run: Run, files: tuple[Path, Path]) -> None:
    ran = run(
        *("traffic", *files, "--kernel", r"pa_decode<\(int\)", "--ideal-gb", "0.00277"),
        *("--arch", "gfx942", "--json"),
    )

    found = json.loads(ran.out)
    assert ran.code == 0
    (row,) = found["tables"][0]["rows"]
    names = [column["name"] for column in found["tables"][0]["columns"]]
    values = dict(zip(names, row, strict=True))
    assert values["kernel"] == "pa_decode"
    assert values["read_bytes"] == 2_880_000
    assert values["verdict"] == "clean"
    assert values["over_fetch"] == pytest.approx(1.0397, abs=1e-4)
    assert found["tables"][1]["name"] == "dispatches"


def test_the_conclusion_is_in_words(run: Run, files: tuple[Path, Path]) -> None:
    ran = run("traffic", *files, "--arch", "gfx942")

    text = " ".join(ran.out.split())
    assert "nothing left to gain in how this kernel loads" in text
    assert "pure streaming" in text


def test_the_channel_model_is_named(run: Run, files: tuple[Path, Path]) -> None:
    found = json.loads(run("traffic", files[1], "--ea-channels", "2", "--json").out)

    assert found["facts"]["formula"] == "seed model: 64 B requests x EA channels"


def test_a_folder_is_read_whole(run: Run, files: tuple[Path, Path]) -> None:
    found = json.loads(run("traffic", files[0].parent, "--arch", "gfx942", "--json").out)

    assert found["facts"]["file_count"] == 2


def test_a_trace_with_counters_is_read(run: Run, tmp_path: Path) -> None:
    maker = a_trace().with_kernel("gemm", 0, 1_000).with_agent(0, chip="gfx90a")
    maker.with_counter(1, "TCC_EA_RDREQ_sum", 100.0).with_counter(1, "TCC_EA_RDREQ_32B_sum", 0.0)
    path = tmp_path / "trace.db"
    write_trace([maker.builder], path)

    found = json.loads(run("traffic", path, "--json").out)

    assert found["facts"]["chip"] == "gfx90a"
    assert found["tables"][0]["rows"][0][6] == 6_400


def test_chosen_dispatches(run: Run, files: tuple[Path, Path]) -> None:
    found = json.loads(run("traffic", files[0], "--dispatches", "2-3", "--json").out)

    assert [row[0] for row in found["tables"][0]["rows"]] == ["copy"]


def test_filters_that_leave_nothing_name_what_is_there(run: Run, files: tuple[Path, Path]) -> None:
    ran = run("traffic", files[0], "--kernel", "gemm")

    assert ran.code == 2
    assert "pa_decode" in ran.err


def test_bad_inputs_are_refused(run: Run, tmp_path: Path, files: tuple[Path, Path]) -> None:
    other = tmp_path / "other" / "numbers.csv"
    other.parent.mkdir()
    other.write_text("a,b\n1,2\n")

    assert run("traffic", other).code == 3
    assert run("traffic", other.parent).code == 3
    assert run("traffic", tmp_path / "missing.csv").code == 3
    assert run("traffic", files[0], "--ideal-gb", "-1").code == 2
    assert run("traffic", files[0], "--arch", "gfx1").code == 2
