"""`wavescope ranks` on files of simulated jobs: verdicts, bad files, engines, pages."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import wavescope
from tests.builders import a_trace
from tests.rank_jobs import Fault, FaultKind, Topology, simulated
from wavescope.errors import UnreadableInputError
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.columns import OLDER_THAN_KEPT

WAVESCOPE = (sys.executable, "-m", "wavescope")
RANKS, SLOW = 6, 2
PATIENCE_S = 120


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders `slow`, where one rank computes slower, and `even`, where none does."""
    folder = tmp_path_factory.mktemp("jobs")
    slow = Fault(FaultKind.SLOW_COMPUTE, ranks=(SLOW,), size=0.12)
    simulated(Topology.DDP, [slow], seed=11, ranks=RANKS, steps=10).write(folder / "slow", "db")
    simulated(Topology.DDP, seed=11, ranks=RANKS, steps=10).write(folder / "even", "db")
    return folder


def ranks(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*WAVESCOPE, "ranks", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def told(*arguments: str | Path) -> dict[str, Any]:
    done = ranks(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def rows(result: dict[str, Any], name: str) -> list[dict[str, Any]]:
    (table,) = (each for each in result["tables"] if each["name"] == name)
    columns = [column["name"] for column in table["columns"]]
    return [dict(zip(columns, row, strict=True)) for row in table["rows"]]


def test_the_slow_rank_is_named_with_its_cause(jobs: Path) -> None:
    result = told(jobs / "slow")

    (culprit,) = rows(result, "stragglers")
    assert result["facts"]["verdict"] == "culprit"
    assert (culprit["culprit"], culprit["cause"]) == (f"rank {SLOW}", "slower_compute")
    accounted = sum(row["excess_ns"] for row in rows(result, "delays"))
    assert accounted == sum(row["delay_ns"] for row in rows(result, "steps"))


def test_text_names_it_too_and_how_to_look_there(jobs: Path) -> None:
    done = ranks(jobs / "slow")

    assert f"rank {SLOW} holds the others up" in done.stdout
    assert "wavescope view" in done.stdout
    assert "more with --table NAME:" in done.stderr


@pytest.mark.parametrize(("folder", "code"), [("slow", 1), ("even", 0)])
def test_as_a_check_the_exit_code_tells_whether_somebody_is_late(
    jobs: Path, folder: str, code: int
) -> None:
    assert ranks(jobs / folder, "--fail", "-q").returncode == code


def test_as_a_check_one_rank_alone_is_inconclusive(jobs: Path) -> None:
    assert ranks(jobs / "even" / "rank_0.db", "--fail", "-q").returncode == 5


def test_python_says_the_same_as_the_command(jobs: Path) -> None:
    assert wavescope.ranks(jobs / "slow").to_json() == told(jobs / "slow")


def test_a_cluster_says_the_same_byte_for_byte(jobs: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs wavescope[cluster]")
    folder = tmp_path / "job"
    shutil.copytree(jobs / "slow", folder)
    cut_in_half(folder / "rank_4.db")
    here = ranks(folder, "--json", "--workers", "2")
    cluster = ranks(folder, "--json", "--workers", "2", "--scheduler", "local")

    assert (here.returncode, cluster.returncode) == (0, 0), cluster.stderr
    assert cluster.stdout == here.stdout


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_ctrl_c_while_a_cluster_starts_leaves_nothing(jobs: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs wavescope[cluster]")
    with subprocess.Popen(
        [*WAVESCOPE, "ranks", str(jobs / "even"), "--scheduler", "local"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as command:
        while not any(tmp_path.glob("wavescope-dask-*")) and command.poll() is None:
            time.sleep(0.005)
        time.sleep(0.3)  # into the start of the worker, which takes a second more
        os.killpg(command.pid, signal.SIGINT)
        out, said = command.communicate(timeout=PATIENCE_S)

    assert (command.returncode, out) == (130, "")
    assert said.splitlines()[-1] == "interrupted"
    assert "resource_tracker" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_rank_that_kept_its_newest_part_has_lost_nothing(tmp_path: Path) -> None:
    options = {4: ("--last", 60), 5: ("--max-size", 30)}
    for rank in range(6):
        option, count = options.get(rank, ("--last", 0))
        maker = a_trace().with_process(41 + rank, rank=rank)
        for start_ns in range(0, 40_000, 1_000):
            maker.with_kernel("gemm", start_ns, start_ns + 500)
        maker.with_coverage(
            40 + count, 40, process=0, skipped=count, reason=OLDER_THAN_KEPT[option]
        )
        write_trace([maker.builder], tmp_path / f"rank_{rank}.db")

    result = told(tmp_path)

    found = [(row["lost_count"], row["older_count"]) for row in rows(result, "ranks")]
    assert found == [(0, 0)] * 4 + [(0, 60), (0, 30)]
    assert [row["metric"] for row in rows(result, "outliers")] == []
    assert "rank-outlier" not in {finding["id"] for finding in result["findings"]}


def test_bad_files_cost_one_row_each(jobs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    shutil.copytree(jobs / "slow", folder)
    cut_in_half(folder / "rank_0.db")
    (folder / "rank_1.db").write_bytes(b"")
    (folder / "rank_3.db").write_text("not a trace")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    result = told(*sorted(folder.iterdir()), folder / "rank_9.db")

    problems = {Path(row["path"]).name: row["problem"] for row in rows(result, "files")}
    assert {name for name, problem in problems.items() if problem} == {
        "rank_0.db",
        "rank_1.db",
        "rank_3.db",
        "rank_9.db",
    }
    assert [row["rank"] for row in rows(result, "ranks")] == [2, 4, 5]
    assert result["facts"]["unreadable_file_count"] == 4
    assert "files-unreadable" in {finding["id"] for finding in result["findings"]}
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_nothing_that_can_be_read_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "rank_0.db").write_text("not a trace")

    done = ranks(tmp_path / "rank_0.db")

    assert done.returncode == 3
    assert done.stderr.count("rank_0.db") == 1
    assert "Traceback" not in done.stderr
    with pytest.raises(UnreadableInputError, match=r"rank_0\.db"):
        wavescope.ranks(tmp_path / "rank_0.db")


def test_a_folder_without_traces_says_what_was_passed_over(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("not a trace")

    done = ranks(tmp_path)

    assert done.returncode == 3
    assert f"cannot read {tmp_path}: there are no traces in it" in done.stderr
    assert "passed over: files that are no traces by their names (1)" in done.stderr


def test_a_file_that_is_not_there_is_told_once_with_one_hint(tmp_path: Path) -> None:
    missing = tmp_path / "nope"

    done = ranks(missing, tmp_path / "nothing")

    assert done.returncode == 3
    error, hint = done.stderr.splitlines()
    assert error.removeprefix(f"error: cannot read {missing}: ") == (
        "there is no such file (1 more file could not be read either)"
    )
    assert hint == "hint: check the name; relative paths begin at the current folder"


@pytest.mark.parametrize(
    ("suffix", "sentence"),
    [
        ("json", "file is cut short: the events up to there were read"),
        ("json.gz", "file is cut short: the events up to there were read"),
        ("pftrace", "the file ends within a packet: read up to there"),
    ],
)
def test_a_half_written_file_that_is_read_as_far_as_it_goes_says_so(
    tmp_path: Path, suffix: str, sentence: str
) -> None:
    paths = simulated(Topology.DDP, seed=11, ranks=3, steps=6).write(tmp_path, suffix)
    cut_in_half(paths[1])

    result = told(tmp_path)

    noted = [row["path"] for row in rows(result, "files") if sentence in (row["notes"] or "")]
    assert noted == [str(paths[1])]
    (finding,) = (each for each in result["findings"] if each["id"] == "files-repaired")
    assert finding["title"] == "1 of 3 files was read in part, or repaired"
    assert paths[1].name in finding["evidence"]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("--rank-pattern", "rank"), 2, "has no group that is the rank"),
        (("--rank-pattern", "("), 2, "is not a regular expression"),
        (("--scheduler", "tcp://127.0.0.1:1"), 4, "127.0.0.1:1"),
        (("--scheduler", "local", "--ssh", "a,b"), 2, "exclude each other"),
        (("--rank-pattern", r"gpu(\d+)"), 3, "hint: for example --rank-pattern"),
        (("--memory-limit", "much"), 2, "is not a size"),
        (("--base", "nowhere"), 3, "nowhere"),
    ],
)
def test_wrong_calls_get_a_sentence(
    jobs: Path, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    if "--scheduler" in arguments:
        pytest.importorskip("distributed", reason="needs wavescope[cluster]")
    done = ranks(jobs / "even", *arguments)

    assert done.returncode == code, done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_page_is_written_and_never_over_another_file(jobs: Path, tmp_path: Path) -> None:
    page = tmp_path / "ranks.html"

    assert f"wrote {page}" in ranks(jobs / "slow", "-o", page).stderr
    written = page.read_text()
    assert f"rank {SLOW} holds the others up" in written
    refused = ranks(jobs / "even", "-o", page)
    assert refused.returncode == 2
    assert page.read_text() == written
    assert ranks(jobs / "even", "-o", page, "--force", "-q").returncode == 0
    assert "no rank makes the others wait" in page.read_text()


def test_an_earlier_run_is_compared_with(jobs: Path) -> None:
    result = told(jobs / "slow", "--base", jobs / "even")

    changed = {row["metric"]: row for row in rows(result, "compared") if row["part"] == "job"}[
        "median step"
    ]
    assert changed["new_value"] > 1.05 * changed["base_value"]
    assert changed["change_value"] == changed["new_value"] - changed["base_value"]


def test_a_bad_file_of_an_earlier_run_is_a_row(jobs: Path, tmp_path: Path) -> None:
    empty = tmp_path / "rank_9.db"
    empty.touch()

    result = told(jobs / "slow", "--base", jobs / "even", empty)

    assert [row["path"] for row in rows(result, "files") if row["problem"]] == [str(empty)]
    assert "files-unreadable" in {finding["id"] for finding in result["findings"]}


def test_patterns_of_names_choose_files_and_ranks(jobs: Path, tmp_path: Path) -> None:
    for rank in range(RANKS):
        target = tmp_path / f"node{rank // 3}" / f"gpu{rank % 3}.db"
        target.parent.mkdir(exist_ok=True)
        shutil.copy(jobs / "even" / f"rank_{rank}.db", target)
    pattern = r"node(?P<host>\d+)/gpu(?P<rank>\d+)"

    result = told(f"{tmp_path}/node1/*.db", "--rank-pattern", pattern)

    assert [row["rank"] for row in rows(result, "ranks")] == [0, 1, 2]


def test_a_worker_without_memory_is_a_sentence(jobs: Path) -> None:
    done = ranks(jobs / "even", "--memory-limit", "40M", "--workers", "1")

    assert done.returncode == 3
    assert "5 more files could not be read either" in done.stderr
    assert "Traceback" not in done.stderr
