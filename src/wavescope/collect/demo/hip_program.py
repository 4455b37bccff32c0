"""The demo's HIP program: shaped like LLM inference, built and run where ROCm is installed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from wavescope.collect.demo.prepared import PreparedDemo, example_file, with_durations
from wavescope.collect.machine import Machine
from wavescope.collect.recording.libraries import collector_library
from wavescope.collect.recording.options import RecordMode
from wavescope.collect.softgpu import softgpu_trouble
from wavescope.errors import MachineError

_NAME = "llm_inference"
_CHIP = "gfx90a"
_GPU_COUNT = 2
_BUILD_SECONDS = 300


def why_not_recordable(machine: Machine) -> str:
    """What the program lacks to be recorded on this machine, or nothing."""
    if collector_library() is None:
        return "this installation has no collector"
    if trouble := softgpu_trouble(machine):
        return str(trouble)
    if not machine.program("hipcc"):
        return "hipcc is not installed"
    return "" if example_file(f"{_NAME}.hip") else "the demo's program is not installed"


def is_its_command(command: str) -> bool:
    """Whether a recorded command was this program's."""
    return command.endswith(f"/{_NAME}")


def prepared(folder: Path) -> PreparedDemo:
    """The program compiled into `folder`."""
    return PreparedDemo(
        command=(str(_built(folder)),),
        softgpu=with_durations(f"{_CHIP},gpus={_GPU_COUNT}", f"{_NAME}.durations"),
        mode=RecordMode.HIP,
    )


def _built(folder: Path) -> Path:
    source = example_file(f"{_NAME}.hip")
    assert source is not None
    program = folder / _NAME
    command = ["hipcc", "-O1", f"--offload-arch={_CHIP}", "-o", str(program), str(source), "-ldl"]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "HIP_PLATFORM": "amd"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_BUILD_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineError(str(error)) from error
    if done.returncode or not program.is_file():
        lines = done.stderr.strip().splitlines()
        raise MachineError(lines[-1] if lines else f"hipcc ended with exit code {done.returncode}")
    return program
