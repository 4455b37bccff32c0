"""`wavescope counters` on small workloads."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path

import pytest

from tests.counters_builder import WorkloadMaker, a_workload
from tests.unit.cli.conftest import HOSTILE_NAME, Run
from wavescope.units import visible


def made(folder: Path, requests: int = 500) -> WorkloadMaker:
    return (
        a_workload(folder)
        .with_dispatch("gemm", 1_000, TCC_REQ_sum=requests, TCC_HIT_sum=1, TCC_MISS_sum=3)
        .with_dispatch(HOSTILE_NAME, 3_000, TCC_REQ_sum=requests, TCC_HIT_sum=1, TCC_MISS_sum=3)
    )


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    return made(tmp_path / "run").write()


def table(out: str, name: str) -> list[dict[str, object]]:
    found = next(table for table in json.loads(out)["tables"] if table["name"] == name)
    names = [column["name"] for column in found["columns"]]
    return [dict(zip(names, row, strict=True)) for row in found["rows"]]


def test_kernels_are_chosen_by_regular_expression(run: Run, workload: Path) -> None:
    ran = run("analyze", "-p", workload, "--json", "--kernel", "^ge.m$", "-b", "0.1")

    assert [row["selected"] for row in table(ran.out, "0.1")] == [False, True]
    assert json.loads(ran.out)["facts"]["selected_dispatch_count"] == 1
    assert run("analyze", "-p", workload, "--kernel", "^em").code == 2
    assert run("analyze", "-p", workload, "--kernel", "(").code == 2


def test_the_page_has_panels_with_ids(run: Run, workload: Path) -> None:
    ran = run("analyze", "-p", workload, "-q")

    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    for title in (
        "Counter analysis",
        "0.1 Top Kernels",
        "1.1 System Info",
        "2.1 System Speed-of-Light",
        "3.1 Memory Chart",
        "4.1 Roofline Rates",
        "5.1 Command processor fetcher (CPF)",
        "17.2 L2-Fabric interface metrics",
        "18.1 Aggregate Stats (All channels)",
        "Findings",
    ):
        assert title in lines
    assert any(line.split()[:4] == ["2.1.20", "L2", "Cache", "Hit"] for line in lines)
    assert "N/A: needs GRBM_GUI_ACTIVE, SQ_LEVEL_WAVES (2.1.15)" in lines
    assert "inf" not in ran.out.split()
    assert "nan" not in ran.out.split()
    assert "\x1b" not in ran.out
    assert all(len(line) <= 100 for line in lines)


def test_counters_show_what_matters_and_name_the_rest(run: Run, workload: Path) -> None:
    shown = run("counters", workload)
    titles = {line for line in shown.out.splitlines() if line[:1].isdigit() and "." in line[:3]}

    assert {line.split()[0] for line in titles if line.split()[0].count(".") == 1} == {
        "0.1",
        "2.1",
        "2.2",
        "3.1",
        "4.1",
        "4.2",
    }
    assert "(55 rows: -b 3.1)" in shown.out
    assert "more with -b PANEL, or all with --all: topstats, sysinfo, memchart" in shown.err
    assert "l2_per_channel" in shown.err
    assert len(shown.out.splitlines()) < 200
    assert run("counters", workload, "--all", "-q").out == run("analyze", workload, "-q").out
    names = [
        table["name"] for table in json.loads(run("counters", workload, "--json").out)["tables"]
    ]
    assert "17.2" in names


def test_json_has_full_precision_and_reasons(run: Run, workload: Path) -> None:
    ran = run("analyze", "-p", workload, "--json", "-b", "2.1", "-n", "per_wave")

    rows = {row["id"]: row for row in table(ran.out, "2.1")}
    assert rows["2.1.20"]["avg"] == 25.0
    assert rows["2.1.21"]["avg"] == pytest.approx(1000 * 128 / 4000)
    assert (
        rows["2.1.22"]
        | {"avg": None, "note": "N/A: needs TCC_EA0_RDREQ_32B_sum, TCC_EA0_RDREQ_sum"}
        == rows["2.1.22"]
    )
    assert json.loads(ran.out)["facts"]["normal_unit"] == "per_wave"


def test_csv_has_a_row_for_each_value(run: Run, workload: Path) -> None:
    ran = run("analyze", "-p", workload, "--format", "csv", "-b", "17.3.7")

    rows = list(csv.DictReader(ran.out.splitlines()))
    found = [row for row in rows if row["id"] == "17.3.7"]
    assert [(row["statistic"], row["value"], row["unit"]) for row in found] == [
        ("avg", "25.0", "%"),
        ("min", "25.0", "%"),
        ("max", "25.0", "%"),
    ]
    shown = [row["value"] for row in rows]
    assert visible(HOSTILE_NAME) in shown
    raw = run("analyze", "-p", workload, "--format", "csv", "-b", "17.3.7", "--raw-text")
    exact = [row["value"] for row in csv.DictReader(raw.out.splitlines(keepends=True))]
    assert HOSTILE_NAME in exact


def test_a_page_is_written_to_a_file(run: Run, workload: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    wrote = run("analyze", "-p", workload, "-b", "2", "-o", target)
    again = run("analyze", "-p", workload, "-b", "2", "-o", target)
    printed = run("analyze", "-p", workload, "-b", "2", "--format", "html")

    assert wrote.code == 0
    assert f"wrote {target}" in wrote.err
    assert target.read_text(encoding="utf-8") == printed.out
    assert again.code == 2


def test_markdown_and_html_escape_names(run: Run, workload: Path) -> None:
    markdown = run("analyze", "-p", workload, "--format", "markdown", "-b", "2", "3").out
    html = run("analyze", "-p", workload, "--format", "html").out

    assert "| 2.1.20 | L2 Cache Hit Rate | 25.00 | 100.00 | 25.00 | % |" in markdown
    assert "</script>" not in markdown
    assert html.count("</script>") == 2  # the page's own
    assert html.count("<script>") == 2
    assert '<svg viewBox="0 0 1160 462" class="memory-chart"' in html
    assert '<section id="panel-4" aria-labelledby="panel-4-title"><h2 id="panel-4-title">2 ' in html
    assert '<a href="#panel-4">sol</a>' in html
    assert 'title="Cycles that a request spends in the vector L1.">' in html
    assert html.rstrip().endswith("</html>")
    assert "http://" not in html.replace("http://www.w3.org/2000/svg", "")


def test_filters_are_about_metrics_and_mark_kernels(run: Run, workload: Path) -> None:
    out = run("analyze", "-p", workload, "--json", "-k", "gemm", "-b", "0.1", "7.2.0").out

    assert [row["selected"] for row in table(out, "0.1")] == [False, True]
    assert table(out, "7.2")[0]["avg"] == pytest.approx(1_000)
    assert json.loads(out)["facts"]["selected_dispatch_count"] == 1


def test_stats_list_ids(run: Run, workload: Path) -> None:
    out = run("analyze", "-p", workload, "--json", "--list-stats").out

    assert [(row["kernel_id"], row["kernel"]) for row in table(out, "0.1")] == [
        (0, HOSTILE_NAME),
        (1, "gemm"),
    ]
    assert [row["dispatch_id"] for row in table(out, "0.2")] == [0, 1]


def test_time_unit_and_decimals_are_for_people(run: Run, workload: Path) -> None:
    out = run(
        "analyze", "-p", workload, "-b", "0.1", "2.1.14", "2.1.20", "-t", "ms", "--decimal", "4"
    ).out

    assert "0.0030" in out  # 3 us in ms
    assert "25.0000" in out
    times = run("analyze", "-p", workload, "-b", "7.2.0", "17.3.1", "-t", "us").out.splitlines()
    assert next(line for line in times if line.startswith("7.2.0")).split()[-4:] == [
        *("2.00", "1.00", "3.00", "us"),
    ]
    assert next(line for line in times if line.startswith("17.3.1")).split()[-3:] == [
        "req",
        "per",
        "kernel",
    ]


def test_baselines_show_exact_differences(run: Run, tmp_path: Path) -> None:
    before = made(tmp_path / "before", 500).write()
    after = made(tmp_path / "after", 600).write()

    out = run("analyze", "-p", before, "-p", after, "--json", "-b", "17.3").out

    row = next(row for row in table(out, "17.3") if row["id"] == "17.3.1")
    assert (row["baseline"], row["run_2"], row["difference_2"], row["percent_2"]) == (
        500,
        600,
        100,
        20,
    )
    missing = next(row for row in table(out, "17.3") if row["id"] == "17.3.2")
    assert missing["percent_2"] is None
    assert missing["note"] == "baseline N/A: needs TCC_READ_sum; run 2 N/A: needs TCC_READ_sum"
    assert table(out, "0.1")[0]["percent_2"] == 0
    titles = [finding["title"] for finding in json.loads(out)["findings"]]
    assert {title.partition(": ")[0] for title in titles} == {"baseline", "run 2"}


def test_chips_are_compared_by_what_metrics_mean(run: Run, tmp_path: Path) -> None:
    first = made(tmp_path / "a").write()
    second = made(tmp_path / "b").with_system(gpu_arch="gfx942").write()

    out = run("analyze", "-p", first, second, "--json", "-b", "2.1").out

    row = next(row for row in table(out, "2.1") if row["key"] == "l2_hit_rate")
    assert (row["id"], row["baseline"], row["run_2"]) == ("2.1.20", 25, 25)


def test_one_sqlite_file(run: Run, workload: Path, tmp_path: Path) -> None:
    target = tmp_path / "metrics.db"

    ran = run("analyze", "-p", workload, "-o", target, "-b", "17.3")

    assert ran.err.splitlines()[-1] == f"wrote {target}"
    with sqlite3.connect(target) as database:
        assert database.execute(
            "SELECT metric_id, value, unit FROM compute_workload_metric_view WHERE key = 'l2_hit_rate' "
            "AND value_name = 'avg'"
        ).fetchall() == [("17.3.7", 25.0, "%")]
        assert database.execute(
            "SELECT kernel_name, value FROM compute_kernel_metric_view WHERE metric_id = '17.3.1' "
            "ORDER BY value_name, kernel_name DESC"
        ).fetchall() == [("gemm", 500.0), (HOSTILE_NAME, 500.0)]
        assert database.execute(
            "SELECT kernel_name, mean_ns FROM compute_kernel_view"
        ).fetchone() == (
            HOSTILE_NAME,
            3000.0,
        )
    database.close()
    assert run("analyze", "-p", workload, "-o", target).code == 2
    assert run("analyze", "-p", workload, "-o", target, "--force", "-q").code == 0


def test_the_memory_chart_is_drawn(run: Run, workload: Path, tmp_path: Path) -> None:
    target = tmp_path / "chart.svg"

    ran = run("analyze", "-p", workload, "-b", "3", "--memory-chart", target)

    assert "┌─ L2 ──" in ran.out
    svg = target.read_text()
    assert svg.startswith("<svg")
    assert ">25 %<" in svg


def test_own_metrics(run: Run, workload: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('[metric.rate]\nunit = "req/s"\nvalue = "TCC_REQ_sum / duration"\n')

    out = run("analyze", "-p", workload, "--metrics", mine, "-b", "rate", "--json").out

    assert table(out, "100.1")[0]["avg"] == pytest.approx(1000 / 4e-6)


def test_the_workload_is_left_as_it_is(run: Run, workload: Path) -> None:
    before = {path.name: path.read_bytes() for path in workload.iterdir()}

    run("analyze", "-p", workload, "-q")

    assert {path.name: path.read_bytes() for path in workload.iterdir()} == before


def test_metrics_of_the_workloads_chip_are_listed(run: Run, workload: Path) -> None:
    ran = run("analyze", "-p", workload, "--list-available-metrics", "--json")

    rows = {row["id"]: row for row in table(ran.out, "metrics")}
    assert (rows["17.3.7"]["available"], rows["17.3.2"]["available"]) == (
        "yes",
        "N/A: needs TCC_READ_sum",
    )


def test_facts_can_be_corrected(run: Run, tmp_path: Path) -> None:
    folder = made(tmp_path / "run").with_system(max_sclk="0").write()
    without = table(run("analyze", "-p", folder, "-b", "2.1.21", "--json").out, "2.1")[0]

    corrected = run(
        "analyze", "-p", folder, "-b", "2.1.21", "--json", "--specs-correction", "max_sclk:2000"
    )

    assert (without["peak"], without["note"]) == (None, "peak N/A: needs max_sclk")
    assert table(corrected.out, "2.1")[0]["peak"] == 1024
    assert "counters.partial" not in corrected.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("-b", "99"), 2, "there is no panel, table or metric '99'"),
        (("-b", "l2_hit_rat"), 2, "did you mean l2_hit_rate"),
        (("-k", "absent"), 2, "there is no kernel 'absent'"),
        (("-d", "9"), 2, "no dispatch of"),
        (("--gpu-id", "5"), 2, "no dispatch ran on GPU '5'"),
        (("--specs-correction", "max_slck:1"), 2, "did you mean max_sclk"),
        (("--specs-correction", "max_sclk"), 2, "is not a correction"),
        (("--metrics", "absent.toml"), 3, "cannot read absent.toml"),
        (("--json", "--format", "csv"), 2, "cannot be used together"),
        (("--decimal", "99"), 2, "at most 15"),
        (("-n", "per_moon"), 2, "argument -n"),
    ],
)
def test_impossible_requests(
    run: Run, workload: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ran = run("analyze", "-p", workload, *arguments)

    assert ran.code == code
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_unreadable_folders(run: Run, workload: Path, tmp_path: Path) -> None:
    assert run("analyze", "-p", tmp_path / "absent").code == 3
    assert "given twice" in run("analyze", "-p", workload, "-p", workload).err
    other = made(tmp_path / "other").with_system(gpu_arch="gfx1100").write()
    ran = run("analyze", "-p", other)
    assert (ran.code, "there are no metrics for its chip 'gfx1100'" in ran.err) == (3, True)


def test_a_partial_workload_is_marked_as_such(run: Run, tmp_path: Path) -> None:
    folder = made(tmp_path / "run").write("pmc_perf_0.csv")
    (folder / "pmc_perf_1.csv").write_text("Kernel_Name,SQ_WAVES\n")

    out = run("analyze", "-p", folder, "--json").out

    finding = json.loads(out)["findings"][0]
    assert finding["id"] == "counters.partial"
    assert "pmc_perf_1.csv was left out" in finding["evidence"]


def test_percentages_are_compared_in_points(run: Run, tmp_path: Path) -> None:
    before = made(tmp_path / "before", 500).write()
    after = made(tmp_path / "after", 600).write()

    out = run("analyze", "-p", before, "-p", after, "--json").out

    names = [found["name"] for found in json.loads(out)["tables"]]
    rows = [
        row
        for name in names
        for row in table(out, name)
        if row.get("unit") == "%" and row.get("difference_2") is not None
    ]
    assert rows
    assert {row["percent_2"] for row in rows} == {None}
