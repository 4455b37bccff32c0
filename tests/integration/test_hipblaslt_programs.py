"""hipBLASLt's own benchmark on ROCm 7: its kernels are recorded under their own names."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.executed import differences, traced_dispatches
from tests.llama import WAVESCOPE, EngineRun
from tests.recorded import PATIENCE_S
from tests.runtimes import NamedRuntime

pytestmark = [pytest.mark.runtimes, pytest.mark.engine]

RUNTIME = NamedRuntime("7.2+hipblaslt")
PRODUCTS = 5
PROGRAM = f"hipblaslt-bench -m 256 -n 128 -k 64 --precision f16_r -j 0 -i {PRODUCTS}"
TENSILE = re.compile(r"Cijk_Ailk_Bljk_HHS_\w*?MT\d+x\d+x\d+_")


@pytest.mark.parametrize("mode", ["standard", "hip"])
@pytest.mark.parametrize("interception", ["runtime", "own"])
def test_its_kernels_are_recorded_by_name(interception: str, mode: str, tmp_path: Path) -> None:
    RUNTIME.require()
    softgpu = f"--softgpu=gfx90a,runtime={RUNTIME.name},truth={tmp_path}/truth.csv"
    options = ["-m", mode, "--interception", interception, "-o", f"{tmp_path}/trace.db"]

    done = subprocess.run(
        [*WAVESCOPE, "trace", softgpu, *options, *PROGRAM.split()],
        env=RUNTIME.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    run = EngineRun(tmp_path / "trace.db", tmp_path / "truth.csv", done.stderr)
    traced = traced_dispatches(run.trace)
    assert differences(run.dispatches(), traced) == []
    names = [op.name for ops in traced.values() for op in ops]
    assert sum(TENSILE.match(name) is not None for name in names) >= PRODUCTS
