"""Programs that call rocBLAS: its kernels are recorded under their own names."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.executed import differences, traced_dispatches
from tests.llama import RUNTIME, EngineRun, require_llama, trace_command
from tests.program_builds import built_for
from tests.recorded import PATIENCE_S
from tests.softgpu_programs import PROGRAMS

pytestmark = [pytest.mark.runtimes, pytest.mark.engine]

PRODUCTS = 6
TENSILE = re.compile(r"Cijk_(\w+?)_(\w+?)_S\w*_MT\d+x\d+x\d+_")


@pytest.mark.parametrize("mode", ["standard", "full"])
def test_tensile_kernels_are_recorded_by_name(mode: str, tmp_path: Path) -> None:
    require_llama()
    source = PROGRAMS / "rocblas_products.hip"
    program = built_for(
        RUNTIME.require(), source, tmp_path / "rocblas_products", "--offload-arch=gfx90a"
    )

    done = subprocess.run(
        [*trace_command(tmp_path, mode), str(program), str(PRODUCTS), "256"],
        env=RUNTIME.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{PRODUCTS} products\n"
    traced = traced_dispatches(tmp_path / "trace.db")
    run = EngineRun(tmp_path / "trace.db", tmp_path / "truth.csv", done.stderr)
    assert differences(run.dispatches(), traced) == []
    found = [match for ops in traced.values() for op in ops if (match := TENSILE.match(op.name))]
    assert len(found) == PRODUCTS
    # Not transposed and transposed in turn: other kernels.
    assert {match[1] for match in found} == {"Ailk", "Alik"}
