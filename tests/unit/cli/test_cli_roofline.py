"""`wavescope roofline`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.counters_builder import a_workload
from tests.unit.analyze.counters.test_roofline import MEMORY, NO_WORK
from tests.unit.cli.conftest import HOSTILE_NAME, Run


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    work = NO_WORK | MEMORY | {"SQ_INSTS_VALU_MFMA_MOPS_F16": 2_000}
    return a_workload(tmp_path / "run").with_dispatch(HOSTILE_NAME, 1_000, **work).write()


def test_a_plot_in_the_terminal(run: Run, workload: Path) -> None:
    ran = run("roofline", "-p", workload, "-q")

    assert (ran.code, ran.err) == (0, "")
    assert "4.2 Roofline Plot Points" in ran.out
    assert "/ HBM 320 GB/s" in ran.out
    assert "\x1b" not in ran.out
    rows = [line for line in ran.out.splitlines() if "|" in line[:12]]
    assert sum(line.count("A") for line in rows) == 1


def test_data_types_have_the_name_of_the_other_profiler_too(run: Run, workload: Path) -> None:
    ours, theirs = (
        run("roofline", "-p", workload, "-q", flag, "FP16").out
        for flag in ("--data-type", "--roofline-data-type")
    )

    assert ours == theirs
    assert "MFMA FP16" in ours


def test_json_of_several_runs_is_one_document(run: Run, workload: Path, tmp_path: Path) -> None:
    other = a_workload(tmp_path / "other").with_dispatch("k", 10).write()

    document = json.loads(run("roofline", "-p", workload, other, "--json").out)

    assert [table["name"] for table in document["tables"]] == [
        "4.1",
        "4.2",
        "run_2.4.1",
        "run_2.4.2",
    ]


def test_files(run: Run, workload: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    for suffix, head in (("html", "<!DOCTYPE html>"), ("svg", "<svg")):
        target = tmp_path / f"plot.{suffix}"

        ran = run("roofline", "-p", workload, "-o", target)

        assert (ran.code, ran.err.strip()) == (0, f"wrote {target}")
        assert target.read_text(encoding="utf-8").startswith(head)
    png = tmp_path / "plot.png"
    run("roofline", "-p", workload, "-o", png, "-m", "HBM", "-R", "FP16", "--sort", "dispatches")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert run("roofline", "-p", workload, "-o", png).code == 2


def test_the_page_needs_no_network_and_names_cannot_break_out(
    run: Run, workload: Path, tmp_path: Path
) -> None:
    pytest.importorskip("vl_convert")
    target = tmp_path / "plot.html"
    run("roofline", "-p", workload, "-o", target)
    page = target.read_text(encoding="utf-8")

    assert page.count("</script>") == 4  # early, data, library, late
    assert "default-src &#x27;none&#x27;" in page
    assert "unsafe" not in page.partition("</head>")[0]
    assert '<script src="' not in page
    assert page.count("<link") == page.count('<link rel="icon" href="data:')


def test_a_description_of_the_plot_needs_no_package(
    run: Run, workload: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "vl_convert", None)
    target = tmp_path / "plot.json"

    assert run("roofline", "-p", workload, "-o", target).code == 0
    points = json.loads(target.read_text(encoding="utf-8"))["layer"][2]["data"]["values"]
    assert {point["level"] for point in points} == {"HBM", "L2", "vL1D", "LDS"}
    assert points[0]["performance"] == pytest.approx(1024)
    ran = run("roofline", "-p", workload, "-o", tmp_path / "plot.svg")
    assert (ran.code, "pip install 'wavescope[plots]'" in ran.err) == (4, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "plot.pdf"), "does not end like the name of a plot"),
        (("-R", "FP8"), "gfx90a has no peak for FP8"),
        (("-m", "L3"), "argument -m"),
    ],
)
def test_impossible_requests(
    run: Run, workload: Path, arguments: tuple[str, ...], message: str
) -> None:
    ran = run("roofline", "-p", workload, *arguments)

    assert ran.code == 2
    assert message in ran.err
