"""The demo's program in Python: kernels that no compiler made, on each runtime."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from tests.recorded import PATIENCE_S, collector
from tests.runtimes import CACHE, TESTED
from tests.softgpu_programs import require_hip
from tests.traced import assert_same_ops, executed, traced_kernels
from wavescope.formats import open_trace
from wavescope.names.demangle import demangle

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LAYERS, TOKENS, REQUESTS, GPUS = 2, 3, 2, 2


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, as a module."""
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module("llm_inference")


@pytest.mark.recording
def test_it_is_traced_as_it_ran(tmp_path: Path, program: ModuleType) -> None:
    require_hip()
    collector()
    specification = f"gfx90a,gpus={GPUS},runtime={TESTED},truth={tmp_path}/truth.csv"
    sizes = (str(LAYERS), str(TOKENS), str(REQUESTS))

    done = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "wavescope",
                "trace",
                "-m",
                "hip",
                f"--softgpu={specification}",
            ),
            *("-o", f"{tmp_path}/trace.db", sys.executable, f"{EXAMPLES}/llm_inference.py", *sizes),
        ],
        env=os.environ | CACHE,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert f"{GPUS} GPUs served {REQUESTS} requests of {TOKENS} tokens" in done.stdout
    with open_trace(tmp_path / "trace.db") as trace:
        ((_, found),) = traced_kernels(trace).items()
        assert_same_ops(found, executed(tmp_path / "truth.csv"))
        assert own_kernels(found) == expected_kernels(program)
        assert set(trace.markers.strings("name")) >= {"prefill", "decode 0", "sample"}


def own_kernels(ops: list[tuple[int, str, int, int]]) -> Counter[str]:
    """How often each kernel ran; newer runtimes also copy by kernels, which are their own."""
    names = (name for _, name, _, _ in ops)
    return Counter(name for name in names if not name.startswith("__amd_rocclr"))


def expected_kernels(program: ModuleType) -> Counter[str]:
    """How often each kernel runs by what the program says of itself."""
    counted: Counter[str] = Counter()
    for launches, times in (
        (program.PREFILL_LAYER, LAYERS),
        (program.DECODE_LAYER, LAYERS * TOKENS),
        ((program.SAMPLING,), 1 + TOKENS),
    ):
        for launch in launches:
            counted[demangle(launch.name)] += times * REQUESTS * GPUS
    return counted


def test_its_kernels_are_those_of_the_compiled_program(program: ModuleType) -> None:
    source = (EXAMPLES / "llm_inference.hip").read_text()
    compiled = set(re.findall(r"__global__ void (\w+)\(", source)) - {"GEMM"}
    tiles = set(re.findall(r"^GEMM_KERNEL\((\w+)\)", source, re.MULTILINE))

    names = {demangle(name) for name in program.KERNELS}
    assert {found[1] for name in names if (found := re.search(r"_MT(\w+?)_MI", name))} == tiles
    others = {name for name in names if "_MT" not in name}
    assert {re.split(r"[<(]", name)[0].split("::")[-1].split()[-1] for name in others} == compiled


def test_a_refusal_of_hip_ends_it_with_a_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "llm_inference.py")],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "ROCR_VISIBLE_DEVICES": "none"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert re.fullmatch(r"(hip\w+|there is no HIP runtime): .+\n", done.stderr), done.stderr
