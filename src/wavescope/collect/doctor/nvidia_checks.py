"""Checks for NVIDIA GPUs: driver, permissions, the libraries that recording and measuring need."""

from __future__ import annotations

import os
import sys

from wavescope.collect.cuda_driver import CudaDriver, asked_driver, has_nvidia
from wavescope.collect.cuda_libraries import (
    CudaPart,
    chosen_library,
    found_libraries,
    version_text,
)
from wavescope.collect.cuda_tools import NVTX_INJECTION, cuda_tools, foreign
from wavescope.collect.doctor.check import Check, CheckState
from wavescope.collect.found_cupti import CUPTI_VARIABLE, GET_CUPTI
from wavescope.collect.machine import Machine

_RECORDING = "recording NVIDIA GPUs"
_CEILINGS = "measured peaks of NVIDIA GPUs: `wavescope ceilings`"
_IN_CONTAINERS = "in a container add --gpus all"


def nvidia_checks(machine: Machine) -> list[Check]:
    """What recording NVIDIA GPUs needs; a single line where there is no sign of one."""
    if not has_nvidia(machine):
        return [Check("NVIDIA GPUs", _RECORDING, CheckState.MISSING, "no driver of NVIDIA's")]
    driver = asked_driver(machine)
    return [
        _gpus(driver),
        _driver(driver),
        _devices(machine, driver),
        _cupti(machine, driver),
        _nvrtc(machine, driver),
        _nvtx(machine),
        _other_tools(machine),
        _counters(machine),
    ]


def _gpus(driver: CudaDriver) -> Check:
    name = "NVIDIA GPUs"
    if driver.gpus:
        found = ", ".join(gpu.words for gpu in driver.gpus)
        return Check(name, _RECORDING, CheckState.OK, found)
    found = "programs see none" if driver.trouble else "the driver offers none"
    fix = f"see the check of the CUDA driver; look at CUDA_VISIBLE_DEVICES; {_IN_CONTAINERS}"
    return Check(name, _RECORDING, CheckState.MISSING, found, fix)


def _driver(driver: CudaDriver) -> Check:
    name, enables = "CUDA driver", f"{_RECORDING}; {_CEILINGS}"
    release = driver.release or "of unknown release"
    if driver.trouble:
        state = CheckState.NOT_USABLE if driver.library else CheckState.MISSING
        fix = f"install the NVIDIA driver and load it (nvidia-smi shows it); {_IN_CONTAINERS}"
        return Check(name, enables, state, f"{release}: {driver.trouble}", fix)
    found = f"{release}, runs CUDA up to {version_text(driver.cuda)} ({driver.library})"
    return Check(name, enables, CheckState.OK, found)


def _devices(machine: Machine, driver: CudaDriver) -> Check:
    """Recording needs no more rights than the program has: to open the devices."""
    name, enables = "/dev/nvidia*", "using NVIDIA GPUs from programs"
    devices = sorted((machine.root / "dev").glob("nvidia*"))
    files = [device for device in devices if not device.is_dir()]
    closed = [file.name for file in files if not os.access(file, os.R_OK | os.W_OK)]
    if closed and not driver.gpus:
        fix = "as root: chmod 0666 /dev/nvidia*, or set NVreg_DeviceFileMode of the nvidia module"
        found = f"no permission to open {', '.join(closed)}"
        return Check(name, enables, CheckState.NOT_USABLE, found, fix)
    if not files and not driver.gpus:
        fix = f"load the kernel driver (nvidia-modprobe -u -c 0); {_IN_CONTAINERS}"
        return Check(name, enables, CheckState.MISSING, "", fix)
    found = "can be opened; recording needs no other rights"
    return Check(name, enables, CheckState.OK, found)


def _cupti(machine: Machine, driver: CudaDriver) -> Check:
    """As wavescope's own Python sees it; a program may bring another."""
    name = "CUPTI"
    if asked := machine.environment.get(CUPTI_VARIABLE):
        return Check(name, _RECORDING, CheckState.OK, f"{CUPTI_VARIABLE}={asked}")
    found = found_libraries(CudaPart.CUPTI, (sys.executable,), machine)
    if not found:
        nothing = "none for wavescope's own Python; that of the program counts"
        return Check(name, _RECORDING, CheckState.MISSING, nothing, GET_CUPTI)
    chosen = chosen_library(found, driver.cuda)
    listed = "; ".join(
        f"{library.words}: {library.fit(driver.cuda).value}"
        + ("" if library.has_slices else ", lite mode has no slices with it")
        + (", taken for programs without one" if library is chosen else "")
        for library in found
    )
    if chosen is None:
        return Check(name, _RECORDING, CheckState.NOT_USABLE, listed, GET_CUPTI)
    return Check(name, _RECORDING, CheckState.OK, listed)


def _nvrtc(machine: Machine, driver: CudaDriver) -> Check:
    found = found_libraries(CudaPart.NVRTC, (sys.executable,), machine)
    if chosen := chosen_library(found, driver.cuda):
        return Check("NVRTC", _CEILINGS, CheckState.OK, chosen.words)
    fix = "install the CUDA toolkit (package cuda-nvrtc), or: pip install nvidia-cuda-nvrtc"
    return Check("NVRTC", _CEILINGS, CheckState.MISSING, "", fix)


def _nvtx(machine: Machine) -> Check:
    name, enables = "NVTX", "markers of CUDA programs"
    if tool := foreign(machine.environment, NVTX_INJECTION):
        found = f"another tool takes them: {NVTX_INJECTION}={tool}"
        fix = f"unset {NVTX_INJECTION}, or record with --other-tools off"
        return Check(name, enables, CheckState.NOT_USABLE, found, fix)
    return Check(name, enables, CheckState.OK, "nothing to install: wavescope answers for it")


def _other_tools(machine: Machine) -> Check:
    name, enables = "other CUDA tools", f"{_RECORDING}: one tool alone gets a program's records"
    if tools := cuda_tools(machine.environment):
        fix = "unset what they set, or record with --other-tools off"
        return Check(name, enables, CheckState.NOT_USABLE, ", ".join(tools), fix)
    return Check(name, enables, CheckState.OK, "none in this environment")


def _counters(machine: Machine) -> Check:
    """Restricted counters are no lack: recordings do not read any."""
    lines = machine.text("proc/driver/nvidia/params").splitlines()
    settings = dict(line.split(": ", 1) for line in lines if ": " in line)
    words = {
        "1": "for administrators only (NVreg_RestrictProfilingToAdminUsers=0 opens them)",
        "0": "for every user",
    }
    said = settings.get("RmProfilingAdminOnly", "").strip()
    who = words.get(said, "the driver does not say for whom")
    found = f"{who}; recording does not need them"
    return Check("NVIDIA counters", "counters of other tools (ncu)", CheckState.OK, found)
