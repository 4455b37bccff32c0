"""Files of a job's ranks: which are found, and which rank they are named for."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.builders import a_trace
from wavescope.api import rank_files
from wavescope.api.rank_files import RankFile, RankFrom, search_rank_files
from wavescope.api.rank_names import host_in_name, natural_key, ranks_in_names
from wavescope.errors import UnreadableInputError, UsageError
from wavescope.formats import exporter_for, write_source
from wavescope.model.paths import PathLike

CHROME = '{"traceEvents": []}'
CSV = "Kind,Agent_Id,Queue_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Start_Timestamp,End_Timestamp\n"


def found_rank_files(given: Sequence[PathLike], pattern: str = "") -> list[RankFile]:
    return search_rank_files(given, pattern).files


def write(path: Path, text: str = CHROME) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def names(files: list[RankFile], top: Path) -> list[str]:
    return [str(Path(file.path).relative_to(top)) for file in files]


def test_traces_are_told_by_content_and_others_are_counted(tmp_path: Path) -> None:
    for number in (10, 2, 1):
        write(tmp_path / "deep" / f"rank{number}.json")
    with gzip.open(tmp_path / "rank0.trace", "wt") as file:
        file.write(CHROME)
    database = tmp_path / "rank3.db"
    write_source(
        a_trace().with_kernel("gemm", 0, 1).builder, database, exporter_for(database), inputs=[]
    )
    write(tmp_path / "report.html", "<html>")
    write(tmp_path / "result.json", json.dumps({"title": "Ranks", "tables": []}))
    write(tmp_path / "job.log", "started")
    write(tmp_path / ".hidden" / "rank9.json")
    found = search_rank_files([tmp_path])

    assert names(found.files, tmp_path) == [
        "deep/rank1.json",
        "deep/rank2.json",
        "deep/rank10.json",
        "rank0.trace",
        "rank3.db",
    ]
    assert [file.rank for file in found.files] == [1, 2, 10, 0, 3]
    assert all(file.rank_from is RankFrom.NAME for file in found.files)
    assert found.sentence == (
        "passed over: hidden files (1), files that are no traces by their names (2), "
        "files that are no traces by their content (1)"
    )


def test_damaged_files_that_are_named_like_traces_stay(tmp_path: Path) -> None:
    write(tmp_path / "rank0.json", "")
    write(tmp_path / "rank1.db", "SQLite format 3\0 and nothing more")
    (tmp_path / "rank2.json.gz").write_bytes(b"\x1f\x8b\x08damaged")
    write(tmp_path / "notes", "")

    assert names(found_rank_files([tmp_path]), tmp_path) == [
        "rank0.json",
        "rank1.db",
        "rank2.json.gz",
    ]


def test_what_is_named_counts_whatever_it_is(tmp_path: Path) -> None:
    given = [write(tmp_path / "strange.txt", "?"), str(tmp_path / "missing.json")]

    assert sorted(file.path for file in found_rank_files(given)) == sorted(given)


def test_patterns_of_names_are_expanded(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"node{number}" / "trace.json")
        write(tmp_path / f"node{number}" / "trace.log", "?")
    found = found_rank_files([f"{tmp_path}/node[01]/*"])

    assert names(found, tmp_path) == ["node0/trace.json", "node1/trace.json"]
    assert [file.rank for file in found] == [0, 1]
    with pytest.raises(UsageError, match="nothing matches"):
        found_rank_files([f"{tmp_path}/nowhere*"])


def test_a_file_with_the_signs_of_a_pattern_is_a_file(tmp_path: Path) -> None:
    assert len(found_rank_files([write(tmp_path / "rank[1].json")])) == 1


def test_a_file_counts_once_however_often_it_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "rank1.json")
    (tmp_path / "other.json").symlink_to(path)

    assert len(found_rank_files([path, tmp_path, f"{tmp_path}/*.json"])) == 1


def test_links_in_folders_are_not_followed(tmp_path: Path) -> None:
    job, elsewhere = tmp_path / "job", tmp_path / "elsewhere"
    write(job / "rank0.json")
    write(elsewhere / "rank1.json")
    (job / "loop").symlink_to(job)
    (job / "out").symlink_to(elsewhere)
    (job / "rank1.json").symlink_to(elsewhere / "rank1.json")
    found = search_rank_files([job])

    assert names(found.files, job) == ["rank0.json"]
    assert found.passed_over["links"] == 3


def test_a_folder_of_rocprofv3_is_one_input_or_one_for_each_process(tmp_path: Path) -> None:
    write(tmp_path / "rank0" / "node" / "7_kernel_trace.csv", CSV)
    write(tmp_path / "rank0" / "node" / "7_agent_info.csv", "Node_Id,Logical_Node_Id,Agent_Type\n")
    for pid in (8, 9):
        write(tmp_path / "rank1" / f"{pid}_kernel_trace.csv", CSV)

    assert names(found_rank_files([tmp_path]), tmp_path) == [
        "rank0/node",
        "rank1/8_kernel_trace.csv",
        "rank1/9_kernel_trace.csv",
    ]


def test_nothing_found_is_an_error_that_says_what_was_seen(tmp_path: Path) -> None:
    write(tmp_path / "a.log", "?")
    with pytest.raises(UnreadableInputError, match="there are no traces") as told:
        found_rank_files([tmp_path])

    assert told.value.hint == "passed over: files that are no traces by their names (1)"


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_files, "MOST_FILES", 3)
    for number in range(4):
        write(tmp_path / f"rank{number}.json")

    for given in ([tmp_path], [f"{tmp_path}/*"], sorted(tmp_path.iterdir())):
        with pytest.raises(UsageError, match="more than 3 files"):
            found_rank_files(given)


def test_a_folder_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "rank0.json")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0)
    found = search_rank_files([tmp_path])

    assert names(found.files, tmp_path) == ["rank0.json"]
    if os.geteuid():
        assert found.passed_over["folders that cannot be read"] == 1


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["a/rank3.json", "a/rank0.json"], [3, 0]),
        (["rank_3/trace.json", "rank_10/trace.json"], [3, 10]),
        (["x_rank-03.db", "x_rank-04.db"], [3, 4]),
        (["run.r1.db", "run.r0.db"], [1, 0]),
        (["worker1/t.json", "worker2/t.json"], [1, 2]),
        (["t.0.json", "t.1.json"], [0, 1]),
        (["run2/trace_0_of_4.json", "run2/trace_3_of_4.json"], [0, 3]),
        (["dp0_tp1.json", "dp1_tp0.json", "dp0_tp0.json", "dp1_tp1.json"], [1, 2, 0, 3]),
        (["PP1-TP0.db", "PP0-TP0.db"], [1, 0]),
        # Both may be the slowest to change: nobody knows which rank it is.
        (["dp0_pp1.json", "dp1_pp0.json", "dp0_pp0.json", "dp1_pp1.json"], [None] * 4),
        # The process and the time, not the rank.
        (
            ["n1_4512.1711964646123.pt.trace.json", "n1_4513.1711964646129.pt.trace.json"],
            [None, None],
        ),
        (["a/4512_results.json", "a/4513_results.json"], [None, None]),
        (["a/rank1.json", "b/rank1.json"], [None, None]),
        (["rank1.json", "other.json"], [None, None]),
        (["rank1/rank2.json", "rank2/rank1.json"], [None, None]),
        (["a1b2.json", "a2b1.json"], [None, None]),
        (["trace.json"], [None]),
        (["rank7.json"], [7]),
        (["rank99999999999999999999.json", "rank1.json"], [None, None]),
        ([], []),
    ],
)
def test_ranks_in_names(paths: list[str], expected: list[int | None]) -> None:
    assert ranks_in_names(paths) == expected


def test_the_host_that_pytorch_names_a_file_for() -> None:
    assert host_in_name("logs/gpu-node_7_4512.1711964646123.pt.trace.json.gz") == "gpu-node_7"
    assert host_in_name("rank_3.json") == ""


def test_a_pipe_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "rank0.json")
    os.mkfifo(tmp_path / "rank1.json")

    found = search_rank_files([tmp_path])

    assert names(found.files, tmp_path) == ["rank0.json"]
    assert found.sentence == "passed over: pipes, sockets and devices (1)"


def test_natural_order() -> None:
    given = ["r10", "r2", "a", "r2b", "7", "r02"]

    assert sorted(given, key=natural_key) == ["7", "a", "r2", "r02", "r2b", "r10"]


def test_a_pattern_tells_rank_and_host(tmp_path: Path) -> None:
    paths = [write(tmp_path / name) for name in ("n3-g07.json", "n3-gx.json", "other.json")]
    first, second, third = found_rank_files(paths, r"n(?P<host>\d+)-g(?P<rank>\w+)")

    assert first == RankFile(paths[0], 7, "3", RankFrom.PATTERN)
    assert (second.rank, second.problem) == (None, "the rank in its path is no number: x")
    assert third.problem.startswith("its path does not match")
    assert found_rank_files(paths[:1], r"-g(\d+)")[0].rank == 7


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("(", "put a backslash before"),
        ("x{99999999999}", "put a backslash before"),
        ("rank", "(?P<rank>"),
        ("(?P<host>x)", "(?P<rank>"),
        ("(?P<a>1)(2)", "(?P<rank>"),
    ],
)
def test_patterns_that_cannot_be_are_refused(tmp_path: Path, pattern: str, hint: str) -> None:
    with pytest.raises(UsageError, match="--rank-pattern") as told:
        found_rank_files([write(tmp_path / "a.json")], pattern)

    assert hint in told.value.hint
