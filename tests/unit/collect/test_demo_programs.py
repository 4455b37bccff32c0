"""The programs of the demo: what they lack, how they are made ready, whose recordings are theirs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.recorded import collector
from wavescope.collect.demo.programs import DEMO_PROGRAMS, DemoProgram
from wavescope.collect.machine import Machine
from wavescope.collect.runtimes.packages import Package
from wavescope.collect.runtimes.runtime import Manifest, write_manifest

LLAMA, HIP, PYTHON = DEMO_PROGRAMS


def test_a_real_engine_comes_first() -> None:
    assert [program.name for program in DEMO_PROGRAMS] == ["llama", "hip", "python"]


def test_llama_without_its_runtime_is_told_how_to_be_had(tmp_path: Path) -> None:
    collector()
    environment = {"WAVESCOPE_RUNTIMES": str(tmp_path)}

    missing = LLAMA.why_not_recordable(Machine(environment=environment))

    assert missing == (
        "the runtime 6.4+llama was not fetched (wavescope softgpu --fetch 6.4+llama)"
    )


def test_llama_is_made_ready_with_a_model(tmp_path: Path) -> None:
    demo = LLAMA.prepared(tmp_path, Machine())

    (model,) = tmp_path.iterdir()
    assert model.read_bytes()[:4] == b"GGUF"
    assert demo.command[:3] == ("llama-bench", "-m", str(model))
    assert demo.softgpu.startswith("gfx90a,runtime=6.4+llama")
    assert LLAMA.is_its_command(shlex.join(demo.command))


def a_plain_machine(folder: Path) -> Machine:
    """A machine without ROCm and without a compiler; its runtimes are in `folder`/runtimes."""
    environment = {"WAVESCOPE_RUNTIMES": str(folder / "runtimes")}
    return Machine(folder / "root", environment, lambda _: None, lambda: "", folder)


def fetched(folder: Path, name: str) -> None:
    """A runtime as `wavescope softgpu --fetch` leaves it, of empty files."""
    libraries = folder / "runtimes" / name / "root/usr/lib/x86_64-linux-gnu"
    libraries.mkdir(parents=True)
    for file in ("ld-linux-x86-64.so.2", "libhsa-runtime64.so.1"):
        (libraries / file).touch()
    packages = (Package("libamdhip64-6", f"{name}.3-5", "amd64", 1, ""),)
    write_manifest(
        folder / "runtimes" / name, Manifest(name, "forky", "file:/archive", "", packages, {})
    )


def test_python_without_a_runtime_is_told_how_to_be_had(tmp_path: Path) -> None:
    collector()

    assert PYTHON.why_not_recordable(a_plain_machine(tmp_path)) == (
        "there is no HIP runtime (wavescope softgpu --fetch 6.4 gets one)"
    )


def test_python_runs_on_the_newest_fetched_runtime_without_a_compiler(tmp_path: Path) -> None:
    collector()
    machine = a_plain_machine(tmp_path)
    fetched(tmp_path, "6.1")
    fetched(tmp_path, "6.4")

    assert HIP.why_not_recordable(machine) == "the software GPU needs an HSA runtime"
    assert PYTHON.why_not_recordable(machine) == ""
    demo = PYTHON.prepared(tmp_path, machine)
    assert demo.softgpu.startswith("gfx90a,gpus=2,runtime=6.4,durations=")
    assert demo.command[0] == sys.executable
    assert PYTHON.is_its_command(shlex.join(demo.command))


def test_python_runs_on_the_machines_own_runtime_first(tmp_path: Path) -> None:
    collector()
    machine = a_plain_machine(tmp_path)
    fetched(tmp_path, "6.4")
    libraries = machine.root / "opt/rocm/lib"
    libraries.mkdir(parents=True)
    for file in ("libhsa-runtime64.so.1", "libamdhip64.so.6"):
        (libraries / file).touch()

    assert PYTHON.prepared(tmp_path, machine).softgpu.startswith("gfx90a,gpus=2,durations=")


@pytest.mark.parametrize("program", DEMO_PROGRAMS, ids=lambda program: program.name)
@pytest.mark.parametrize(
    "command", ["", "llama-bench -m model.gguf -p 512", "./app llm_inference", "python3 serve.py"]
)
def test_other_commands_are_not_the_demos(program: DemoProgram, command: str) -> None:
    assert not program.is_its_command(command)
