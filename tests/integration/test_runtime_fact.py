"""A trace says on which HSA runtime it was recorded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.executed import built, run_on_gpu
from tests.recorded import PATIENCE_S
from tests.runtimes import runtime_under_test
from wavescope.formats import open_trace

pytestmark = pytest.mark.recording


def test_release_versions_and_file(programs: Path, tmp_path: Path) -> None:
    run = run_on_gpu(built("hsa_load.c", programs), 1, 1, 10, "none", "exit", folder=tmp_path)

    (fact,) = run.process.facts("runtime")
    library = Path(fact["path"])
    assert library.is_file()
    if (tested := runtime_under_test()) is not None:
        assert library.is_relative_to(tested.root)
    assert not library.is_symlink()
    assert library.name == f"libhsa-runtime64.so.{fact['library']}"
    assert fact["version"] == "1.1"
    assert fact["rocm"]
    with open_trace(run.session) as trace:
        spelled = trace.metadata["runtime hsa"]
        assert spelled.startswith(f"ROCm {fact['rocm']}, version 1.1")
        assert spelled.endswith(str(library))
        assert trace.metadata.get("runtime hsa: limits", "") == "; ".join(fact["limits"])
    shown = subprocess.run(
        [sys.executable, "-m", "wavescope", "info", str(run.session)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert f"ROCm {fact['rocm']}" in shown.stdout
