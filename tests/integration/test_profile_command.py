"""`wavescope counters collect` with a stand-in of rocprofv3 that replays recorded counters."""

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

from tests.softgpu_programs import require_softgpu

STANDIN = Path(__file__).resolve().parent.parent / "programs" / "rocprofv3_counters"
WAVESCOPE = [sys.executable, "-m", "wavescope"]
Ran = subprocess.CompletedProcess[str]


@pytest.fixture(autouse=True, scope="module")
def _software_gpu() -> None:
    require_softgpu()


class Profiler:
    """Runs `wavescope counters collect` in a folder, on a software gfx90a."""

    def __init__(self, folder: Path, workload: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "PATH": f"{STANDIN}:{os.environ['PATH']}",
            "STANDIN_WORKLOAD": str(workload),
        }

    def command(self, *arguments: str) -> list[str]:
        gpu = [*WAVESCOPE, "softgpu", "--chip", "gfx90a", "--"]
        return [*gpu, *WAVESCOPE, "profile", "--no-roof", *arguments]

    def run(self, *arguments: str, program: str = "true", **environment: str) -> Ran:
        return self.run_command([*self.command(*arguments), "--", program], **environment)

    def run_command(self, command: list[str], **environment: str) -> Ran:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=300, check=False, cwd=self.folder,
            env={**self.environment, **environment},
        )  # fmt: skip

    def passes(self, *arguments: str, **environment: str) -> dict[str, dict[str, Any]]:
        done = self.run(*arguments, "--json", "-q", **environment)
        table = json.loads(done.stdout)["tables"][0]
        names = [column["name"] for column in table["columns"]]
        return {row[0]: dict(zip(names, row, strict=True)) for row in table["rows"]}


@pytest.fixture
def profiler(tmp_path: Path, shared_data: Path) -> Profiler:
    return Profiler(tmp_path, shared_data / "compute-workloads" / "MI200" / "vcopy")


def metric_values(folder: Path) -> dict[tuple[str, str], Any]:
    """Every number of the analysis, by table, row and column."""
    command = [*WAVESCOPE, "analyze", "-p", str(folder), "--json", "-q"]
    command += ["--aggregation", "mean-of-ratios"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    values = {}
    for table in json.loads(done.stdout)["tables"]:
        names = [column["name"] for column in table["columns"]]
        is_measured = "metric" in names and not table["name"].startswith("4.")  # ceilings
        if names[:1] == ["id"] and is_measured:
            for row in table["rows"]:
                cells = dict(zip(names, row, strict=True))
                for name, cell in cells.items():
                    if isinstance(cell, (int, float)):
                        values[cells["id"], name] = cell
    return values


def analysis_notes(folder: Path) -> str:
    """What the analysis says about the collection of a workload."""
    command = [*WAVESCOPE, "analyze", "-p", str(folder), "-b", "12", "--json", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    findings = json.loads(done.stdout)["findings"]
    return "; ".join(each["evidence"] for each in findings if each["id"] == "counters.partial")


def test_what_is_collected_has_the_metrics_of_the_recorded_workload(profiler: Profiler) -> None:
    done = profiler.run("-n", "vcopy", "-q")

    assert done.returncode == 0, done.stderr
    original = metric_values(Path(profiler.environment["STANDIN_WORKLOAD"]))
    collected = metric_values(profiler.folder / "workloads" / "vcopy" / "MI200")
    assert len(original) > 400
    differing = {
        key: (value, collected.get(key))
        for key, value in original.items()
        if not math.isclose(value, collected.get(key, math.nan), rel_tol=1e-9)
    }
    # These counters share a run with a level counter now; that run was recorded on another launch.
    assert {metric for metric, _ in differing} == {"6.1.3"}
    assert collected["6.1.3", "avg"] == pytest.approx(original["6.1.3", "avg"], rel=0.02)


def test_the_joined_file_is_there_for_other_tools(profiler: Profiler) -> None:
    profiler.run("-n", "vcopy", "-b", "17", "18", "-q")

    folder = profiler.folder / "workloads" / "vcopy" / "MI200"
    rows = list(csv.DictReader((folder / "pmc_perf.csv").read_text().splitlines()))
    assert len(rows) == 3
    assert rows[0]["Kernel_Name"].startswith("vecCopy(double*")
    assert rows[0]["Grid_Size"] == "1048576"
    assert {f"TCC_HIT[{channel}]" for channel in range(32)} <= rows[0].keys()
    assert (folder / "sysinfo.csv").read_text().splitlines()[0].startswith("workload_name,command")


def test_another_block_adds_what_is_missing(profiler: Profiler) -> None:
    first = profiler.passes("-n", "vcopy", "-b", "12")
    again = profiler.passes("-n", "vcopy", "-b", "12")
    more = profiler.passes("-n", "vcopy", "-b", "12", "7.1")

    assert first.keys() == {"SQ_INST_LEVEL_LDS", "pmc_perf_0"}
    assert again == {}
    assert more.keys() == {"pmc_perf_1"}
    assert more["pmc_perf_1"]["dispatches"] == 3


def test_a_failed_pass_keeps_the_others_and_is_resumed(profiler: Profiler) -> None:
    failing = profiler.passes("-n", "vcopy", "-b", "12", STANDIN_FAILS="pmc_perf_0")
    folder = profiler.folder / "workloads" / "vcopy" / "MI200"
    told = analysis_notes(folder)
    resumed = profiler.passes("-n", "vcopy", "-b", "12", "--resume")

    assert told == "pmc_perf_0: failed: rocprofv3 ended with exit code 13"
    assert analysis_notes(folder) == ""
    assert failing["SQ_INST_LEVEL_LDS"]["outcome"] == "ok"
    assert failing["pmc_perf_0"]["outcome"] == "failed: rocprofv3 ended with exit code 13"
    assert resumed.keys() == {"pmc_perf_0"}
    assert resumed["pmc_perf_0"]["outcome"] == "ok"


def test_a_pass_that_counts_nothing_is_said_to(profiler: Profiler) -> None:
    done = profiler.run("-n", "vcopy", "-b", "12", STANDIN_EMPTY="pmc_perf_0")

    assert done.returncode == 1
    assert "failed: the pass counted no dispatch" in done.stdout
    assert "the same command again runs what is missing" in done.stdout


def test_another_command_does_not_mix_with_what_is_there(profiler: Profiler) -> None:
    profiler.run("-n", "vcopy", "-b", "12")
    other = profiler.run("-n", "vcopy", "-b", "12", program="uptime")
    forced = profiler.run("-n", "vcopy", "-b", "12", "--force", program="uptime")

    assert other.returncode == 2
    assert "holds counters of another request: its command was true" in other.stderr
    assert forced.returncode == 0, forced.stderr


def test_a_folder_of_somebody_else_is_never_removed(profiler: Profiler) -> None:
    mine = profiler.folder / "thesis"
    mine.mkdir()
    (mine / "chapter1.txt").write_text("precious")

    plain = profiler.run("--output-directory", "thesis")
    forced = profiler.run("--output-directory", "thesis", "--force")

    assert (plain.returncode, forced.returncode) == (2, 2)
    assert (mine / "chapter1.txt").read_text() == "precious"


def test_kernels_and_launches_are_chosen(profiler: Profiler) -> None:
    one = profiler.passes("-n", "one", "-b", "12", "-k", "vecCopy", "-d", "2:3")
    none = profiler.run("-n", "none", "-b", "12", "-k", "gemm")

    assert {each["dispatches"] for each in one.values()} == {2}
    assert none.returncode == 1
    assert "the pass counted no dispatch" in none.stdout


def test_several_processes_are_gathered(profiler: Profiler) -> None:
    passes = profiler.passes("-n", "many", "-b", "12", STANDIN_PROCESSES="3")

    assert {(each["dispatches"], each["processes"]) for each in passes.values()} == {(3, 3)}


def test_databases_hold_the_same_counters_and_are_kept_when_asked(profiler: Profiler) -> None:
    as_csv = profiler.passes("-n", "csv", "-b", "12")
    asked = ("--format-rocprof-output", "rocpd", "--retain-rocpd-output")
    as_rocpd = profiler.passes("-n", "rocpd", "-b", "12", *asked)

    folder = profiler.folder / "workloads"
    assert as_csv == as_rocpd
    for name in as_csv:
        texts = {(folder / way / "MI200" / f"{name}.csv").read_text() for way in ("csv", "rocpd")}
        assert len(texts) == 1
    assert len(list((folder / "rocpd").rglob("*_results.db"))) == 2
    assert list((folder / "csv").rglob("*_counter_collection.csv")) == []


def test_one_run_may_count_something_else_at_every_launch(profiler: Profiler) -> None:
    many = {"STANDIN_REPEATS": "20"}
    done = profiler.run("-n", "many", "--iteration-multiplexing", "kernel", "-q", **many)
    usual = profiler.run("-n", "usual", "-q", **many)

    assert (done.returncode, usual.returncode) == (0, 0), done.stderr
    folder = profiler.folder / "workloads"
    whole, parts = (metric_values(folder / name / "MI200") for name in ("usual", "many"))
    assert whole.keys() == parts.keys()
    # 60 launches of three kinds in 13 groups: each value is a mean over four or five of them.
    for metric in ("10.1.1", "17.1.0", "16.1.0"):
        assert parts[metric, "avg"] == pytest.approx(whole[metric, "avg"], rel=0.1)
    command = [*WAVESCOPE, "analyze", "-p", str(folder / "many" / "MI200"), "-b", "2", "--json"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    tables = {table["name"]: table for table in json.loads(shown)["tables"]}
    ((kernel, dispatches, groups, measured, fewest, interval, _),) = tables["0.3"]["rows"]
    assert kernel.startswith("vecCopy")
    assert (dispatches, groups, measured, fewest) == (60, 13, 13, 4)
    assert interval > 0
    command = [*WAVESCOPE, "analyze", "-p", str(folder / "many" / "MI200"), "-b", "0.4", "--json"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    counters = {table["name"]: table for table in json.loads(shown)["tables"]}["0.4"]["rows"]
    assert counters[0][4] == interval
    assert {row[2] for row in counters} >= {4, 5}
    assert [row[2:] for row in counters if row[1] == "SQ_WAVES"] == [[5, 16384, 0]]


def test_kernels_with_too_few_launches_are_named(profiler: Profiler) -> None:
    done = profiler.run("-n", "few", "--iteration-multiplexing")

    assert done.returncode == 0, done.stderr
    assert "too few times to meet all 13 groups" in done.stdout
    assert "(3)" in done.stdout


def test_counters_that_rocprofv3_does_not_know_are_left_out(profiler: Profiler) -> None:
    done = profiler.run("-n", "vcopy", "-b", "15.1", STANDIN_LISTS="yes")

    assert done.returncode == 0, done.stderr
    told = "rocprofv3 did not know 3 counters of the chip"
    assert told in " ".join(done.stdout.split())
    folder = profiler.folder / "workloads" / "vcopy" / "MI200"
    assert told in analysis_notes(folder)
    asked = "".join(path.read_text() for path in (folder / "perfmon").glob("*.txt"))
    assert "SQ_VMEM_TA_ADDR_FIFO_FULL" not in asked
    assert "TA_TA_BUSY_sum" in asked
    profiler.run("-n", "vcopy", "-b", "15.1")  # by a rocprofv3 that does not refuse them
    assert told not in analysis_notes(folder)


def test_counters_have_the_names_of_the_chip(profiler: Profiler) -> None:
    profiler.run("-n", "vcopy", "-b", "17.2", "-q")

    folder = profiler.folder / "workloads" / "vcopy" / "MI200"
    header = (folder / "pmc_perf.csv").read_text().partition("\n")[0]
    assert "TCC_EA_RDREQ_sum" in header
    assert "TCC_EA0_" not in header


def test_launches_that_a_pass_lacks_are_reported(profiler: Profiler) -> None:
    done = profiler.run("-n", "vcopy", "-b", "12", "7", STANDIN_FEWER="pmc_perf_0")

    folder = profiler.folder / "workloads" / "vcopy" / "MI200"
    assert done.returncode == 0, done.stderr
    notes = [line for line in (folder / "log.txt").read_text().splitlines() if "note: " in line]
    assert len(notes) == 2
    for name, note in zip(("SQ_INST_LEVEL_LDS", "SQ_LEVEL_WAVES"), notes, strict=True):
        assert f"{name}.csv: 1 of its dispatches were left out, as other passes lack them" in note
        assert note.partition("note: ")[2] in analysis_notes(folder)


def test_program_counters_are_sampled_for_their_panel(profiler: Profiler) -> None:
    passes = profiler.passes("-n", "vcopy", "-b", "21")

    assert passes["pc_sampling"]["outcome"] == "ok"
    folder = profiler.folder / "workloads" / "vcopy" / "MI200"
    command = [*WAVESCOPE, "analyze", "-p", str(folder), "-b", "21", "--json", "-q"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    tables = {table["name"]: table for table in json.loads(shown)["tables"]}
    rows = tables["21.1"]["rows"]
    assert [[cell for cell in row if cell in (3, 1)][:1] for row in rows] == [[3], [1]]


def test_program_counters_are_sampled_once(profiler: Profiler) -> None:
    first = profiler.passes("-n", "vcopy", "-b", "21")
    again = profiler.passes("-n", "vcopy", "-b", "21")
    same = profiler.passes("-n", "vcopy", "-b", "21", "--pc-sampling-method", "host_trap")
    finer = profiler.passes("-n", "vcopy", "-b", "21", "--pc-sampling-interval", "64")
    after = profiler.passes("-n", "vcopy", "-b", "21", "--resume")

    sampled = ["pc_sampling" in passes for passes in (first, again, same, finer, after)]
    assert sampled == [True, False, False, True, False]


def test_options_and_what_happened_are_written_down(profiler: Profiler) -> None:
    profiler.run("-n", "vcopy", "-b", "12", "-q", "--format-rocprof-output", "rocpd")

    folder = profiler.folder / "workloads" / "vcopy" / "MI200"
    options = (folder / "profiling_config.yaml").read_text().splitlines()
    assert 'filter_blocks: ["12"]' in options
    assert 'format_rocprof_output: "csv"' in options  # the joined file's form
    log = (folder / "log.txt").read_text().splitlines()
    assert log[0].endswith(": true")
    assert "pmc_perf_0: 3 dispatches, ok" in log[-1]


def test_what_a_roofline_needs_is_not_collected_twice(profiler: Profiler) -> None:
    first = profiler.passes("-n", "vcopy", "--roof-only")
    again = profiler.passes("-n", "vcopy", "--roof-only")

    assert len(first) == 3
    assert again == {}


def test_each_rank_of_a_real_mpi_job_has_a_folder(profiler: Profiler) -> None:
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not installed: apt-get install openmpi-bin")
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
    command += [*WAVESCOPE, "softgpu", "--chip", "gfx90a", "--"]
    command += [*WAVESCOPE, "profile", "--no-roof", "-n", "cfd", "-b", "12", "--", "true"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, cwd=profiler.folder,
        env=profiler.environment,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    folder = profiler.folder / "workloads" / "cfd"
    assert sorted(each.name for each in folder.iterdir()) == ["0", "1"]
    assert all((folder / rank / "pmc_perf.csv").is_file() for rank in "01")
    assert "2 passes" in done.stderr
    assert "--set" in done.stderr


def test_an_old_rocprofv3_is_named_before_anything_is_run(profiler: Profiler) -> None:
    done = profiler.run("-n", "old", "-b", "12", "-d", "1", STANDIN_OLD="yes")

    assert done.returncode == 4
    assert "is too old: it has no --kernel-iteration-range" in done.stderr
    assert not (profiler.folder / "workloads").exists()


def test_without_rocprofv3_it_is_said_what_to_install(profiler: Profiler) -> None:
    done = profiler.run("-n", "none", PATH=os.environ["PATH"])

    assert done.returncode == 4
    assert "rocprofv3 is not installed here" in done.stderr


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ("mpirun", "mpirun -n RANKS wavescope counters collect"),
        ("srun", "srun -n RANKS wavescope counters collect"),
    ],
)
def test_a_launcher_after_the_dashes_is_an_error(
    profiler: Profiler, program: str, shown: str
) -> None:
    done = profiler.run("-n", "ranks", program=program)

    assert done.returncode == 2
    assert shown in done.stderr


def test_lists_and_plans_need_no_gpu(tmp_path: Path) -> None:
    def shown(*arguments: str) -> dict[str, Any]:
        command = [*WAVESCOPE, "profile", "--arch", "gfx942", "--json", *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=300, check=True, cwd=tmp_path
        )
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    blocks = shown("--list-blocks")["tables"][0]["rows"]
    assert ["2", "sol", "System Speed-of-Light", 6] in blocks
    assert {row[1]: row[3] for row in blocks if row[0] in ("1", "4", "21")} == {
        "sysinfo": None, "roofline": 3, "pc_sampling": 1,
    }  # fmt: skip
    sets = shown("--list-sets")["tables"][0]["rows"]
    assert {row[0] for row in sets} == {
        "compute_thruput_util", "compute_thruput_flops", "mem_thruput", "launch_stats",
    }  # fmt: skip
    assert [row[2:] for row in sets if row[0] == "launch_stats"][:2] == [
        ["Grid Size", "7.1.0", "grid_size"],
        ["Workgroup Size", "7.1.1", "workgroup_size"],
    ]
    metrics = {table["name"]: table for table in shown("--list-available-metrics")["tables"]}
    assert len(metrics["metrics"]["rows"]) > 300
    assert shown("--plan")["facts"]["run_count"] == 13
    assert shown("--plan", "--roof-only")["facts"]["run_count"] == 3
    assert shown("--plan", "--set", "mem_thruput")["facts"]["run_count"] == 1
