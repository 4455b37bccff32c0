"""`wavescope summary` by operator, module, shape and call site."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import TraceMaker, a_trace
from tests.sample_files import write_as
from tests.unit.cli.conftest import Run

INPUTS = json.dumps({"Input Dims": [[4, 8], [8, 16]], "Input type": ["float", "float"]})


def a_program() -> TraceMaker:
    return (
        a_trace()
        .with_call("train.py(3): main", 0, 1000, category="python_function")
        .with_call("nn.Module: Linear_0", 5, 990, category="python_function")
        .with_call("aten::mm", 10, 900, category="cpu_op", args=INPUTS)
        .with_call("hipLaunchKernel", 20, 30, category="cuda_runtime")
        .with_kernel("gemm", 2000, 2060)
        .with_link(4, 1)
    )


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return write_as(a_program(), tmp_path / "program.db")


def tables(out: str) -> dict[str, list[dict[str, object]]]:
    return {
        table["name"]: [
            dict(zip([column["name"] for column in table["columns"]], row, strict=True))
            for row in table["rows"]
        ]
        for table in json.loads(out)["tables"]
    }


def test_a_summary_shows_operators_and_not_more_of_them(run: Run, program: Path) -> None:
    found = tables(run("summary", program, "--json").out)

    assert [row["name"] for row in found["operators"]] == ["aten::mm"]
    assert not {"modules", "module_classes", "shapes", "sites"} & set(found)
    assert "Operators" in run("summary", program).out.splitlines()


@pytest.mark.parametrize(
    ("by", "place", "value"),
    [
        ("operator", ("operators", "name"), "aten::mm"),
        ("shape", ("shapes", "input_dims"), "4x8, 8x16"),
        ("module", ("modules", "module"), "Linear_0"),
        ("site", ("sites", "site"), "train.py(3): main"),
    ],
)
def test_by_shows_that_part_alone(
    run: Run, program: Path, by: str, place: tuple[str, str], value: str
) -> None:
    table, column = place

    found = tables(run("summary", program, "--by", by, "--json").out)

    assert [row[column] for row in found[table]] == [value]
    assert set(found) <= {table, "module_classes"}
    assert tables(run("summary", program, "--table", table, "--json").out) == {table: found[table]}
    text = run("summary", program, "--by", by).out
    assert value in text
    assert "Kernels" not in text.splitlines()


def test_a_page_leaves_the_programs_own_functions_to_the_flame_graph(
    run: Run, program: Path, tmp_path: Path
) -> None:
    ran = run("summary", program)

    page = ran.out[ran.out.index("Host calls") :]
    assert "aten::mm" in page
    assert "train.py(3): main" not in page
    assert (
        "2 Python functions among the host calls are left out here: wavescope flame --of host "
        f"{program}\n" in ran.err
    )
    table = tables(run("summary", program, "--json").out)["calls"]
    names = {"train.py(3): main", "nn.Module: Linear_0", "aten::mm", "hipLaunchKernel"}
    assert {row["name"] for row in table} == names
    assert "python_function" in run("summary", program, "--table", "calls").out
    frames = a_trace().with_call("f.py(1): f", 0, 9, category="python_function")
    alone = run("summary", write_as(frames.with_kernel("k", 1, 2), tmp_path / "frames.db"))
    assert "python_function" in alone.out
    assert "left out here" not in alone.err


def test_csv_has_the_part_that_was_asked_for(run: Run, program: Path) -> None:
    ran = run("summary", program, "--by", "shape", "--format", "csv")

    head, row = ran.out.splitlines()
    assert head.startswith("name,input_dims,input_types,calls")
    assert row.startswith('aten::mm,"4x8, 8x16","fp32, fp32",1,1,60')


def test_what_is_not_recorded_is_said(run: Run, trace_file: Path) -> None:
    ran = run("summary", trace_file, "--by", "module")

    assert (ran.code, ran.out) == (2, "")
    assert "error: the trace does not tell GPU time by module" in ran.err
    assert (
        "hint: record with torch.profiler.profile(record_shapes=True, with_stack=True)" in ran.err
    )


def test_a_capture_tells_the_operators_of_replays(run: Run, program: Path, tmp_path: Path) -> None:
    launch = json.dumps({"kernel": "gemm"})
    capture = (
        a_trace()
        .with_call("hipStreamBeginCapture", 0, 1, category="cuda_runtime")
        .with_call("aten::mm", 10, 90, category="cpu_op", args=INPUTS)
        .with_call("hipLaunchKernel", 20, 30, category="cuda_runtime", args=launch)
        .with_call("hipStreamEndCapture", 100, 101, category="cuda_runtime")
    )
    replay = (
        a_trace()
        .with_call("hipGraphLaunch", 0, 5, category="cuda_runtime")
        .with_kernel("gemm", 100, 160)
        .with_link(1, 1)
    )
    captured = write_as(capture, tmp_path / "capture.db")
    replayed = write_as(replay, tmp_path / "replay.db")

    ran = run("summary", replayed, "--by", "shape", "--capture", captured, "--json")

    (row,) = tables(ran.out)["shapes"]
    assert (row["name"], row["input_dims"], row["total_ns"]) == ("aten::mm", "4x8, 8x16", 60)
    assert (
        ran.err == "note: 60 ns of 60 ns of graph replays fit a capture by order and kernel names\n"
    )
    assert "the captures say nothing of it" in run("summary", program, "--capture", captured).err
    missing = run("summary", replayed, "--capture", tmp_path / "no.db")
    assert missing.code == 3
