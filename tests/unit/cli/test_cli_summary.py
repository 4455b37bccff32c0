"""`wavescope summary` on a small trace."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.builders import a_trace
from tests.sample_files import write_as
from tests.unit.cli.conftest import HOSTILE_NAME, Run


def table(ran_out: str, name: str) -> dict[str, object]:
    document = json.loads(ran_out)
    return next(table for table in document["tables"] if table["name"] == name)


def kernel_rows(ran_out: str) -> list[tuple[object, ...]]:
    found = table(ran_out, "kernels")
    names = [column["name"] for column in found["columns"]]  # type: ignore[attr-defined]
    keep = [names.index(name) for name in ("name", "calls", "total_ns")]
    return [tuple(row[index] for index in keep) for row in found["rows"]]  # type: ignore[attr-defined]


def test_the_page_tells_kernels_utilization_coverage_and_findings(
    run: Run, trace_file: Path
) -> None:
    ran = run("summary", trace_file, "-q")

    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    for line in (
        "Summary",
        "gpus             2",
        "kernel launches  2",
        "kernel time      4.000 us",
        "unresolved       0",
        "coverage         3 of 10 dispatches timed (30.0 %), 7 skipped",
        "Kernels",
        "Categories",
        "GPU utilization",
        "Idle gaps",
        "Copies",
        "Host calls",
        "Coverage",
        "Findings",
    ):
        assert line in lines
    assert "\x1b" not in ran.out
    assert "Queues" not in lines


def test_tables_left_out_of_the_page_are_named(run: Run, trace_file: Path) -> None:
    ran = run("summary", trace_file)

    assert ran.err.startswith("more with --table NAME: queues")
    assert "Queues" in run("summary", trace_file, "--table", "queues").out.splitlines()


def test_a_trace_with_markers_is_said_to_have_phases(
    run: Run, trace_file: Path, tmp_path: Path
) -> None:
    unmarked = write_as(a_trace().with_kernel("gemm", 1, 2), tmp_path / "unmarked.db")

    words = run("summary", trace_file).err.splitlines()

    assert words[-1] == f"by marked phase: wavescope phases {shlex.quote(str(trace_file))}"
    assert "phases" not in run("summary", unmarked).err


def test_json_holds_everything(run: Run, trace_file: Path) -> None:
    ran = run("summary", trace_file, "--json", "--by", "full")

    document = json.loads(ran.out)
    assert document["schema"] == "wavescope.result/1"
    assert document["facts"]["op_count"] == 3
    assert kernel_rows(ran.out) == [(HOSTILE_NAME, 1, 3000), ("gemm", 1, 1000)]
    assert {"gpus", "queues", "gaps", "copies", "calls"} <= {t["name"] for t in document["tables"]}
    assert ran.err == ""


def test_coverage_is_said_to_be_unknown_when_it_is(run: Run, tmp_path: Path) -> None:
    path = write_as(a_trace().with_kernel("k", 0, 10), tmp_path / "bare.db")

    ran = run("summary", path, "-q")

    assert "coverage         unknown: the trace does not say what was skipped" in ran.out


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (("--gpu", "0"), [HOSTILE_NAME, "gemm"]),
        (("--gpu", "1"), []),
        (("--kernel", "^gemm$"), ["gemm"]),
        (("--marker", "prefill"), ["gemm"]),
        (("--start", "2us"), [HOSTILE_NAME]),
        (("--end", "50%"), [HOSTILE_NAME, "gemm"]),
        (("--end", "40%"), ["gemm"]),
        (("--start", "1000", "--end", "1001"), ["gemm"]),
        (("--rank", "0"), [HOSTILE_NAME, "gemm"]),
        (("--pid", "43"), []),
    ],
)
def test_filters(run: Run, trace_file: Path, filters: tuple[str, ...], names: list[str]) -> None:
    ran = run("summary", trace_file, "--json", "--by", "full", *filters)

    assert [row[0] for row in kernel_rows(ran.out)] == names
    assert json.loads(ran.out)["facts"]["selection"]


def test_all_ops_per_gpu(run: Run, trace_file: Path) -> None:
    ran = run("summary", trace_file, "--json", "--all-ops", "--per", "gpu", "--by", "full")

    found = table(ran.out, "kernels")
    assert [row[:2] for row in found["rows"]] == [  # type: ignore[attr-defined]
        [0, HOSTILE_NAME],
        [0, "gemm"],
        [1, "CopyHostToDevice"],
    ]


def test_rules_from_a_file(run: Run, trace_file: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nmatch = "gemm"\nname = "matrix"\ncategory = "compute"\n')

    ran = run("summary", trace_file, "--json", "--rules", rules)

    assert "matrix" in [row[0] for row in kernel_rows(ran.out)]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--by", "rules"), 2, "--by rules needs a file of rules"),
        (("--by", "full", "--rules", "x.toml"), 2, "cannot be used together"),
        (("--rules", "absent.toml"), 3, "absent.toml"),
        (("--start", "soon"), 2, "'soon' is not a duration"),
        (("--start", "200%"), 2, "not between 0% and 100%"),
        (("--marker", "absent"), 2, "no marker matches 'absent'"),
        (("--start", "5us", "--end", "1us"), 2, "the window is empty"),
        (("--kernel", "("), 2, "is not a regular expression"),
        (("--gpu", "all"), 2, "argument --gpu"),
    ],
)
def test_impossible_requests(
    run: Run, trace_file: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ran = run("summary", trace_file, *arguments)

    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_page_fits_the_terminal(
    run: Run, trace_file: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))

    page = run("summary", trace_file).out

    assert max(len(line) for line in page.splitlines()) <= width


def test_markdown_and_csv(run: Run, trace_file: Path) -> None:
    markdown = run("summary", trace_file, "--format", "markdown").out
    csv = run("summary", trace_file, "--format", "csv", "--table", "kernels", "--by", "full").out

    assert markdown.startswith("## Summary\n\n- path: ")
    assert "<script>" not in markdown and "</script>" not in markdown
    assert csv.splitlines()[0].startswith("name,category,calls,total_ns,percent,mean_ns,median_ns")
    assert csv.splitlines()[-1].startswith("gemm,GEMM,1,1000,25.0,")


def test_an_empty_trace_has_a_summary(run: Run, tmp_path: Path) -> None:
    path = write_as(a_trace(), tmp_path / "empty.db")

    ran = run("summary", path)

    assert ran.code == 0
    assert "ops              0" in ran.out
