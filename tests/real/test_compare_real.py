"""MI300X against H100, the same models: operators, categories and kernels that match."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from wavescope.analyze.compare import CompareOptions, Part, compare
from wavescope.analyze.compare.figures import FigureOptions, TraceFigures
from wavescope.analyze.compare.renames import renames
from wavescope.analyze.operators import NOT_RECORDED
from wavescope.cli.main import main
from wavescope.formats import open_trace
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


@pytest.mark.parametrize(
    "path",
    [
        "h200/h200_dense_eager.json.gz",
        "mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
        "vllm/vllm_decode_graph_execution.json.gz",
        "sglang/sglang_Qwen3-8B_decode.json.gz",
    ],
)
def test_names_replaced_by_meaningless_ones_are_found_again(
    shared_data: Path, tmp_path: Path, path: str
) -> None:
    """Of every third kernel the name is replaced; position, operator and launch size remain."""
    original = shared_data / "kineto" / path
    renamed_file = tmp_path / "renamed.db"
    assert main(["convert", str(original), "-o", str(renamed_file), "-q"]) == 0
    replaced = replace_names(renamed_file)
    options = FigureOptions(full_names=True)

    with open_trace(original) as base, open_trace(renamed_file) as new:
        found = renames(TraceFigures(base, options), TraceFigures(new, options))

    assert len(replaced) >= 7
    assert {rename.base[0]: rename.new[0] for rename in found} == replaced


def replace_names(path: Path) -> dict[str, str]:
    """Give every third kernel of a trace file another name; the new name by the old."""
    query = (
        "SELECT DISTINCT s.id, s.string FROM rocpd_op o JOIN rocpd_string s "
        "ON s.id = o.description_id WHERE o.gpuId >= 0 ORDER BY s.id"
    )
    names = {}
    with sqlite3.connect(path) as connection:
        for number, (row, name) in enumerate(connection.execute(query).fetchall()):
            if number % 3 == 0:
                names[name] = f"q{number}"
                connection.execute(
                    "UPDATE rocpd_string SET string = ? WHERE id = ?", (names[name], row)
                )
    connection.close()
    return names


@pytest.mark.parametrize(
    ("path", "least_told"),
    [
        ("h200/h200_dense_eager.json.gz", 1.0),
        ("mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", 0.97),
        ("h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", 0.97),
    ],
)
def test_operators_of_ops_whose_launch_is_hidden(
    shared_data: Path, path: str, least_told: float
) -> None:
    with open_trace(shared_data / "kineto" / path) as trace:
        truth = operator_names(TraceFigures(trace))
        linked = np.flatnonzero(np.isin(trace.ops["id"], trace.links["op"]))
        linked = linked[np.argsort(trace.ops["start_ns"][linked], kind="stable")]
        hidden = linked[: len(linked) * 2 // 5]
        kept = ~np.isin(trace.links["op"], trace.ops["id"][hidden])
        told = operator_names(TraceFigures(trace.with_tables((trace.links.take(kept),))))

    known = told[hidden] != NOT_RECORDED
    assert known.mean() >= least_told
    assert (told[hidden][known] == truth[hidden][known]).all()


def operator_names(figures: TraceFigures) -> npt.NDArray[np.str_]:
    operators = figures.operators
    assert operators is not None
    return np.array(operators.names)[operators.of_op]


def test_only_what_the_trace_launched(shared_data: Path) -> None:
    result = compared(
        shared_data, QWEN, parts=(Part.OPERATOR,), figures=FigureOptions(linked_only=True)
    )

    assert result.table("traces").column("op_count") == [1054, 1198]
    assert result.findings == []
