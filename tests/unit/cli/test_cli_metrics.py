"""`wavescope metrics`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.cli.conftest import Run


def test_all_metrics_of_a_chip(run: Run) -> None:
    ran = run("metrics", "--arch", "gfx90a")

    assert ran.code == 0
    lines = ran.out.splitlines()
    assert any(line.startswith("2.1.20") and "L2 Cache Hit Rate" in line for line in lines)
    assert any(line.split()[:2] == ["18", "l2_per_channel"] for line in lines)


def test_a_few_are_explained(run: Run) -> None:
    out = run("metrics", "17.3.7").out

    assert out.startswith("17.3.7 Cache Hit (%)  [l2_hit_rate]\n")
    assert "  formula: TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum)\n" in out
    assert "  counters: TCC_HIT_sum, TCC_MISS_sum\n" in out
    assert "  low: " in out


def test_json_and_csv_have_everything(run: Run) -> None:
    document = json.loads(run("metrics", "--json", "mfma", "f6f4", "--arch", "gfx950").out)
    csv = run("metrics", "--format", "csv", "17.1").out.splitlines()

    found = next(table for table in document["tables"] if table["name"] == "metrics")
    assert [row[0] for row in found["rows"]] == ["2.1.7", "10.4.6", "11.1.7", "11.3.0", "11.3.7"]
    assert csv[0].startswith("id,metric,unit,meaning,key,table,formula")
    assert len(csv) == 7


def test_nothing_found_is_an_error(run: Run) -> None:
    ran = run("metrics", "xyzzy")

    assert (ran.code, "no metric of gfx942 matches 'xyzzy'" in ran.err) == (2, True)


def test_own_metrics_are_checked(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[metric.a]\nunit = "GB/s"\nvalue = "SQ_WAVES"\n')

    ran = run("metrics", "--metrics", path)

    assert ran.code == 1
    assert "'SQ_WAVES' is in a plain number, its unit is GB/s" in ran.err


def test_matrix_instructions_of_a_chip(run: Run) -> None:
    ran = run("metrics", "--mfma", "gfx942")

    assert ran.code == 0
    (line,) = [each for each in ran.out.splitlines() if each.startswith("v_mfma_f32_16x16x16_f16 ")]
    assert line.split()[1:10] == ["XDL", "1", "4", "16", "0", "5", "7", "7", "7"]
    assert "writes EXEC" in ran.out


def test_matrix_instructions_as_json_and_csv(run: Run) -> None:
    document = json.loads(run("metrics", "--mfma", "gfx950", "scale", "--json").out)
    csv = run("metrics", "--mfma", "gfx950", "f64", "--format", "csv").out.splitlines()

    instructions, before = document["tables"]
    names = [column["name"] for column in instructions["columns"]]
    cycles = [row[names.index("cycles")] for row in instructions["rows"]]
    assert cycles == [64, 32, 32, 16]
    assert len(before["rows"]) == 3
    assert csv[0].endswith("cycles,same_c,other_c,ab,valu,memory,peak_tflop_per_s")
    assert csv[1].split(",")[-2] == "", "what is not known is empty"


def test_chips_without_matrix_instructions_and_words_that_fit_none(run: Run) -> None:
    ran = run("metrics", "--mfma", "gfx1030")
    assert (ran.code, "gfx942" in ran.err) == (2, True)

    assert run("metrics", "--mfma", "gfx942", "xyzzy").code == 2
    assert run("metrics", "--mfma", "gfx9999").code == 2
