"""Merging loses nothing: strings, calls, links, markers, ranks; equal GPU numbers stay apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.formats import open_trace
from wavescope.formats.wavescope.writing import RankFrom, write_trace
from wavescope.formats.wavescope.writing.merge_plan import plan_merge
from wavescope.model.source import read_metadata
from wavescope.model.trace import Trace


def rank(number: int, **agent: str) -> TraceMaker:
    maker = (
        a_trace()
        .with_process(100 + number, rank=number)
        .with_kernel(f"only_{number}", 0, 10)
        .with_kernel("shared", 10, 30)
        .with_marker(f"step {number}", 0, 30)
        .with_call("hipLaunchKernel", 0, 1, pid=100 + number, args=f"n={number}")
        .with_link(1, 2)
        .with_counter(2, "SQ_WAVES", float(number))
        .with_coverage(2, 2, gpu=0, process=0)
    )
    maker.builder.path = f"rank_{number}.db"
    return maker.with_agent(0, **agent) if agent else maker


def merged(tmp_path: Path, *makers: TraceMaker, **options: RankFrom) -> Trace:
    write_trace([maker.builder for maker in makers], tmp_path / "merged.db", **options)
    return open_trace(tmp_path / "merged.db")


def test_every_row_of_every_rank_is_there(tmp_path: Path) -> None:
    trace = merged(tmp_path, rank(0), rank(1))

    assert trace.ops.strings("name") == ["only_0", "shared", "only_1", "shared"]
    assert trace.ops["id"].tolist() == [1, 2, 3, 4]
    assert trace.markers.strings("name") == ["step 0", "step 1"]
    assert trace.calls.strings("args") == ["n=0", "n=1"]
    assert trace.links["call"].tolist() == [1, 2]
    assert trace.links["op"].tolist() == [2, 4]
    assert trace.counters["op"].tolist() == [2, 4]


def test_ranks_stay_known(tmp_path: Path) -> None:
    trace = merged(tmp_path, rank(0), rank(1))

    assert trace.processes["rank"].tolist() == [0, 1]
    assert trace.processes["pid"].tolist() == [100, 101]
    assert trace.processes.strings("origin") == ["rank_0.db", "rank_1.db"]
    assert trace.ops["process"].tolist() == [0, 0, 1, 1]
    assert trace.calls["process"].tolist() == [0, 1]
    assert trace.coverage["process"].tolist() == [0, 1]


def test_equal_gpu_numbers_are_different_gpus(tmp_path: Path) -> None:
    trace = merged(tmp_path, rank(0), rank(1))

    assert trace.ops["gpu"].tolist() == [0, 0, 1, 1]
    assert trace.agents["gpu"].tolist() == [0, 1]
    assert trace.agents["local_index"].tolist() == [0, 0]
    assert trace.coverage["gpu"].tolist() == [0, 1]


def test_a_gpu_of_the_same_host_and_uuid_is_one_gpu(tmp_path: Path) -> None:
    same = {"uuid": "GPU-7", "host": "node1"}

    trace = merged(tmp_path, rank(0, **same), rank(1, **same))

    assert trace.ops["gpu"].tolist() == [0, 0, 0, 0]


def test_the_same_uuid_on_another_host_is_another_gpu(tmp_path: Path) -> None:
    trace = merged(tmp_path, rank(0, uuid="0", host="node1"), rank(1, uuid="0", host="node2"))

    assert trace.ops["gpu"].tolist() == [0, 0, 1, 1]


def test_a_source_without_processes_becomes_one(tmp_path: Path) -> None:
    nobody = a_trace().with_kernel("k", 0, 1, process=-1)
    nobody.builder.path = "/some/where/node3_rank7.json"

    trace = merged(tmp_path, rank(0), nobody, rank_from=RankFrom.NAME)

    assert trace.processes["rank"].tolist() == [0, 7]
    assert trace.ops["process"].tolist() == [0, 0, 1]


def test_ranks_may_come_from_the_order(tmp_path: Path) -> None:
    first, second = (a_trace().with_kernel("k", 0, 1, process=-1) for _ in range(2))

    trace = merged(tmp_path, first, second, rank_from=RankFrom.ORDER)

    assert trace.processes["rank"].tolist() == [0, 1]


def test_facts_say_which_file_they_speak_of(tmp_path: Path) -> None:
    first = rank(0).with_metadata("command", "a")
    second = rank(1).with_metadata("command", "b")

    metadata = read_metadata(merged(tmp_path, first, second).source)

    assert metadata["rank_0.db: command"] == "a"
    assert metadata["rank_1.db: command"] == "b"


def test_notes_of_the_readers_stay_in_the_file(tmp_path: Path) -> None:
    maker = rank(0)
    maker.builder.notes.add("events were not understood", 3)

    metadata = read_metadata(merged(tmp_path, maker).source)

    assert metadata["note: events were not understood"] == "3"


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ([[0, 1], [0, 1]], [{0: 0, 1: 1}, {0: 2, 1: 3}]),
        ([[0], [1], [0]], [{0: 0}, {1: 1}, {0: 2}]),
        ([[5], [0, 5]], [{5: 5}, {0: 0, 5: 1}]),
    ],
)
def test_gpu_numbers_never_collide(gpus: list[list[int]], expected: list[dict[int, int]]) -> None:
    makers = []
    for numbers in gpus:
        maker = a_trace()
        for gpu in numbers:
            maker.with_kernel("k", 0, 1, gpu=gpu)
        makers.append(maker.builder)

    plans = plan_merge(makers, RankFrom.NOWHERE)

    assert [plan.gpus for plan in plans] == expected
