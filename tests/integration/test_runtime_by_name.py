"""`--runtime NAME` and `runtime=NAME`: programs run on the ROCm that is named, not only on their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.program_builds import built_for
from tests.recorded import PATIENCE_S, collector
from tests.runtimes import CACHE, TESTED, require_chip, runtime_under_test
from tests.softgpu_programs import PROGRAMS, Ran, compiled, on_softgpu, require_softgpu
from wavescope.formats import open_trace

pytestmark = pytest.mark.recording


def run_by_name(folder: Path, options: list[str], *command: str | Path, **variables: str) -> Ran:
    require_softgpu()
    return on_softgpu(
        folder, ["--runtime", TESTED, *options], *command, variables=CACHE | variables
    )


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with an lsmod that knows the driver: rocminfo of ROCm 5 asks it."""
    lsmod = tmp_path / "bin/lsmod"
    lsmod.parent.mkdir()
    lsmod.write_text("#!/bin/sh\necho amdgpu 1 0\n")
    lsmod.chmod(0o755)
    return f"{lsmod.parent}:{os.environ['PATH']}"


def test_rocminfo_lists_the_gpus(tmp_path: Path, path: str) -> None:
    gpus = ["--chip", "gfx90a", "--gpus", "2"]
    ran = run_by_name(tmp_path, gpus, "rocminfo", PATH=path)

    assert ran.code == 0, ran.out + ran.err
    assert re.findall(r"^  Name: +(gfx\w+)", ran.out, re.MULTILINE) == ["gfx90a", "gfx90a"]


def test_rocminfo_lists_each_compute_die_of_a_partitioned_gpu(tmp_path: Path, path: str) -> None:
    require_chip("gfx942")
    gpus = ["--chip", "gfx942", "--gpus", "2", "--partition", "cpx"]
    ran = run_by_name(tmp_path, gpus, "rocminfo", PATH=path)

    assert ran.code == 0, ran.out + ran.err
    assert re.findall(r"^  Name: +(gfx\w+)", ran.out, re.MULTILINE) == ["gfx942"] * 16
    units = re.findall(
        r"^  Name: +gfx942.*?Compute Unit: +(\d+)", ran.out, re.MULTILINE | re.DOTALL
    )
    assert units == ["38"] * 16


def test_a_program_has_the_libraries_of_the_runtime_and_children_their_own(tmp_path: Path) -> None:
    program = built_for(None, PROGRAMS / "which_libraries.c", tmp_path / "which_libraries")
    other = runtime_under_test()

    ran = run_by_name(tmp_path, [], program)

    assert ran.code == 0, ran.err
    library, hsa, name, child = ran.out.splitlines()
    assert (name, child) == (str(program), "child")
    if other is not None:
        assert Path(hsa).is_relative_to(other.root)
        (package,) = [p for p in other.manifest.packages if p.name == "libc6"]
        assert library == package.upstream_version


def test_every_launch_is_recorded_under_the_programs_own_name(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    require_softgpu()
    collector()
    source = PROGRAMS / "hip_features.hip"
    program = compiled(source, tmp_path_factory, "--offload-arch=gfx90a")
    trace_file = tmp_path / "trace.db"

    done = subprocess.run(
        [
            *(sys.executable, "-m", "wavescope", "trace", "-m", "full", "-o", str(trace_file)),
            *(f"--softgpu=gfx90a,gpus=2,runtime={TESTED}", str(program), "threads"),
        ],
        env=os.environ | CACHE,
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


def test_versions_are_what_the_runtime_is_called() -> None:
    other = runtime_under_test()

    assert other is None or other.versions.startswith(f"ROCr {TESTED}.")
