"""`wavescope ceilings` under the real HIP runtime and its run-time compiler, on the software GPU."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.softgpu_programs import require_softgpu

KERNEL_NS = 5_000_000
VECTOR = {"HBM", "L2", "L1", "LDS", "FP16", "FP32", "FP64", "I32", "I64"}
MATRIX = {"MFMA-BF16", "MFMA-F16", "MFMA-F32", "MFMA-I8"}
CHIPS = {
    "gfx906": VECTOR,
    "gfx908": VECTOR | MATRIX,
    "gfx90a": VECTOR | MATRIX | {"MFMA-F64"},
    "gfx1030": VECTOR,
}


@pytest.fixture(autouse=True, scope="module")
def _software_gpu() -> None:
    require_softgpu()


def on_software_gpu(chip: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    wavescope = [sys.executable, "-m", "wavescope"]
    gpu = [*wavescope, "softgpu", "--chip", chip, "--kernel-ns", str(KERNEL_NS), "--"]
    command = [*gpu, *wavescope, "ceilings", "--memory", "64M", "--samples", "2", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("chip", CHIPS)
def test_every_unit_of_the_chip_is_measured(chip: str, tmp_path: Path) -> None:
    target = tmp_path / "roofline.csv"
    done = on_software_gpu(chip, "-o", str(target), "--json")

    assert done.returncode == 0, done.stderr
    rows = {row[0]: row for row in json.loads(done.stdout)["tables"][0]["rows"]}
    assert rows.keys() == CHIPS[chip]
    # One round lasts long enough: 64 MiB in 5 ms, which a busy machine makes longer, not shorter.
    assert 0 < rows["HBM"][1] <= (64 << 20) / KERNEL_NS * 1.001
    (line,) = csv.DictReader(target.read_text().splitlines())
    assert line["device"] == "0"
    assert float(line["HBMBwLow"]) <= float(line["HBMBw"]) <= float(line["hbmBwHigh"])
    assert float(line["HBMBw"]) == pytest.approx(rows["HBM"][1], rel=0.01)
    assert ("MFMAF64Flops" in line) == (chip == "gfx90a")


def test_only_what_is_asked_for_is_measured() -> None:
    done = on_software_gpu("gfx90a", "--only", "fp32,HBM", "--format", "csv", "-q")

    assert done.returncode == 0, done.stderr
    assert [row[0] for row in csv.reader(done.stdout.splitlines())] == ["ceiling", "FP32", "HBM"]


def test_an_unknown_ceiling_is_named() -> None:
    done = on_software_gpu("gfx90a", "--only", "L3")

    assert done.returncode == 2
    assert "there is no ceiling 'L3'" in done.stderr
    assert "HBM, L2" in done.stderr


def test_a_gpu_that_is_not_there_is_named() -> None:
    done = on_software_gpu("gfx90a", "--device", "7")

    assert done.returncode == 4
    assert "there is no GPU 7: GPUs are numbered 0 to 0" in done.stderr


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "roofline.csv"
    target.write_text("mine")

    done = on_software_gpu("gfx90a", "-o", str(target))

    assert done.returncode == 2
    assert target.read_text() == "mine"
