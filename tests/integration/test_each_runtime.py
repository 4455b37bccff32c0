"""Programs on each ROCm at hand: the machine's own and the fetched ones."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.recorded import PATIENCE_S, collector
from tests.runtimes import TestedRuntime, compiled_for, each_runtime, run_on
from tests.softgpu_programs import PROGRAMS, require_softgpu
from wavescope.load import open_trace


@each_runtime
def test_rocminfo_lists_the_gpus(runtime: TestedRuntime, tmp_path: Path) -> None:
    require_softgpu()
    # That of ROCm 5 asks lsmod for the driver, by a shell of its own.
    lsmod = tmp_path / "bin/lsmod"
    lsmod.parent.mkdir()
    lsmod.write_text("#!/bin/sh\necho amdgpu 1 0\n")
    lsmod.chmod(0o755)
    path = {"PATH": f"{lsmod.parent}:{os.environ['PATH']}"}

    gpus = ["--chip", "gfx90a", "--gpus", "2"]
    ran = run_on(runtime, tmp_path, gpus, "rocminfo", variables=path)

    assert ran.code == 0, ran.out + ran.err
    assert re.findall(r"^  Name: +(gfx\w+)", ran.out, re.MULTILINE) == ["gfx90a", "gfx90a"]


@each_runtime
def test_a_program_has_the_libraries_of_its_runtime_and_children_their_own(
    runtime: TestedRuntime, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = compiled_for(PROGRAMS / "which_libraries.c", runtime, tmp_path_factory)
    other = runtime.require()

    ran = run_on(runtime, tmp_path, [], program)

    assert ran.code == 0, ran.err
    library, hsa, name, child = ran.out.splitlines()
    assert (name, child) == (str(program), "child")
    if other is not None:
        assert Path(hsa).is_relative_to(other.root)
        (package,) = [p for p in other.manifest.packages if p.name == "libc6"]
        assert library == package.upstream_version


@each_runtime
def test_a_hip_program_copies_and_fills(
    runtime: TestedRuntime, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    require_softgpu()
    source = PROGRAMS / "hip_features.hip"
    program = compiled_for(source, runtime, tmp_path_factory, "--offload-arch=gfx90a")

    for subject in ("copies", "fills", "graphs"):
        ran = run_on(runtime, tmp_path, ["--gpus", "2"], program, subject)
        assert ran.code == 0, ran.out + ran.err


@each_runtime
def test_every_launch_is_recorded_under_the_programs_own_name(
    runtime: TestedRuntime, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    require_softgpu()
    collector()
    source = PROGRAMS / "hip_features.hip"
    program = compiled_for(source, runtime, tmp_path_factory, "--offload-arch=gfx90a")
    trace_file = tmp_path / "trace.db"

    done = subprocess.run(
        [
            *(sys.executable, "-m", "wavescope", "trace", "-m", "full", "-o", str(trace_file)),
            *(f"--softgpu=gfx90a,gpus=2,runtime={runtime.name}", str(program), "threads"),
        ],
        env=runtime.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    with open_trace(str(trace_file)) as trace:
        names = Counter(trace.ops.strings("name"))
        assert names["touch(int*)"] == 4000
        assert trace.processes.strings("command") == [f"{program} threads"]


@each_runtime
def test_versions_are_what_the_runtime_is_called(runtime: TestedRuntime) -> None:
    other = runtime.require()

    if other is not None:
        assert other.versions.startswith(f"ROCr {runtime.name}.")
