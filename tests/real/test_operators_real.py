"""Operators of real traces: equal to the ids that the profiler itself wrote, and exact in sum."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import wavescope
from wavescope.analyze.operators import (
    OperatorOptions,
    OperatorPart,
    call_arguments,
    launching_operators,
    operators_result,
)
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
        events = json.load(stream)["traceEvents"]
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
