"""Which libcupti a recorded program is given, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wavescope.collect.cuda_driver import driver_cuda, has_nvidia
from wavescope.collect.cuda_libraries import (
    CudaPart,
    chosen_library,
    found_libraries,
    version_text,
)
from wavescope.collect.machine import Machine

CUPTI_VARIABLE = "WAVESCOPE_CUPTI"
"""The library that the collector opens where the program has none of its own loaded."""
GET_CUPTI = "pip install nvidia-cuda-cupti (for CUDA 12: nvidia-cuda-cupti-cu12) beside the program"


def cupti_for(command: Sequence[str], machine: Machine) -> Path | None:
    """The library that fits program and driver; None also where there is no NVIDIA driver."""
    if not has_nvidia(machine):
        return None
    if asked := machine.environment.get(CUPTI_VARIABLE):
        return Path(asked)
    found = found_libraries(CudaPart.CUPTI, command, machine)
    if not found:
        return None
    chosen = chosen_library(found, driver_cuda(machine))
    return chosen.path.absolute() if chosen else None


def why_no_cupti(command: Sequence[str], machine: Machine) -> str:
    """Why programs on this machine's NVIDIA GPU cannot be recorded, or nothing."""
    driver = driver_cuda(machine)
    found = found_libraries(CudaPart.CUPTI, command, machine)
    if machine.environment.get(CUPTI_VARIABLE) or chosen_library(found, driver):
        return ""
    if not found:
        return f"no libcupti was found for the program: {GET_CUPTI}"
    listed = "; ".join(f"{library.words}: {library.fit(driver).value}" for library in found)
    return (
        f"no libcupti fits the driver, which runs CUDA {version_text(driver)} ({listed}): "
        f"{GET_CUPTI}"
    )
