"""Categories of real traces: hardly anything is "other"."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import wavescope
from wavescope.analyze.ops.op_labels import categories
from wavescope.names.kernel_names import OTHER, meaning_of

MOST_OTHER_PERCENT = 1.0


def _traces(folder: Path) -> list[Path]:
    return [
        *sorted((folder / "kineto").glob("*/*.json.gz")),
        folder / "rocprofv3" / "908_results.json.gz",
        *sorted((folder / "rocprofv3" / "gfx1151").glob("*_kernel_trace.csv")),
        *sorted((folder / "rpd").glob("*.rpd")),
    ]


def test_the_share_of_other_is_small_in_every_trace(shared_data: Path) -> None:
    shares = {}
    for path in _traces(shared_data):
        with wavescope.open(path) as trace:
            shares[str(path)] = categories(trace).facts["other_percent"]

    assert shares
    assert max(float(share or 0) for share in shares.values()) <= MOST_OTHER_PERCENT, shares


def test_most_kernels_that_were_only_loaded_are_known_too(shared_data: Path) -> None:
    path = shared_data / "rocprofv3" / "908_results.json.gz"
    document = json.loads(gzip.decompress(path.read_bytes()))
    symbols = document["rocprofiler-sdk-tool"][0]["kernel_symbols"]
    names = {row["formatted_kernel_name"] for row in symbols if row["formatted_kernel_name"]}
    unknown = [name for name in names if meaning_of(name).category == OTHER]

    assert 100 * len(unknown) < MOST_OTHER_PERCENT * len(names)


def test_mi300x_and_h100_of_one_model_have_comparable_shares(shared_data: Path) -> None:
    name = "Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"
    found = []
    for chip in ("mi300", "h100"):
        with wavescope.open(shared_data / "kineto" / chip / name) as trace:
            found.append({row[0] for row in categories(trace).tables[0].rows})

    assert found[0] == found[1] == {"GEMM", "attention", "elementwise", "copy/fill", "reduction"}
