"""`wavescope counters collect` on chips that are not here: the GPU is described, its counters replayed."""

from __future__ import annotations

import csv
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_profile_command import STANDIN, metric_values

ONE_GPU = """
import sys
from wavescope.collect.counters import system_info
system_info.gpu_agents = lambda: [system_info.GpuAgent({agent})]
from wavescope.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
MI300X = '"gfx942", "AMD Instinct MI300X", 29857, 304, 4, 32, 32, 64, 1024, 2100, 1300, {1: 32}'
MI100 = '"gfx908", "AMD Instinct MI100", 29580, 120, 4, 8, 40, 64, 1024, 1502, 1200, {1: 16}'


MI350 = '"gfx950", "AMD Instinct MI350X", 30112, 128, 4, 16, 32, 64, 1024, 0, 0, {1: 32, 2: 4096}'


def profiled(
    folder: Path, agent: str, workload: Path, *options: str, **more: str
) -> dict[str, Any]:
    command = [sys.executable, "-c", ONE_GPU.replace("{agent}", agent), "profile", "--no-roof"]
    command += ["--output-directory", "out", "--json", "-q", *options, "--", "true"]
    environment = {
        **os.environ,
        "PATH": f"{STANDIN}:{os.environ['PATH']}",
        "STANDIN_WORKLOAD": str(workload),
        **more,
    }
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, cwd=folder,
        env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def differing(original: Path, collected: Path) -> tuple[int, dict[str, tuple[float, float]]]:
    before, after = metric_values(original), metric_values(collected)
    return len(before), {
        f"{metric} {column}": (value, after.get((metric, column), math.nan))
        for (metric, column), value in before.items()
        if not math.isclose(value, after.get((metric, column), math.nan), rel_tol=1e-9)
    }


LEVEL_RUN = {"6.1.3"}
"""Its counters share a run with a level counter, which was recorded on another launch."""
SCALAR_CACHES = {"2.1.27", "2.1.29", "13.1.0", "13.1.2", "14.1.0", "14.1.2"}
"""The recorded MI100 says that it has 64 scalar caches; three compute units share one of 40."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "agent", "others"),
    [
        ("MI300X_A1/no_roof", MI300X, LEVEL_RUN),
        ("MI100/vcopy", MI100, LEVEL_RUN | SCALAR_CACHES),
    ],
    ids=["mi300x", "mi100"],
)
def test_the_metrics_of_the_recorded_workload_come_back(
    tmp_path: Path, shared_data: Path, model: str, agent: str, others: set[str]
) -> None:
    workload = shared_data / "compute-workloads" / model
    profiled(tmp_path, agent, workload)

    count, other = differing(workload, tmp_path / "out")

    assert count > 1500
    assert {name.split()[0] for name in other} == others


def with_whole_nanoseconds(workload: Path, copy: Path) -> Path:
    """A workload whose times are as rocprofv3 writes them: joined ones are means over passes."""
    shutil.copytree(workload, copy, copy_function=shutil.copyfile)
    with (copy / "pmc_perf.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        for name in ("Start_Timestamp", "End_Timestamp"):
            row[name] = str(round(float(row[name])))
    with (copy / "pmc_perf.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return copy


@pytest.mark.slow
def test_the_metrics_of_mi350_come_back_without_what_was_not_recorded(
    tmp_path: Path, shared_data: Path
) -> None:
    recorded = shared_data / "compute-workloads" / "MI350" / "vcopy"
    workload = with_whole_nanoseconds(recorded, tmp_path / "recorded")
    done = profiled(tmp_path, MI350, workload, STANDIN_LISTS="yes")

    count, other = differing(workload, tmp_path / "out")

    assert (count, other) == (2846, {})
    notes = [f"{each['title']}: {each['evidence']}" for each in done["findings"]]
    assert "sysinfo.csv has no max_sclk: what needs the clock is not available" in notes
    assert "SQ_IFETCH_LEVEL: not reported: SQ_IFETCH_LEVEL_ACCUM" in notes
    assert "pmc_perf_2: not reported: TCC_BUBBLE (76 channels)" in notes


def test_channels_of_all_dies_are_asked_for_and_joined(tmp_path: Path, shared_data: Path) -> None:
    workload = shared_data / "compute-workloads" / "MI300X_A1" / "no_roof"
    profiled(tmp_path, MI300X, workload, "-b", "18.1")

    header = (tmp_path / "out" / "pmc_perf.csv").read_text().partition("\n")[0].split(",")
    (perfmon,) = (tmp_path / "out" / "perfmon").glob("*0.txt")
    definitions = perfmon.with_suffix(".yaml").read_text()
    assert [f"TCC_HIT[{channel}]" in header for channel in (0, 127, 128)] == [True, True, False]
    assert "select(TCC_HIT,[DIMENSION_XCC=[7],DIMENSION_INSTANCE=[15]])" in definitions


def test_multiplexing_on_many_channels_takes_as_few_runs_as_can_be_started(
    tmp_path: Path, shared_data: Path
) -> None:
    workload = shared_data / "compute-workloads" / "MI300X_A1" / "no_roof"
    asked = ("--iteration-multiplexing", "kernel", "-b", "17", "18")
    more = {"STANDIN_REPEATS": "20", "STANDIN_LISTS": "yes"}
    done = profiled(tmp_path, MI300X, workload, *asked, **more)

    names = [column["name"] for column in done["tables"][0]["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in done["tables"][0]["rows"]]
    assert len(rows) > 1
    assert [row["outcome"] for row in rows] == ["ok"] * len(rows)
    assert [row["pass"] for row in rows] == [f"pmc_perf_{n}" for n in range(len(rows))]
    collected, original = metric_values(tmp_path / "out"), metric_values(workload)
    compared = [key for key in collected if key[0].startswith("17.") and key[1] == "avg"]
    assert len(compared) > 30
    for key in compared:
        assert collected[key] == pytest.approx(original[key], rel=0.25, abs=1e-6), key
