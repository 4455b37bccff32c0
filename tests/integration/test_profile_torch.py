"""`wavescope profile --torch-trace`: real torch on the CPU, kernels by the stand-in of rocprofv3."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.softgpu_programs import PROGRAMS, require_softgpu
from wavescope.analyze.counters.torch_operators import chosen_operators
from wavescope.errors import UsageError
from wavescope.formats.counters import dispatch_operators, write_operators
from wavescope.formats.counters.torch_operators import (
    CONSOLIDATED_COLUMNS,
    NO_OPERATOR,
    operator_dispatches,
    passes_with_operators,
)

WAVESCOPE = [sys.executable, "-m", "wavescope"]
NET = """
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)

    def forward(self, x):
        return F.relu(self.conv(x))

x = torch.ones(1, 1, 28, 28)
net = Net()
for _ in range(2):
    net(x)
"""
FORWARD = "nn.Module.Net.forward"
MARKER_COLUMNS = "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp"
COUNTER_COLUMNS = (
    "Correlation_Id,Dispatch_Id,Agent_Id,Process_Id,Thread_Id,Kernel_Name,Counter_Name,"
    "Counter_Value,Start_Timestamp,End_Timestamp"
)


def a_pass(folder: Path) -> None:
    """Two nested ranges on thread 7; one dispatch launched in each, one elsewhere, one unknown."""
    markers = [
        'M,"nn.Module.Net.forward @train.py:9",1,7,0,100,200',
        'M,"torch.relu @net.py:3",1,7,0,120,140',
        'M,"torch.relu @net.py:3",1,7,0,150,160',
    ]
    calls = [f"H,hipLaunchKernel,1,7,{number},{time},{time + 1}" for number, time in
             ((1, 130), (2, 145), (3, 155), (4, 300))]  # fmt: skip
    counters = [f'{number},{number},Agent 1,1,7,"k{number}",SQ_WAVES,{number},5000,5100'
                for number in range(1, 5)]  # fmt: skip
    counters.append('5,5,Agent 1,1,8,"k5",SQ_WAVES,5,125,130')
    for kind, header, rows in (
        ("marker_api_trace", MARKER_COLUMNS, markers),
        ("hip_api_trace", MARKER_COLUMNS, calls),
        ("counter_collection", COUNTER_COLUMNS, counters),
    ):
        text = "\n".join([header, *rows]) + "\n"
        (folder / f"torch_trace_pmc_perf_0_1_{kind}.csv").write_text(text)


def test_dispatches_belong_to_the_operator_that_launched_them(tmp_path: Path) -> None:
    a_pass(tmp_path)

    assert passes_with_operators(tmp_path) == ["pmc_perf_0"]
    found = {each.kernel: each.call for each in operator_dispatches(tmp_path, "pmc_perf_0")}
    assert {kernel: (call.path, call.context) for kernel, call in found.items()} == {
        "k1": ("nn.Module.Net.forward/torch.relu", "1@net.py:3"),
        "k2": ("nn.Module.Net.forward", "1@train.py:9"),
        "k3": ("nn.Module.Net.forward/torch.relu", "2@net.py:3"),
        "k4": (NO_OPERATOR, ""),
        "k5": (NO_OPERATOR, ""),
    }
    assert (found["k3"].start_ns, found["k3"].end_ns) == (150, 160)


def test_the_consolidated_file_has_the_documented_columns(tmp_path: Path) -> None:
    a_pass(tmp_path)

    assert write_operators(tmp_path, {"pmc_perf_0": 5, "pmc_perf_1": 9}) == 5
    text = (tmp_path / "torch_trace" / "consolidated.csv").read_text().splitlines()
    rows = list(csv.DictReader(text))
    assert text[0] == ",".join(CONSOLIDATED_COLUMNS)
    assert rows[0] == {
        "Operator_Name": "nn.Module.Net.forward/torch.relu", "Context_Id": "1@net.py:3",
        "Kernel_Name": "k1", "Counter_Name": "SQ_WAVES", "Counter_Value": "1",
        "Start_Timestamp_function": "120", "End_Timestamp_function": "140",
        "Start_Timestamp_kernel": "5000", "End_Timestamp_kernel": "5100",
    }  # fmt: skip
    assert dispatch_operators(tmp_path)[1] == "nn.Module.Net.forward"


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        ([], ["a/torch.conv2d", "torch.conv2d", "torch.relu"]),
        (["all"], ["a/torch.conv2d", "torch.conv2d", "torch.relu"]),
        (["*conv2d"], ["a/torch.conv2d", "torch.conv2d"]),
        (["*/*conv2d"], ["a/torch.conv2d"]),
        (["torch.relu"], ["torch.relu"]),
    ],
)
def test_patterns_match_from_the_right(patterns: list[str], chosen: list[str]) -> None:
    names = ["torch.relu", "torch.conv2d", "a/torch.conv2d", "torch.relu"]

    assert chosen_operators(patterns, names) == chosen


def test_a_pattern_that_matches_nothing_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"no operator matches \*gemm"):
        chosen_operators(["*gemm"], ["torch.relu"])


@pytest.mark.torch
def test_operators_of_a_real_model_are_profiled(tmp_path: Path, shared_data: Path) -> None:
    require_softgpu()
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed: make test-torch")
    library = tmp_path / "libroctx_log.so"
    source = PROGRAMS / "roctx_log.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    (tmp_path / "net.py").write_text(NET)
    environment = {
        **os.environ,
        "PATH": f"{PROGRAMS / 'rocprofv3_counters'}:{os.environ['PATH']}",
        "STANDIN_WORKLOAD": str(shared_data / "compute-workloads" / "MI200" / "vcopy"),
        "STANDIN_ROCTX": str(library),
    }
    command = [*WAVESCOPE, "softgpu", "--chip", "gfx90a", "--", *WAVESCOPE, "profile", "--no-roof"]
    command += ["-n", "net", "-b", "12", "--torch-trace", "-q", "--", sys.executable, "net.py"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path,
        env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout

    analyze = [*WAVESCOPE, "analyze", "-p", "workloads/net/MI200", "--json"]
    listed = subprocess.run(
        [*analyze, "--list-torch-operators"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    operators = {row[0]: row[1] for row in json.loads(listed.stdout)["tables"][0]["rows"]}
    assert operators[f"{FORWARD}/nn.Module.Conv2d.forward/torch.nn.functional.conv2d"] == 2
    assert operators[f"{FORWARD}/torch.nn.functional.relu"] == 2
    assert operators["torch.ones"] == 1
    metrics = subprocess.run(
        [*analyze, "--torch-operator", "*relu", "-b", "12"], capture_output=True, text=True,
        check=True, cwd=tmp_path,
    )  # fmt: skip
    names = [table["name"] for table in json.loads(metrics.stdout)["tables"]]
    assert f"{FORWARD}/torch.nn.functional.relu: 12.1" in names
