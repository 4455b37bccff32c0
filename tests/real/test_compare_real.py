"""MI300X against H100, the same models: operators, categories and kernels that match."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wavescope.analyze.compare.comparison import CompareOptions, Part, compare
from wavescope.analyze.compare.figures import FigureOptions
from wavescope.load import open_trace
from wavescope.model.result import Result, Value

QWEN = "Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"
BERT = "gaunernst_bert-small-uncased__1016001.json.gz"


def compared(folder: Path, model: str, **options: object) -> Result:
    paths = [folder / "kineto" / chip / model for chip in ("mi300", "h100")]
    traces = [open_trace(path) for path in paths]
    try:
        return compare(traces, CompareOptions(**options))  # type: ignore[arg-type]
    finally:
        for trace in traces:
            trace.close()


def total(values: list[Value]) -> int:
    return sum(value for value in values if isinstance(value, int))


@pytest.mark.parametrize("model", [QWEN, BERT])
@pytest.mark.parametrize("by", ["operators", "categories"])
def test_the_waterfall_adds_up_to_the_difference_of_the_spans(
    shared_data: Path, model: str, by: str
) -> None:
    truth = json.loads((shared_data / "kineto" / "reference.json").read_text())
    spans = [truth[f"{chip}/{model}"]["total_ns"] for chip in ("mi300", "h100")]

    table = compared(shared_data, model).table(f"waterfall_{by}")

    assert total(table.column("delta_ns")) == spans[1] - spans[0]
    assert (table.column("running_ns")[0], table.column("running_ns")[-1]) == tuple(spans)


def test_operators_are_the_same_on_both_vendors(shared_data: Path) -> None:
    table = compared(shared_data, BERT).table("operators")
    calls = {row["name"]: (row["base_calls"], row["new_calls"]) for row in table.records()}

    assert calls == {
        "aten::scaled_dot_product_attention": (4, 4),
        "aten::linear": (26, 26),
        "aten::gelu": (5, 5),
        "aten::layer_norm": (10, 10),
        "aten::add": (9, 9),
        "aten::add_": (1, 1),
        "aten::embedding": (3, 3),
        "aten::eq": (1, 1),
        "aten::all": (1, 1),
        "aten::is_nonzero": (1, 1),
    }


def test_ops_launched_before_the_trace_get_their_operator_too(shared_data: Path) -> None:
    result = compared(shared_data, QWEN)

    names = result.table("operators").column("name")
    assert all(str(name).startswith("aten::") for name in names)
    traces = result.table("traces").records()
    assert [round(float(row["inferred_percent"] or 0), 1) for row in traces] == [30.5, 29.8]
    assert [finding.id for finding in result.findings] == ["launches-missing"]


def test_every_kernel_of_bert_finds_its_counterpart(shared_data: Path) -> None:
    rows = compared(shared_data, BERT).table("kernels").records()

    assert {row["status"] for row in rows} == {"both", "renamed"}
    renamed = {row["base_name"]: row["name"] for row in rows if row["base_name"]}
    assert renamed["attn_fwd"] == "pytorch_flash::flash_fwd_kernel (hd64)"
    assert all(row["base_calls"] == row["new_calls"] and row["category"] for row in rows), (
        "the same model launches each as often"
    )


def test_two_gemm_tiles_became_one_kernel(shared_data: Path) -> None:
    rows = compared(shared_data, QWEN).table("kernels").records()

    (gemm,) = [row for row in rows if row["status"] == "merged"]
    assert set(str(gemm["base_name"]).split(" + ")) == {
        "Cijk_Alik_Bljk (MT256x128x64)",
        "Cijk_Alik_Bljk (MT128x224x64)",
    }
    assert (gemm["base_calls"], gemm["new_calls"]) == (242, 241)


def test_only_what_the_trace_launched(shared_data: Path) -> None:
    result = compared(
        shared_data, QWEN, parts=(Part.OPERATOR,), figures=FigureOptions(linked_only=True)
    )

    assert result.table("traces").column("op_count") == [1054, 1198]
    assert result.findings == []
