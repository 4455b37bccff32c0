"""Checks what a machine can analyse and record, and names the command that adds what is missing."""

from __future__ import annotations

import enum
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.capture import DECODER, GET_DECODER, GET_ROCPROFV3
from wavescope.collect.libraries import collector_library
from wavescope.collect.machine import Machine
from wavescope.collect.runtimes import listed_runtimes
from wavescope.collect.softgpu import softgpu_library, softgpu_trouble
from wavescope.errors import WavescopeError
from wavescope.package_files import library_path
from wavescope.units import bytes_text


class CheckState(str, enum.Enum):
    """How a check ended."""

    OK = "ok"
    MISSING = "missing"
    NOT_USABLE = "not usable"


@dataclass(frozen=True)
class Check:
    """One thing that was looked for: what it is for, what was found, how to get it."""

    name: str
    enables: str
    state: CheckState
    found: str = ""
    fix: str = ""
    is_required: bool = False
    """Whether analysing traces is impossible without it."""


SelfTest = Callable[[], str]
"""Runs the native library on real data; returns what is wrong, or nothing."""


def preflight(
    machine: Machine, native_self_test: SelfTest, collector_self_test: SelfTest
) -> list[Check]:
    """All checks, those for analysis first."""
    return [
        *_analysis_checks(machine, native_self_test),
        _collector(collector_self_test),
        *_optional_checks(machine),
        *_amd_checks(machine),
        *_counter_checks(machine),
        *_nvidia_checks(machine),
        *_limit_checks(machine),
    ]


def checked_machine() -> list[Check]:
    """All checks of this machine, with its own self tests."""
    return preflight(Machine(), _native_self_test, _collector_self_test)


def _native_self_test() -> str:
    try:
        from wavescope.collect.doctor.native_self_test import native_self_test  # noqa: PLC0415  needs NumPy, which may be missing
    except ImportError as error:
        return str(error)
    return native_self_test()


def _collector_self_test() -> str:
    try:
        from wavescope.collect.recording import collector_self_test  # noqa: PLC0415  needs NumPy, which may be missing
    except ImportError as error:
        return str(error)
    return collector_self_test()


def analysis_works(checks: Sequence[Check]) -> bool:
    """Whether everything is there that analysing needs."""
    return all(check.state is CheckState.OK for check in checks if check.is_required)


def recording_state(checks: Sequence[Check]) -> str:
    """What `wavescope trace` can do here, in a few words."""
    ok = {check.name for check in checks if check.state is CheckState.OK}
    if "collector" not in ok:
        return "not usable"
    if "HSA runtime" not in ok:
        return "markers only: there is no HSA runtime"
    if {"AMD GPUs", "/dev/kfd"} <= ok:
        return "ready"
    if "software GPU" in ok:
        return "ready on the software GPU (--softgpu): there is no AMD GPU"
    return "markers only: there is no AMD GPU"


def profiling_states(checks: Sequence[Check]) -> dict[str, str]:
    """What `wavescope counters collect` and `wavescope capture` can do here, in a few words."""
    ok = {check.name for check in checks if check.state is CheckState.OK}
    for_counters = ("AMD GPUs", "/dev/kfd", "rocprofv3")
    needed = {"counters": for_counters, "instruction_traces": (*for_counters, "trace decoder")}
    missing = {what: [name for name in names if name not in ok] for what, names in needed.items()}
    return {
        what: f"not here: needs {', '.join(names)}" if names else "ready"
        for what, names in missing.items()
    }


def _collector(self_test: SelfTest) -> Check:
    name, enables = "collector", "recording programs with `wavescope trace`"
    rebuild = (
        "apt-get install g++ cmake libhsa-runtime-dev (or install ROCm), then: "
        "pip install --force-reinstall wavescope"
    )
    path = collector_library()
    if path is None:
        return Check(name, enables, CheckState.MISSING, "built without it", rebuild)
    if trouble := self_test():
        return Check(name, enables, CheckState.NOT_USABLE, trouble, rebuild)
    return Check(name, enables, CheckState.OK, f"self test passed ({path.name})")


def _analysis_checks(machine: Machine, native_self_test: SelfTest) -> list[Check]:
    modules = (
        ("numpy", "NumPy", "all analyses", True),
        ("orjson", "orjson", "JSON output, Chrome and rocprofv3 JSON", True),
        ("isal.igzip", "isal", "reading and writing .gz at full speed", True),
    )
    return [
        _python(),
        *(_module(machine, *row) for row in modules),
        _sqlite(),
        _native(native_self_test),
    ]


def _python() -> Check:
    version = ".".join(str(part) for part in sys.version_info[:3])
    is_new = sys.version_info >= (3, 10)
    return Check(
        "Python",
        "everything",
        CheckState.OK if is_new else CheckState.NOT_USABLE,
        version,
        "" if is_new else "install Python 3.10 or newer",
        is_required=True,
    )


def _module(machine: Machine, module: str, name: str, enables: str, is_required: bool) -> Check:
    fix = f"pip install {module.partition('.')[0]}"
    try:
        version = machine.module_version(module)
    except ImportError as error:
        is_absent = isinstance(error, ModuleNotFoundError)
        state = CheckState.MISSING if is_absent else CheckState.NOT_USABLE
        return Check(name, enables, state, str(error), fix, is_required)
    return Check(name, enables, CheckState.OK, version, "", is_required)


def _sqlite() -> Check:
    is_new = sqlite3.sqlite_version_info >= (3, 25)
    return Check(
        "SQLite",
        "trace files and `wavescope query`",
        CheckState.OK if is_new else CheckState.NOT_USABLE,
        sqlite3.sqlite_version,
        "" if is_new else "use a Python built with SQLite 3.25 or newer",
        is_required=True,
    )


def _native(self_test: SelfTest) -> Check:
    name, enables = "native library", "reading, analysing and writing traces"
    fix = "pip install --force-reinstall wavescope"
    path = library_path("wavescope_columns")
    if path is None:
        return Check(name, enables, CheckState.MISSING, "not installed", fix, is_required=True)
    try:
        trouble = self_test()
    except (OSError, WavescopeError) as error:
        trouble = str(error)
    if trouble:
        return Check(name, enables, CheckState.NOT_USABLE, trouble, fix, is_required=True)
    return Check(name, enables, CheckState.OK, f"self test passed ({path.name})", is_required=True)


def _optional_checks(machine: Machine) -> list[Check]:
    return [
        _installed(machine, "pyarrow", "Parquet output and `to_arrow()`", "arrow"),
        _installed(machine, "pandas", "`to_pandas()` in notebooks", "pandas"),
        _installed(machine, "vl-convert", "`wavescope roofline -o` as HTML, SVG or PNG", "plots"),
        _torch(machine),
        _program(
            machine,
            ("mpirun", "srun"),
            "recording and profiling the ranks of a job",
            "apt-get install openmpi-bin, or the launcher of your cluster",
        ),
        _program(
            machine,
            ("node", "nodejs"),
            "checking Perfetto files with Perfetto's own reader (development only)",
            "apt-get install nodejs",
        ),
        _program(
            machine,
            ("chromium", "google-chrome", "chromium-browser"),
            "checking timelines in a browser (development only)",
            "apt-get install chromium",
        ),
    ]


def _installed(machine: Machine, name: str, enables: str, extra: str) -> Check:
    if machine.has_module(name.replace("-", "_")):
        return Check(name, enables, CheckState.OK, "installed")
    return Check(name, enables, CheckState.MISSING, "", f"pip install 'wavescope[{extra}]'")


def _torch(machine: Machine) -> Check:
    name, enables = "PyTorch", "operators as ranges: `trace --torch`, `profile --torch-trace`"
    if machine.has_module("torch"):
        return Check(name, enables, CheckState.OK, "installed")
    found = "not in wavescope's own Python; that of the program counts"
    return Check(name, enables, CheckState.MISSING, found, "pip install torch, for the program")


def _program(machine: Machine, names: tuple[str, ...], enables: str, fix: str) -> Check:
    found = next(filter(None, map(machine.program, names)), "")
    state = CheckState.OK if found else CheckState.MISSING
    return Check(names[0], enables, state, found, "" if found else fix)


def _library(machine: Machine, name: str, files: tuple[str, ...], enables: str, fix: str) -> Check:
    found = machine.library(*files)
    state = CheckState.OK if found else CheckState.MISSING
    return Check(name, enables, state, found, "" if found else fix)


def _amd_checks(machine: Machine) -> list[Check]:
    return [
        _amd_gpus(machine),
        _kfd_access(machine),
        _library(
            machine,
            "HSA runtime",
            ("libhsa-runtime64.so.1", "libhsa-runtime64.so"),
            "recording AMD GPUs",
            "install ROCm, or on Debian: apt-get install libhsa-runtime64-1",
        ),
        _library(
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
        _library(
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


def _counter_checks(machine: Machine) -> list[Check]:
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
        _library(
            machine,
            "trace decoder",
            (DECODER, f"{DECODER}.0", f"{DECODER}.1"),
            "instruction traces: `wavescope capture`",
            GET_DECODER,
        ),
        _library(
            machine,
            "HIPRTC",
            ("libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so.5"),
            "measured peaks for rooflines: `wavescope ceilings`",
            "install ROCm's hip-runtime-amd package",
        ),
    ]


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
        fix = "sudo usermod -aG render,video $USER, then log in again"
        return Check(name, enables, CheckState.NOT_USABLE, "no permission to open it", fix)
    return Check(name, enables, CheckState.OK, "can be opened")


def _nvidia_checks(machine: Machine) -> list[Check]:
    ceilings = "measured peaks of NVIDIA GPUs: `wavescope ceilings`"
    return [
        _library(
            machine,
            "CUDA driver",
            ("libcuda.so.1", "libcuda.so"),
            f"{ceilings}; recording them (later version)",
            "install the NVIDIA driver",
        ),
        _library(
            machine,
            "NVRTC",
            ("libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"),
            ceilings,
            "install the CUDA toolkit (package cuda-nvrtc)",
        ),
        _library(
            machine,
            "CUPTI",
            ("libcupti.so", "libcupti.so.13", "libcupti.so.12"),
            "recording NVIDIA GPUs (later version)",
            "install the CUDA toolkit (package cuda-cupti), or: pip install nvidia-cuda-cupti",
        ),
    ]


def _limit_checks(machine: Machine) -> list[Check]:
    return [_disk_space(machine.folder), _perf_events(machine)]


def _disk_space(folder: Path) -> Check:
    free_bytes = shutil.disk_usage(folder).free
    is_enough = free_bytes >= 1_000_000_000
    return Check(
        "disk space here",
        "writing traces and exports",
        CheckState.OK if is_enough else CheckState.NOT_USABLE,
        f"{bytes_text(free_bytes)} free",
        "" if is_enough else "free some space, or write elsewhere with -o",
    )


def _perf_events(machine: Machine) -> Check:
    level = machine.text("proc/sys/kernel/perf_event_paranoid")
    name, enables = "perf events", "sampling host threads (later version)"
    if not level:
        return Check(name, enables, CheckState.MISSING, "this kernel does not offer them")
    is_open = level.lstrip("-").isdecimal() and int(level) <= 2
    return Check(
        name,
        enables,
        CheckState.OK if is_open else CheckState.NOT_USABLE,
        f"perf_event_paranoid is {level}",
        "" if is_open else "sudo sysctl kernel.perf_event_paranoid=2",
    )
