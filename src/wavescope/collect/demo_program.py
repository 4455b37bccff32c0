"""The demo's HIP program: shaped like LLM inference, built and run where ROCm is installed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from wavescope.collect.libraries import collector_library
from wavescope.collect.machine import Machine
from wavescope.collect.softgpu import softgpu_trouble
from wavescope.package_files import package_file

DEMO_NAME = "llm_inference"
GPU_COUNT = 2
_CHIP = "gfx90a"
_BUILD_SECONDS = 300


def demo_source() -> Path | None:
    """The program's source, or None when it was not installed."""
    return package_file("lib", "examples", f"{DEMO_NAME}.hip")


def demo_specification() -> str:
    """The software GPUs that the demo runs on, with the durations of its kernels."""
    durations = package_file("lib", "examples", f"{DEMO_NAME}.durations")
    parts = [_CHIP, f"gpus={GPU_COUNT}"]
    if durations is not None and "," not in str(durations):
        parts.append(f"durations={durations}")
    return ",".join(parts)


def why_not_recordable(machine: Machine) -> str:
    """What the demo lacks to be recorded on this machine, or nothing."""
    if collector_library() is None:
        return "this installation has no collector"
    if trouble := softgpu_trouble(machine):
        return str(trouble)
    if not machine.program("hipcc"):
        return "hipcc is not installed"
    return "" if demo_source() else "the demo's program is not installed"


def build_demo(folder: Path) -> tuple[Path | None, str]:
    """The program compiled into `folder`; or None and what the compiler said."""
    source = demo_source()
    assert source is not None
    program = folder / DEMO_NAME
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
        return None, str(error)
    if done.returncode or not program.is_file():
        lines = done.stderr.strip().splitlines()
        return None, lines[-1] if lines else f"hipcc ended with exit code {done.returncode}"
    return program, ""
