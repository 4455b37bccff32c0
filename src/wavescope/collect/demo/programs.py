"""The programs that the demo can record, the most telling one first."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from wavescope.closing import on_error
from wavescope.collect.demo.generated_trace import GENERATED_BY
from wavescope.collect.demo.tiny_model import TinyModel, WeightType, write_tiny_model
from wavescope.collect.launcher import STDERR, children_print_to
from wavescope.collect.libraries import collector_library
from wavescope.collect.machine import Machine
from wavescope.collect.record_options import RecordMode, RecordOptions
from wavescope.collect.recording import record
from wavescope.collect.runtimes import MACHINE, listed_runtimes
from wavescope.collect.softgpu import softgpu_trouble
from wavescope.errors import MachineError
from wavescope.model.progress import Tell, tell_nobody
from wavescope.package_files import package_file

_HIP_PROGRAM = "llm_inference"
_PYTHON_PROGRAM = "llm_inference.py"
_HIP_LIBRARIES = tuple(f"libamdhip64.so{version}" for version in (".7", ".6", ".5", ""))
_HIP_CHIP = "gfx90a"
_HIP_GPU_COUNT = 2
_BUILD_SECONDS = 300
_LLAMA_RUNTIME = "6.4+llama"
_LLAMA_MODEL = "wavescope-demo.gguf"
_LLAMA_WORK = ("-p", "512", "-n", "12", "-r", "5", "-ngl", "99")


@dataclass(frozen=True)
class PreparedDemo:
    """A program that is ready: the command, the GPUs it runs on, the mode it is recorded in."""

    command: tuple[str, ...]
    softgpu: str
    mode: RecordMode

    def options(self, output: Path) -> RecordOptions:
        """How it is recorded; an earlier trace at `output` is replaced."""
        return RecordOptions(
            command=self.command,
            output=output,
            mode=self.mode,
            softgpu=self.softgpu,
            force=True,
        )


@dataclass(frozen=True)
class DemoProgram:
    """A program of the demo: what it is, whether it runs here, and how it is made ready."""

    name: str
    title: str
    why_not_recordable: Callable[[Machine], str]
    """What it lacks to be recorded on this machine, or nothing."""
    prepared: Callable[[Path, Machine], PreparedDemo]
    """It made ready in a folder; MachineError when that fails."""
    is_its_command: Callable[[str], bool]
    """Whether a recorded command was this program's."""


def _why_no_hip(machine: Machine) -> str:
    if trouble := _why_no_recording(machine, has_runtime=False):
        return trouble
    if not machine.program("hipcc"):
        return "hipcc is not installed"
    return "" if _example_file(f"{_HIP_PROGRAM}.hip") else "the demo's program is not installed"


def _prepared_hip(folder: Path, machine: Machine) -> PreparedDemo:
    """The program compiled into `folder`."""
    del machine
    return PreparedDemo((str(_built(folder)),), _hip_gpus(MACHINE), RecordMode.HIP)


def _hip_gpus(runtime: str) -> str:
    chosen = "" if runtime == MACHINE else f",runtime={runtime}"
    gpus = f"{_HIP_CHIP},gpus={_HIP_GPU_COUNT}{chosen}"
    return _with_durations(gpus, f"{_HIP_PROGRAM}.durations")


def _built(folder: Path) -> Path:
    source = _example_file(f"{_HIP_PROGRAM}.hip")
    assert source is not None
    program = folder / _HIP_PROGRAM
    chip = f"--offload-arch={_HIP_CHIP}"
    try:
        status, said = _compiled(
            ["hipcc", "-O1", chip, "-o", str(program), str(source), "-ldl"], folder
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineError(str(error)) from error
    if status or not program.is_file():
        lines = said.strip().splitlines()
        raise MachineError(lines[-1] if lines else f"hipcc ended with exit code {status}")
    return program


def _compiled(command: list[str], folder: Path) -> tuple[int, str]:
    """The exit code of a compiler and its errors; what it starts ends with this, at the latest."""
    process = subprocess.Popen(
        command,
        # A compiler that is killed leaves its temporary files behind: in the folder of the demo.
        env={**os.environ, "HIP_PLATFORM": "amd", "TMPDIR": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    with process, on_error(lambda: os.killpg(process.pid, signal.SIGKILL)):
        _, said = process.communicate(timeout=_BUILD_SECONDS)
    return process.returncode, said


def _why_no_python(machine: Machine) -> str:
    if trouble := _why_no_recording(machine, has_runtime=True):
        return trouble
    if _runtime_with_hip(machine) is None:
        return "there is no HIP runtime (wavescope softgpu --fetch 6.4 gets one)"
    return "" if _example_file(_PYTHON_PROGRAM) else "the demo's program is not installed"


def _prepared_python(folder: Path, machine: Machine) -> PreparedDemo:
    """The program as it is installed: its kernels need no compiler."""
    del folder
    program, runtime = _example_file(_PYTHON_PROGRAM), _runtime_with_hip(machine)
    assert program is not None
    assert runtime is not None
    return PreparedDemo((sys.executable, str(program)), _hip_gpus(runtime), RecordMode.HIP)


def _runtime_with_hip(machine: Machine) -> str | None:
    """The machine's own runtime where that has HIP, else the newest one that was fetched."""
    listed = listed_runtimes(machine.environment, machine)
    ready = {runtime.name: runtime for runtime in listed if runtime.is_ready}
    if MACHINE in ready and machine.library(*_HIP_LIBRARIES):
        return MACHINE
    fetched = [name for name, runtime in ready.items() if "HIP" in runtime.versions]
    return fetched[-1] if fetched else None


def _why_no_llama(machine: Machine) -> str:
    if trouble := _why_no_recording(machine, has_runtime=True):
        return trouble
    listed = listed_runtimes(machine.environment, machine)
    if any(runtime.name == _LLAMA_RUNTIME and runtime.is_ready for runtime in listed):
        return ""
    fetch = f"wavescope softgpu --fetch {_LLAMA_RUNTIME}"
    return f"the runtime {_LLAMA_RUNTIME} was not fetched ({fetch})"


def _prepared_llama(folder: Path, machine: Machine) -> PreparedDemo:
    """The engine with a model in `folder`."""
    del machine
    model = folder / _LLAMA_MODEL
    write_tiny_model(model, TinyModel(weights=WeightType.Q4_0))
    return PreparedDemo(
        command=("llama-bench", "-m", str(model), *_LLAMA_WORK),
        softgpu=_with_durations(f"gfx90a,runtime={_LLAMA_RUNTIME}", "llama_bench.durations"),
        mode=RecordMode.HIP,
    )


def _why_no_recording(machine: Machine, *, has_runtime: bool) -> str:
    """Why nothing can be recorded on the software GPU here, or nothing."""
    if collector_library() is None:
        return "this installation has no collector"
    trouble = softgpu_trouble(machine, has_runtime=has_runtime)
    return str(trouble) if trouble else ""


def _example_file(name: str) -> Path | None:
    """A file of the examples, or None when it was not installed."""
    return package_file("lib", "examples", name)


def _with_durations(specification: str, name: str) -> str:
    """The GPUs with the durations of kernels in that example, where it can be named."""
    durations = _example_file(name)
    if durations is None or "," in str(durations):
        return specification
    return f"{specification},durations={durations}"


DEMO_PROGRAMS = (
    DemoProgram(
        "llama",
        "llama.cpp's llama-bench with a small random model on one software GPU",
        _why_no_llama,
        _prepared_llama,
        lambda command: f"/{_LLAMA_MODEL} " in command,
    ),
    DemoProgram(
        "hip",
        "a HIP program in the shape of LLM inference on two software GPUs",
        _why_no_hip,
        _prepared_hip,
        lambda command: command.endswith(f"/{_HIP_PROGRAM}"),
    ),
    DemoProgram(
        "python",
        "a Python program in the shape of LLM inference on two software GPUs",
        _why_no_python,
        _prepared_python,
        lambda command: command.endswith(f"/examples/{_PYTHON_PROGRAM}"),
    ),
)


def is_demo(metadata: Mapping[str, str]) -> bool:
    """Whether a trace with these facts was recorded or generated by the demo."""
    command = metadata.get("recorded_command", "")
    is_recorded = any(program.is_its_command(command) for program in DEMO_PROGRAMS)
    return is_recorded or metadata.get("generated_by") == GENERATED_BY


def record_demo(
    output: Path,
    program: str | None,
    environment: Mapping[str, str],
    *,
    tell: Tell = tell_nobody,
    warn: Tell = tell_nobody,
    shows_output: bool = False,
) -> bool:
    """Record the named program, or the first one that runs here; whether any did.

    `warn` hears why others were not recorded. What the program prints is shown on standard error,
    or not at all.
    """
    for candidate in DEMO_PROGRAMS:
        if program not in (None, candidate.name):
            continue
        trouble = _record(candidate, output, environment, tell, shows_output=shows_output)
        if not trouble:
            return True
        if program is not None:
            raise MachineError(
                f"the demo cannot record {candidate.title}: {trouble}",
                hint="without --program the demo chooses what can run here",
            )
        warn(f"not recorded: {candidate.title}: {trouble}")
    return False


def _record(
    program: DemoProgram,
    output: Path,
    environment: Mapping[str, str],
    tell: Tell,
    *,
    shows_output: bool,
) -> str:
    """Record a program on the software GPU; what is missing or went wrong, or nothing."""
    machine = Machine(environment=environment)
    if missing := program.why_not_recordable(machine):
        return missing
    tell(f"recording {program.title}")
    with tempfile.TemporaryDirectory(prefix="wavescope-") as folder:
        try:
            demo = program.prepared(Path(folder), machine)
        except MachineError as error:
            return str(error)
        chosen = f"--softgpu={demo.softgpu} -m {demo.mode.value}"
        tell(f"$ wavescope trace {chosen} -o {output} {shlex.join(demo.command)}")
        return _recorded(demo.options(output), environment, shows_output=shows_output)


def _recorded(options: RecordOptions, environment: Mapping[str, str], *, shows_output: bool) -> str:
    """Record; what went wrong, or nothing. Of the program's errors the last line is kept for it."""
    with tempfile.TemporaryFile() as errors, Path(os.devnull).open("wb") as nowhere:
        printed = STDERR if shows_output else nowhere.fileno()
        with children_print_to(printed, errors.fileno()):
            recording = record(options, environment)
        if not recording.end.exit_code and recording.output is not None:
            return ""
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines()
    return ": ".join([f"the program failed ({recording.end.words})", *lines[-1:]])
