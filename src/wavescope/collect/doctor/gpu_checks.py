"""Checks for AMD GPUs: driver and runtimes, ROCm's profiler, the software GPU."""

from __future__ import annotations

import os

from wavescope.collect.capture import DECODER, GET_DECODER, GET_ROCPROFV3
from wavescope.collect.doctor.check import Check, CheckState, library_check
from wavescope.collect.machine import Machine
from wavescope.collect.runtimes import listed_runtimes
from wavescope.collect.softgpu import softgpu_library, softgpu_trouble

_JOIN_GROUPS = "sudo usermod -aG render,video $USER, then log in again"


def amd_checks(machine: Machine) -> list[Check]:
    """What recording AMD GPUs needs, and what stands in for one."""
    return [
        _amd_gpus(machine),
        _kfd_access(machine),
        _render_access(machine),
        library_check(
            machine,
            "HSA runtime",
            ("libhsa-runtime64.so.1", "libhsa-runtime64.so"),
            "recording AMD GPUs",
            "install ROCm, or on Debian: apt-get install libhsa-runtime64-1",
        ),
        library_check(
            machine,
            "HIP runtime",
            (
                "libamdhip64.so",
                "libamdhip64.so.7",
                "libamdhip64.so.6",
                "libamdhip64.so.5",
            ),
            "recording HIP calls (--mode hip)",
            "install ROCm, or on Debian: apt-get install libamdhip64-5",
        ),
        library_check(
            machine,
            "roctx",
            (
                "librocprofiler-sdk-roctx.so",
                "librocprofiler-sdk-roctx.so.1",
                "libroctx64.so",
                "libroctx64.so.4",
            ),
            "programs that link roctx (wavescope brings its own functions)",
            "install ROCm's rocprofiler-sdk or roctracer package",
        ),
        _software_gpu(machine),
        *_runtime_checks(machine),
    ]


def _amd_gpus(machine: Machine) -> Check:
    name, enables = "AMD GPUs", "recording AMD GPUs"
    nodes = machine.gpu_nodes()
    if not nodes:
        fix = "install the amdgpu driver; in a container add --device /dev/kfd --device /dev/dri"
        return Check(name, enables, CheckState.MISSING, "no GPU in the kernel's topology", fix)
    found = ", ".join(f"{node.chip} ({node.compute_units} CUs)" for node in nodes)
    return Check(name, enables, CheckState.OK, found)


def _kfd_access(machine: Machine) -> Check:
    name, enables = "/dev/kfd", "using AMD GPUs from programs"
    device = machine.root / "dev/kfd"
    if not device.exists():
        fix = "load the amdgpu driver; in a container add --device /dev/kfd --device /dev/dri"
        return Check(name, enables, CheckState.MISSING, "", fix)
    if not os.access(device, os.R_OK | os.W_OK):
        return Check(name, enables, CheckState.NOT_USABLE, "no permission to open it", _JOIN_GROUPS)
    return Check(name, enables, CheckState.OK, "can be opened")


def _render_access(machine: Machine) -> Check:
    """The render nodes of AMD GPUs: beside /dev/kfd, programs open one for each GPU."""
    name, enables = "/dev/dri/renderD*", "memory of AMD GPUs in programs"
    nodes = sorted((machine.root / "dev/dri").glob("renderD*"))
    closed = [node.name for node in nodes if not os.access(node, os.R_OK | os.W_OK)]
    if closed:
        found = f"no permission to open {', '.join(closed)}"
        return Check(name, enables, CheckState.NOT_USABLE, found, _JOIN_GROUPS)
    if nodes:
        return Check(name, enables, CheckState.OK, f"{len(nodes)} can be opened")
    fix = "in a container add --device /dev/dri" if machine.gpu_nodes() else ""
    return Check(name, enables, CheckState.MISSING, "", fix)


def _software_gpu(machine: Machine) -> Check:
    name, enables = "software GPU", "running ROCm programs without a GPU: `wavescope softgpu`"
    trouble = softgpu_trouble(machine)
    if trouble is None:
        return Check(name, enables, CheckState.OK, str(softgpu_library()))
    state = CheckState.MISSING if softgpu_library() is None else CheckState.NOT_USABLE
    return Check(name, enables, state, str(trouble), trouble.hint)


def _runtime_checks(machine: Machine) -> list[Check]:
    """A row per ROCm that programs can run on; those not fetched are no lack."""
    enables = "running programs on this ROCm: `wavescope softgpu --runtime`"
    checks = []
    for runtime in listed_runtimes(machine.environment, machine):
        name = f"ROCm {runtime.name}"
        if runtime.is_ready:
            found = f"{runtime.versions} in {runtime.folder}"
            checks.append(Check(name, enables, CheckState.OK, found))
        elif runtime.is_damaged:
            fix = f"wavescope softgpu --fetch {runtime.name}"
            checks.append(Check(name, enables, CheckState.NOT_USABLE, runtime.versions, fix))
    return checks


def counter_checks(machine: Machine) -> list[Check]:
    """What ROCm's own profiler does for us: counters and instruction traces; and measured peaks."""
    rocprofv3 = machine.rocm_program("rocprofv3")
    return [
        Check(
            "rocprofv3",
            "hardware counters and instruction traces: `wavescope counters collect`, `capture`",
            CheckState.OK if rocprofv3 else CheckState.MISSING,
            rocprofv3,
            "" if rocprofv3 else GET_ROCPROFV3,
        ),
        library_check(
            machine,
            "trace decoder",
            (DECODER, f"{DECODER}.0", f"{DECODER}.1"),
            "instruction traces: `wavescope capture`",
            GET_DECODER,
        ),
        library_check(
            machine,
            "HIPRTC",
            ("libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so.5"),
            "measured peaks for rooflines: `wavescope ceilings`",
            "install ROCm's hip-runtime-amd package",
        ),
    ]
