"""Operators of real traces: equal to the ids that the profiler itself wrote, and exact in sum."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest

import wavescope
from tests.reference.launching_operators import launching_operators
from wavescope.analyze.calls.call_inputs import call_arguments
from wavescope.analyze.compare.figures import Figures, TraceFigures
from wavescope.analyze.operators import OperatorOptions, OperatorPart, operators_result
from wavescope.model.op_kinds import OpKind

KINETO = "kineto"
EAGER = (
    "h100/gaunernst_bert-small-uncased__1016001.json.gz",
    "mi300/gaunernst_bert-small-uncased__1016001.json.gz",
    "h200/h200_dense_eager.json.gz",
    "truth/owlv2_mi300x.json.gz",
    "truth/timesformer_h100.json.gz",
    "truth/training_nccl.json.gz",
    "truth/vit_mi300x.json.gz",
)
ALL = (
    *EAGER,
    "h200/h200_graph_decode.json.gz",
    "mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "sglang/sglang_Qwen3-8B_decode.json.gz",
    "truth/flux_capture_mi300x.json.gz",
    "truth/normalization_mi300x.json.gz",
    "truth/sglang_extend_mi300x.json.gz",
    "truth/training_control.json.gz",
    "truth/training_test.json.gz",
    "truth/vllm_piecewise_mi300x.json.gz",
    "vllm/vllm_decode_graph_execution.json.gz",
)
DIVISION = ("operator_ns", "outside_operator_ns", "graph_replay_ns", "unlinked_ns")


def events_of(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path) as stream:
        events = orjson.loads(stream.read())["traceEvents"]
    return [event for event in events if event.get("ph") == "X"]


@pytest.mark.parametrize("name", EAGER)
def test_the_launching_operator_has_the_external_id_of_the_kernel(
    shared_data: Path, name: str
) -> None:
    """The profiler writes into a kernel the id of the operator that was innermost at its launch."""
    path = shared_data / KINETO / name
    by_correlation = {
        event["args"]["correlation"]: event["args"].get("External id")
        for event in events_of(path)
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
    }
    with wavescope.open(path) as trace:
        rows = launching_operators(trace)
        documents, place = call_arguments(trace, rows[rows >= 0])
        found = iter([documents[index]["External id"] for index in place])
        checked = 0
        for row, correlation in zip(rows.tolist(), trace.ops["correlation"].tolist(), strict=True):
            if row >= 0:
                external_id, told = next(found), by_correlation[correlation]
                # Ids of annotations are no operators': those of the operator inside are later.
                if told is not None:
                    assert external_id == told
                    checked += 1

    assert checked > 0.95 * (rows >= 0).sum()


@pytest.mark.parametrize("name", ALL)
def test_every_part_adds_up_to_the_time_of_all_kernels(shared_data: Path, name: str) -> None:
    path = shared_data / KINETO / name
    with wavescope.open(path) as trace:
        kernels = (trace.op_kind == OpKind.KERNEL).nonzero()[0]
        total_ns = int(trace.op_length_ns[kernels].sum())

        result = operators_result(trace, kernels, OperatorOptions(tuple(OperatorPart)))

    assert sum(int(result.facts[fact] or 0) for fact in DIVISION) == total_ns
    for table in result.tables:
        assert sum(int(value or 0) for value in table.column("total_ns")) == total_ns


@pytest.mark.parametrize("name", ALL)
def test_compare_and_summary_tell_the_same_operators(shared_data: Path, name: str) -> None:
    with wavescope.open(shared_data / KINETO / name) as trace:
        working = (trace.op_kind != OpKind.BARRIER).nonzero()[0]
        rows = operators_result(trace, working).table("operators").records()
        compared = TraceFigures(trace).by_operator

    assert compared is not None
    expected = {name: figures for name, figures in compared.items() if not name.startswith("(")}
    assert expected == {
        row["name"]: Figures(int(row["op_count"] or 0), int(row["total_ns"] or 0))
        for row in rows
        if not str(row["name"]).startswith("(")
    }


def test_the_replay_of_a_recorded_capture_is_joined_kernel_by_kernel(shared_data: Path) -> None:
    """993 of the 994 captured launches show in the one replay; the last was cut off."""
    with wavescope.open(shared_data / KINETO / "truth/flux_capture_mi300x.json.gz") as trace:
        result = operators_result(trace, options=OperatorOptions(tuple(OperatorPart)))
        launches = trace.calls.strings("name")
        graph_launch = trace.calls["id"][launches.index("hipGraphLaunch")]
        replayed = trace.links["op"][trace.links["call"] == graph_launch]
        lengths = trace.op_length_ns[replayed - int(trace.ops["id"][0])]

    assert len(replayed) == 993
    assert result.facts["joined_graph_replay_ns"] == int(lengths.sum())
    assert result.facts["graph_replay_ns"] == 0
    shapes = {
        (row["name"], row["input_dims"]): row["op_count"]
        for row in result.table("shapes").records()
    }
    # 38 single blocks of the model, each with one product of this size: only the replay has them.
    assert shapes["aten::mm", "768x15360, 15360x3072, 768x3072"] == 38


def test_collectives_are_as_the_kernels_themselves_are_annotated(shared_data: Path) -> None:
    path = shared_data / KINETO / "truth/training_nccl.json.gz"
    expected: dict[tuple[str, int, int], list[float]] = {}
    for event in events_of(path):
        told = event.get("args", {})
        if event.get("cat") == "kernel" and "Collective name" in told:
            size = told["In msg nelems"] * {"Float": 4, "Long": 8}[told["dtype"]]
            key = (told["Collective name"], told["Group size"], size)
            expected.setdefault(key, []).append(event["dur"])

    result = wavescope.summary(path)

    rows = result.table("collectives").records()
    found = {(row["collective"], row["group_size"], row["message_bytes"]): row for row in rows}
    assert set(found) == set(expected)
    for key, durations in expected.items():
        row = found[key]
        assert row["op_count"] == len(durations)
        assert row["total_ns"] == pytest.approx(1000 * sum(durations), abs=3)
        assert row["shortest_ns"] == pytest.approx(1000 * min(durations), abs=1)
        # Two ranks: an all-reduce has the factor 2 (2 - 1) / 2 = 1, as a broadcast has.
        assert row["bus_gb_per_s"] == row["algorithm_gb_per_s"]
    gpu = result.table("gpus").records()[0]
    assert sum(int(row["exposed_ns"] or 0) for row in rows) == gpu["exposed_communication_ns"]
