"""What keeps the collector out of a program, or from its GPU work: told before and after a run.

Other tools may want the same work; a program may be such that nothing can be loaded into it.
"""

from __future__ import annotations

import mmap
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from wavescope.collect.cuda_driver import cuda_library, has_nvidia
from wavescope.collect.cuda_tools import (
    CUDA_INJECTION,
    NVTX_INJECTION,
    cuda_tools,
    foreign,
    is_own,
    without_cuda_tools,
)
from wavescope.collect.found_cupti import why_no_cupti
from wavescope.collect.machine import Machine
from wavescope.collect.program_files import ProgramKind, kind_of, loaded_program
from wavescope.collect.record_options import OtherTools, RecordOptions
from wavescope.collect.softgpu import SoftGpuOptions

_TOOL_VARIABLES = (
    "ROCP_TOOL_LIBRARIES",
    "ROCPROFILER_REGISTER_LIBRARY",
    "ROCPROFILER_REGISTER_FORCE_LOAD",
)
"""Any of them makes the runtime register with rocprofiler and ignore HSA_TOOLS_LIB."""
_FORCE_LOAD = "ROCPROFILER_REGISTER_FORCE_LOAD"
"""Turned off, it does so with the libraries that the others name."""
NO_REGISTERING = "HSA_TOOLS_DISABLE_REGISTER"
"""With "1" the runtime registers with nobody."""
_PROFILERS = frozenset(
    (
        "rocprofv3",
        "rocprofv2",
        "rocprof",
        "rocprof-compute",
        "omniperf",
        "rocprof-sys-run",
        "nsys",
        "ncu",
        "nv-nsight-cu-cli",
        "nvprof",
        "compute-sanitizer",
        "cuda-memcheck",
    )
)
"""Programs that record what they start, and set it up so that no other tool can."""
_USER_CHANGERS = frozenset(
    (
        "chpst",
        "doas",
        "gosu",
        "runuser",
        "setpriv",
        "setuidgid",
        "start-stop-daemon",
        "su",
        "su-exec",
        "sudo",
    )
)
"""Programs that run others as another user."""
_OFF = ("", "0", "false", "no", "off")
_TOOL_FUNCTION = b"\0rocprofiler_configure\0"
_NOTHING_USED = (
    "no process of the program used a GPU through ROCm's HSA runtime or NVIDIA's driver, or set a "
    "marker"
)
_HSA_LIBRARIES = ("libhsa-runtime64.so.1", "libhsa-runtime64.so")


def registered_tools(environment: Mapping[str, str]) -> list[str]:
    """What makes the runtime of a program register with rocprofiler, as the user would spell it."""
    found = [
        f"{name}={environment[name]}"
        for name in _TOOL_VARIABLES
        if environment.get(name, "").lower() not in _OFF
    ]
    if environment.get(_FORCE_LOAD, "1").lower() in _OFF[1:]:
        found = []
    preloaded = environment.get("LD_PRELOAD", "").replace(":", " ").split()
    found += [
        f"LD_PRELOAD={library}"
        for library in preloaded
        if not is_own(library) and _has_tool_function(Path(library))
    ]
    return found


def hsa_tools(environment: Mapping[str, str]) -> list[str]:
    """Other libraries that the HSA runtime is asked to load as it loads the collector."""
    return [word for word in environment.get("HSA_TOOLS_LIB", "").split() if not is_own(word)]


def other_tools_sentences(choice: OtherTools, environment: Mapping[str, str]) -> list[str]:
    """What the user should know before the program runs; nothing when there are no other tools."""
    registered, loaded = registered_tools(environment), hsa_tools(environment)
    of_cuda, of_nvtx = cuda_tools(environment), foreign(environment, NVTX_INJECTION)
    if choice is OtherTools.OFF:
        names = registered + [f"HSA_TOOLS_LIB={word}" for word in loaded]
        names += [f"{name}={tool}" for name in (CUDA_INJECTION, NVTX_INJECTION)
                  if (tool := foreign(environment, name))]  # fmt: skip
        return [f"other tools are turned off: {', '.join(names)}"] if names else []
    sentences = []
    if registered:
        sentences.append(
            f"another tool is set up ({', '.join(registered)}): where the HSA runtime registers "
            "with rocprofiler, that tool records the GPU's work and this trace will not have it; "
            "--other-tools off records it here, and not there"
        )
    if loaded:
        sentences.append(
            f"another tool is loaded by HSA_TOOLS_LIB ({', '.join(loaded)}): it may not see the "
            "queues that are recorded here; --other-tools off leaves it out"
        )
    if of_cuda:
        sentences.append(
            f"another tool is set up for CUDA ({', '.join(of_cuda)}): it keeps the work of NVIDIA "
            "GPUs and this trace will not have it; --other-tools off puts this recording in its "
            "place"
        )
    if of_nvtx:
        sentences.append(
            f"another tool takes the markers of NVTX ({NVTX_INJECTION}={of_nvtx}): this trace will "
            "not have them; --other-tools off records them here"
        )
    return sentences


def tools_environment(
    choice: OtherTools, environment: Mapping[str, str], command: Sequence[str]
) -> dict[str, str]:
    """The environment in which `command` has the other tools that were chosen."""
    if choice is OtherTools.OFF:
        return without_other_tools(environment)
    is_set_up = registered_tools(environment) or profiler_in(command)[0]
    if choice is OtherTools.KEEP or is_set_up:
        return dict(environment)
    # A profiler that comes with a library of the program registers before anybody has asked for it.
    return {NO_REGISTERING: "1", **environment}


def without_other_tools(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which the collector is the only tool of HSA runtime and CUDA driver."""
    dropped = (*_TOOL_VARIABLES, "HSA_TOOLS_LIB", "HSA_TOOLS_ROCPROFILER_V1_TOOLS")
    left = without_cuda_tools(environment)
    kept = {name: value for name, value in left.items() if name not in dropped}
    own = [word for word in environment.get("HSA_TOOLS_LIB", "").split() if is_own(word)]
    if own:
        kept["HSA_TOOLS_LIB"] = " ".join(own)
    return kept | {NO_REGISTERING: "1"}


def _has_tool_function(library: Path) -> bool:
    """Whether a library names the function by which rocprofiler knows its tools."""
    try:
        with (
            library.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            return data.find(_TOOL_FUNCTION) >= 0
    except (OSError, ValueError):
        return False


def profiler_in(command: Sequence[str]) -> tuple[str, list[str]]:
    """The profiler that a command is, and the program that it would run as far as `--` tells it."""
    words = list(command)
    before = words[: words.index("--")] if "--" in words else words
    found = [name for name in (Path(word).name for word in before) if name in _PROFILERS]
    return (found[0], words[len(before) + 1 :]) if found else ("", [])


def user_changer_in(command: Sequence[str]) -> str:
    """The program in a command, or in the text of a shell's, that runs others as another user."""
    words = (word for argument in command for word in argument.split())
    return next(
        (name for name in (Path(word).name for word in words) if name in _USER_CHANGERS), ""
    )


def why_nothing(
    options: RecordOptions, environment: Mapping[str, str], machine: Machine | None = None
) -> list[str]:
    """What keeps the collector out of a program, or the likeliest reason when nothing is seen."""
    name = loaded_program(options.command)
    path = Path(shutil.which(name, path=environment.get("PATH")) or name)
    if kind_of(path) is ProgramKind.STATIC:
        return [f"{path} is statically linked: no library can be loaded into it"]
    if is_privileged(path):
        return [f"{path} runs with another user's rights: the system ignores LD_PRELOAD for it"]
    profiler, program = profiler_in(options.command)
    if profiler:
        instead = f"wavescope trace -- {shlex.join(program) or 'PROGRAM'}"
        reason = (
            f"{profiler} records the program itself, and keeps other tools out of what it starts: "
            f"record without it ({instead}), or read its files (wavescope summary FILE)"
        )
        return [reason]
    reasons = [_NOTHING_USED]
    if changer := user_changer_in(options.command):
        reasons.append(
            f"what {changer} starts as another user cannot write into this recording: run "
            "`wavescope trace` as that user, on what is started"
        )
    if tools := registered_tools(environment) + cuda_tools(environment):
        reasons.append(f"another tool may have kept it: {', '.join(tools)}; try --other-tools off")
    if missing := _missing(options, machine or Machine(environment=environment)):
        reasons.append(missing)
    return reasons


def _missing(options: RecordOptions, machine: Machine) -> str:
    """What the machine lacks for recording its GPUs, or nothing."""
    if (runtime := SoftGpuOptions.parse(options.softgpu or "").other_runtime) is not None:
        return (
            f"only the program itself runs on the runtime {runtime}: what it starts runs on the "
            "machine's own"
        )
    if options.softgpu is None and not machine.gpu_nodes() and has_nvidia(machine):
        return _missing_for_nvidia(options, machine)
    if not machine.library(*_HSA_LIBRARIES):
        return "the HSA runtime (libhsa-runtime64.so.1) is not installed on this machine"
    if options.softgpu is None and not machine.gpu_nodes():
        return (
            "this machine has neither an AMD nor an NVIDIA GPU; --softgpu runs a ROCm program on a "
            "software one"
        )
    return ""


def _missing_for_nvidia(options: RecordOptions, machine: Machine) -> str:
    if not cuda_library(machine):
        return (
            "the library of NVIDIA's driver (libcuda.so.1) is not found: install the driver; a "
            "container needs --gpus all"
        )
    return why_no_cupti(options.command, machine)


def is_privileged(program: Path) -> bool:
    """Whether the system runs a program with the rights of its owner or group."""
    try:
        mode = program.stat().st_mode
    except OSError:
        return False
    return bool(mode & 0o6000)
