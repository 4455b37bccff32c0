"""`wavescope flame`: the tree, its JSON, and folded stacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wavescope
from tests.builders import a_trace
from tests.unit.cli.conftest import HOSTILE_NAME, Run
from wavescope.formats.wavescope.writing import write_trace


@pytest.fixture
def stacks_file(tmp_path: Path) -> Path:
    """A function that calls two operators, each of which launches a kernel; a kernel of unknown
    launch, and one call whose name would break lines and frames."""
    maker = (
        a_trace()
        .with_process(7, name="python3")
        .with_call("model.py(3): forward", 0, 1_000, category="python_function")
        .with_call("aten::mm", 100, 500, category="cpu_op")
        .with_call("hipLaunchKernel", 200, 300)
        .with_call("bad;name\nx 9", 600, 700, category="cpu_op")
        .with_call("hipLaunchKernel", 620, 640)
        .with_kernel("gemm", 2_000, 5_000)
        .with_kernel("add", 6_000, 6_900)
        .with_kernel(HOSTILE_NAME, 8_000, 8_100)
        .with_link(3, 1)
        .with_link(5, 2)
    )
    path = tmp_path / "stacks.db"
    write_trace([maker.builder], path)
    return path


def test_the_heaviest_paths_are_a_tree(run: Run, stacks_file: Path) -> None:
    ran = run("flame", stacks_file)

    lines = [line.split("  ") for line in ran.out.splitlines()]
    start = next(at for at, line in enumerate(lines) if line[0].startswith("all"))
    names = [line.rstrip() for line in ran.out.splitlines()[start:]]
    starts = (
        "all ",
        "  model.py(3): forward ",
        "    aten::mm > hipLaunchKernel > gemm ",
        "    bad;name",
        "  (launch not recorded) > evil",
    )
    assert [name.startswith(text) for name, text in zip(names, starts, strict=True)] == [True] * 5
    assert "97.5" in names[1]  # 3,900 of 4,000 ns
    assert ran.code == 0


def test_as_json_every_path_has_its_numbers(run: Run, stacks_file: Path) -> None:
    document = json.loads(run("flame", stacks_file, "--json").out)

    (table,) = document["tables"]
    assert [column["name"] for column in table["columns"]] == [
        "depth",
        "name",
        "total_ns",
        "percent",
        "self_ns",
        "count",
    ]
    assert table["rows"][:3] == [
        [0, "all", 4_000, 100.0, 0, 3],
        [1, "model.py(3): forward", 3_900, 97.5, 0, 2],
        [2, "aten::mm", 3_000, 75.0, 0, 1],
    ]
    assert document["facts"]["launch_not_recorded_ns"] == 100
    assert document["facts"]["path_count"] == 9


def test_host_time_rows_and_depth(run: Run, stacks_file: Path) -> None:
    host = json.loads(run("flame", stacks_file, "--of", "host", "--json").out)
    few = json.loads(run("flame", stacks_file, "--json", "-n", "2").out)["tables"][0]
    shallow = json.loads(run("flame", stacks_file, "--json", "--depth", "1").out)["tables"][0]
    part = json.loads(run("flame", stacks_file, "--of", "host", "--end", "550", "--json").out)

    assert [row[1:3] for row in host["tables"][0]["rows"][:4]] == [
        ["all", 1_000],
        ["python3 7", 1_000],
        ["thread 1", 1_000],
        ["model.py(3): forward", 1_000],
    ]
    assert [row[1] for row in few["rows"]] == ["all", "model.py(3): forward"]
    assert few["total_rows"] == 10
    assert [row[1] for row in shallow["rows"]] == [
        "all",
        "model.py(3): forward",
        "(launch not recorded)",
    ]
    assert part["facts"]["total_ns"] == 550
    assert part["facts"]["selection"] == "until 550"


def test_modules_of_a_kind_together(run: Run, tmp_path: Path) -> None:
    maker = a_trace().with_process(7)
    for number in range(2):
        maker.with_call(f"nn.Module: Block_{number}", 10 * number, 10 * number + 4)
    path = tmp_path / "modules.db"
    write_trace([maker.builder], path)

    said = json.loads(run("flame", path, "--of", "host", "--by-kind", "--json").out)

    assert said["tables"][0]["rows"][-1][1:3] == ["nn.Module: Block", 8]


def test_folded_stacks_are_one_line_each(run: Run, stacks_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "gpu.folded"

    ran = run("flame", stacks_file, "-o", target)

    assert target.read_text().splitlines() == [
        "model.py(3): forward;aten::mm;hipLaunchKernel;gemm 3000",
        "model.py(3): forward;bad:name x 9;hipLaunchKernel;add 900",
        '(launch not recorded);evil [31m</script>|"name" 100',
    ]
    assert f"wrote {target}" in ran.err
    assert "speedscope" in ran.err
    assert ran.out == ""


def test_folded_stacks_of_few_names_keep_all_the_time(
    run: Run, stacks_file: Path, tmp_path: Path
) -> None:
    target = tmp_path / "host.folded"

    run("flame", stacks_file, "--of", "host", "--depth", "4", "-o", target, "-q")

    lines = target.read_text().splitlines()
    assert lines == [
        "python3 7;thread 1;model.py(3): forward;aten::mm 400",
        "python3 7;thread 1;model.py(3): forward;bad:name x 9 100",
        "python3 7;thread 1;model.py(3): forward 500",
    ]
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == 1_000


def test_a_file_is_not_replaced_unasked(run: Run, stacks_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "gpu.folded"
    target.write_text("mine")

    refused = run("flame", stacks_file, "-o", target)
    onto_itself = run("flame", stacks_file, "-o", stacks_file, "--force")

    assert (refused.code, target.read_text()) == (2, "mine")
    assert onto_itself.code == 2
    assert run("flame", stacks_file, "-o", target, "--force").code == 0
    assert target.read_text().endswith("100\n")


def test_nothing_to_see_is_said(run: Run, trace_file: Path, stacks_file: Path) -> None:
    assert "no GPU op passes the filters" in run("flame", stacks_file, "--gpu", "5").err
    nobody = run("flame", trace_file, "--of", "host", "--pid", "43")
    assert "no host calls" in nobody.err
    assert nobody.code == 0


def test_python_has_the_same(stacks_file: Path, tmp_path: Path) -> None:
    result = wavescope.flame(stacks_file, of="host", depth=3)

    assert result.table("flame").column("name")[-1] == "model.py(3): forward"
    assert wavescope.save_flame(result, tmp_path / "a.folded").read_text() == (
        "python3 7;thread 1;model.py(3): forward 1000\n"
    )
    with pytest.raises(wavescope.WavescopeError, match="no flame graph of 'cpu'"):
        wavescope.flame(stacks_file, of="cpu")
