"""Kernel names of real traces: nothing unreadable, nothing collapsed that is worth keeping apart."""

from __future__ import annotations

import csv
import gzip
import re
from pathlib import Path

import orjson
import pytest

from wavescope.names.demangle import demangle
from wavescope.names.kernel_names import short_name

_KERNEL_EVENT = re.compile(rb'"cat":\s*"kernel",\s*"name":\s*("(?:[^"\\]|\\.)*")')
"""In all of these files the name follows the category; parsing them whole would take five times as long."""


@pytest.fixture(scope="module")
def symbols(shared_data_folder: Path) -> dict[str, str]:
    """Mangled name -> demangled name as rocprofv3 wrote it, of every kernel it saw loaded."""
    path = shared_data_folder / "rocprofv3" / "908_results.json.gz"
    document = orjson.loads(gzip.decompress(path.read_bytes()))
    rows = document["rocprofiler-sdk-tool"][0]["kernel_symbols"]
    return {row["kernel_name"]: row["formatted_kernel_name"] for row in rows if row["kernel_name"]}


@pytest.fixture(scope="module")
def shared_data_folder() -> Path:
    folder = Path(__file__).resolve().parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real traces are not here: expected in ../shared/data beside the repository")
    return folder


@pytest.fixture(scope="module")
def kineto_names(shared_data_folder: Path) -> set[str]:
    texts: set[bytes] = set()
    for path in (shared_data_folder / "kineto").glob("*/*.json.gz"):
        texts.update(_KERNEL_EVENT.findall(gzip.decompress(path.read_bytes())))
    return set(map(orjson.loads, texts))


def test_demangles_as_the_vendor_tool_does(symbols: dict[str, str]) -> None:
    mangled = {name: text for name, text in symbols.items() if name.startswith("_Z")}
    # rocprofv3 gives up on names with a compiler's suffix; blanks between `>` are a matter of taste.
    readable = {name: text for name, text in mangled.items() if not text.startswith("_Z")}

    assert len(readable) == 4434
    different = [
        n
        for n, text in readable.items()
        if demangle(n).replace("> >", ">>") != text.replace("> >", ">>")
    ]
    assert different == []


def test_mangled_and_demangled_names_are_shortened_alike(symbols: dict[str, str]) -> None:
    different = [
        mangled
        for mangled, text in symbols.items()
        if not text.startswith("_Z") and short_name(mangled) != short_name(text)
    ]
    assert different == []


def test_short_names_are_short(symbols: dict[str, str], kineto_names: set[str]) -> None:
    assert len(kineto_names) > 600
    for full in [*symbols, *kineto_names]:
        name = short_name(full)
        assert 0 < len(name) <= 85, full
        assert "<" not in name or name.startswith("cpy_"), full
        assert not re.search(r"_Z|\.kd|void |anonymous|lambda|operator", name), full
        assert short_name(name) == name


def test_every_elementwise_kernel_says_its_operation(symbols: dict[str, str]) -> None:
    names = {short_name(full) for full in symbols if "elementwise_kernel" in full}

    assert len(names) == 133
    assert all("(" in name for name in names)
    assert "elementwise_kernel (manual_unroll)" not in names


def test_tensile_kernels_are_named_by_layout_and_tile(symbols: dict[str, str]) -> None:
    gemms = {full: short_name(full) for full in symbols if re.match(r"Cijk_A\w+_MT\d+x", full)}

    assert len(gemms) > 3000
    assert all(
        re.fullmatch(r"Cijk_A[a-z]+_B[a-z]+ \(MT\d+x\d+x\d+\)", name) for name in gemms.values()
    )


def test_llama_cpp_kernels_keep_their_quantization(shared_data_folder: Path) -> None:
    path = shared_data_folder / "rocprofv3" / "gfx1151" / "decode_kernel_trace.csv"
    with path.open(newline="") as file:
        names = {short_name(row["Kernel_Name"]) for row in csv.DictReader(file)}

    assert {"mul_mat_vec_q (q4_K)", "mul_mat_vec_q (q5_K)", "mul_mat_vec_q (q8_0)"} <= names
    assert {"k_bin_bcast (add)", "unary_op_kernel (sigmoid)", "quantize_q8_1"} <= names


def test_graph_decode_of_vllm_and_sglang_is_readable(kineto_names: set[str]) -> None:
    names = {short_name(full) for full in kineto_names}

    assert {
        "aiter::add_rmsnorm_quant",
        "ck_tile::Rmsnorm2dFwd",
        "ck_tile::Rmsnorm2dFwd (Rmsnorm2dFusedAdd 1)",
        "paged_attention (ll4mi_QKV_mfma16)",
        "sgl_hip::activation::act_and_mul_kernel (silu)",
        "triton_poi (constant_pad_nd_moe_forward)",
        "vectorized_elementwise (gelu)",
    } <= names
