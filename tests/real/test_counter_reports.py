"""Whole reports of real folders: every cell has a value or a reason, in every form."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from wavescope.cli.main import main

FOLDERS = [
    *(
        f"{chip}/{name}"
        for chip in ("MI100", "MI200", "MI300X_A1")
        for name in ("vcopy", "dispatch_0")
    ),
    "MI300X_A1_rocpd/vcopy",
    "MI350/vcopy",
]


def document(capfd: pytest.CaptureFixture[str], *arguments: str) -> dict[str, list[dict]]:  # type: ignore[type-arg]
    capfd.readouterr()
    assert main([*arguments, "--json"]) == 0
    # NaN and infinities are no JSON: they would be an error here.
    return json.loads(capfd.readouterr().out, parse_constant=float.fromhex)  # type: ignore[no-any-return]


def cells_without_reason(tables: list[dict]) -> list[tuple[str, str]]:  # type: ignore[type-arg]
    found = []
    for table in tables:
        names = [column["name"] for column in table["columns"]]
        if "note" not in names:
            continue
        for row in table["rows"]:
            cells = dict(zip(names, row, strict=True))
            if None in [cells[name] for name in names if name != "note"] and not cells["note"]:
                found.append((table["name"], cells["id"]))
    return found


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_cell_has_a_value_or_a_reason(
    shared_data: Path, capfd: pytest.CaptureFixture[str], folder: str
) -> None:
    path = str(shared_data / "compute-workloads" / folder)

    report = document(capfd, "analyze", "-p", path)

    assert cells_without_reason(report["tables"]) == []
    assert {table["name"].partition(".")[0] for table in report["tables"]} == {
        *(
            "0",
            "1",
            "2",
            "3",
            "4",
            "5",
            "6",
            "7",
            "10",
            "11",
            "12",
            "13",
            "14",
            "15",
            "16",
            "17",
            "18",
        )
    }


def test_all_channels_of_all_dies_are_there(
    shared_data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = str(shared_data / "compute-workloads" / "MI300X_A1" / "no_roof")

    report = document(capfd, "analyze", "-p", path, "-b", "18")

    sizes = {table["name"]: len(table["rows"]) for table in report["tables"]}
    assert sizes["18.2"] == sizes["18.12"] == 128


def test_a_comparison_of_chips(shared_data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = shared_data / "compute-workloads"
    paths = [str(folder / name / "no_roof") for name in ("MI100", "MI200", "MI300X_A1")]

    report = document(capfd, "analyze", *(word for path in paths for word in ("-p", path)))

    assert cells_without_reason(report["tables"]) == []
    table = next(table for table in report["tables"] if table["name"] == "2.1")
    names = [column["name"] for column in table["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in table["rows"]]
    values = {row["key"]: row for row in rows}
    hits, rate = values["l2_hit_rate"], values["l2_bandwidth"]
    for row in (hits, rate):
        assert row["difference_3"] == pytest.approx(row["run_3"] - row["baseline"])
    assert rate["percent_3"] == pytest.approx(100 * rate["difference_3"] / rate["baseline"])
    assert hits["percent_3"] is None
    assert "percent 3 N/A: of a percentage the difference is in points" in hits["note"]


def test_folders_are_never_written_to(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "compute-workloads" / "MI200" / "vcopy"
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}

    assert main(["analyze", "-p", str(folder), "-o", str(tmp_path / "m.db"), "-q"]) == 0

    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    database = sqlite3.connect(tmp_path / "m.db")
    values = dict(
        database.execute(
            "SELECT metric_id, value FROM compute_workload_metric_view WHERE value_name = 'avg'"
        )
    )
    database.close()
    assert values["17.3.7"] == pytest.approx(35.09314, abs=1e-5)
    assert len(values) > 250


def test_the_roofline_of_mi200_uses_the_gpu_that_ran(
    shared_data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = str(shared_data / "compute-workloads" / "MI200" / "vcopy")

    report = document(capfd, "roofline", "-p", path)

    rates = next(table for table in report["tables"] if table["name"] == "4.1")
    names = [column["name"] for column in rates["columns"]]
    hbm = dict(zip(names, rates["rows"][0], strict=True))
    assert (hbm["peak"], hbm["source"]) == (1389.0227, "benchmark")
    assert hbm["percent_of_peak"] == pytest.approx(62.2, abs=0.1)
