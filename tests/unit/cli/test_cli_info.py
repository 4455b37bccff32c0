"""`wavescope info` on a small trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.counter_json import write_counter_json
from tests.unit.cli.conftest import Run


def test_the_page_shows_counts_gpus_processes_and_coverage(
    run: Run, trace_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trace_file.parent)
    ran = run("info", "trace.db")

    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0:3] == ["Trace", "path             trace.db", "format           wavescope"]
    for line in (
        "span             7.500 us",
        "first timestamp  500 ns",
        "last timestamp   8000 ns",
        "ops              3",
        "kernels          2",
        "copies           1",
        "markers          2",
        "calls            1",
        "unresolved       0",
        "coverage         3 of 10 dispatches timed (30.0 %), 7 skipped",
        "  0    2  gfx942      0",
        "      0   42     0  server  test.db",
        "command         python3 serve.py",
    ):
        assert line in lines


def test_markers_are_no_kernels(run: Run, trace_file: Path) -> None:
    document = json.loads(run("info", trace_file, "--json", "--kernels").out)

    (table,) = document["tables"]
    assert [row[:3] for row in table["rows"]] == [
        ['evil\n\x1b[31m</script>|"name"', 1, 3000],
        ["gemm", 1, 1000],
    ]


def test_markers_by_name(run: Run, trace_file: Path) -> None:
    assert run("info", trace_file, "--markers", "--format", "csv").out == (
        "marker,occurrences,total_ns,mean_ns,longest_ns,marks,unclosed\n"
        "decode,1,5000,5000.0,5000,0,0\n"
        "prefill,1,1600,1600.0,1600,0,0\n"
    )


def test_one_table_as_csv_names_the_others(run: Run, trace_file: Path) -> None:
    ran = run("info", trace_file, "--format", "csv")

    assert ran.out.startswith("gpu,ops,chip,model,")
    assert ran.err == (
        "note: printed table gpus; --table chooses another: "
        "queues, processes, tables, metadata, coverage\n"
    )


def test_an_unknown_table_lists_the_known(run: Run, trace_file: Path) -> None:
    ran = run("info", trace_file, "--table", "nope")

    assert ran.code == 2
    assert ran.err.endswith(
        "hint: there are: gpus, queues, processes, tables, metadata, coverage\n"
    )


def test_formats(run: Run) -> None:
    ran = run("info", "--formats", "--json")

    readable, writable = json.loads(ran.out)["tables"]
    assert ["wavescope"] in readable["rows"]
    assert "perfetto" in [row[0] for row in writable["rows"]]


def test_which_trace(run: Run) -> None:
    assert run("info").code == 2


def test_bad_inputs_exit_with_3(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "garbage").write_bytes(bytes(range(256)))
    (tmp_path / "folder").mkdir()

    for name in ("absent", "empty", "garbage", "folder"):
        ran = run("info", tmp_path / name)
        assert (ran.code, ran.out) == (3, ""), name
        assert ran.err.startswith("error: cannot read "), name


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    return write_counter_json(tmp_path / "out_results.json")


def test_counters_are_sums_or_by_instance(run: Run, counted: Path, tmp_path: Path) -> None:
    csv = ("--format", "csv", "--table", "counters")

    assert run("info", counted, "--counters", *csv).out.splitlines()[1:] == [
        "gemm,SQ_WAVES,1,96.0,96.0,96.0,96.0"
    ]
    assert run("info", counted, "--counter-instances", *csv).out.splitlines()[1:] == [
        "gemm,SQ_WAVES[0],1,64.0,64.0,64.0,64.0",
        "gemm,SQ_WAVES[1],1,32.0,32.0,32.0,32.0",
    ]
    sql = "SELECT sum(value), count(*) FROM wavescope_counter"
    assert run("query", counted, sql, "--format", "csv").out.splitlines()[1:] == ["96.0,1"]
    asked = ("--counter-instances", "--format", "csv")
    assert run("query", counted, sql, *asked).out.splitlines()[1:] == ["96.0,2"]
    kept = tmp_path / "kept.db"
    assert run("convert", counted, "-o", kept, "--counter-instances").code == 0
    assert run("info", kept, "--counters", *csv).out.count("SQ_WAVES[") == 2


def test_a_format_without_instances_says_so(run: Run, trace_file: Path, tmp_path: Path) -> None:
    for name, *others in (("info",), ("convert", "-o", tmp_path / "o.db"), ("query", "SELECT 1")):
        ran = run(name, trace_file, *others, "--counter-instances")

        assert ran.code == 2
        assert ran.err == (
            f"error: the counters of {trace_file}, which is wavescope, cannot be split into "
            "hardware instances\n"
            "hint: rocprofv3 --pmc ... -f json writes a value for each of them\n"
        )
