"""The demo's LLM engine: llama.cpp's benchmark, run where its runtime was fetched."""

from __future__ import annotations

from pathlib import Path

from wavescope.collect.demo.prepared import PreparedDemo, with_durations
from wavescope.collect.demo.tiny_model import TinyModel, WeightType, write_tiny_model
from wavescope.collect.machine import Machine
from wavescope.collect.recording.libraries import collector_library
from wavescope.collect.recording.options import RecordMode
from wavescope.collect.runtimes import RuntimeState, listed_runtimes
from wavescope.collect.softgpu import softgpu_trouble

_RUNTIME = "6.4+llama"
_MODEL = "wavescope-demo.gguf"
_WORK = ("-p", "512", "-n", "12", "-r", "5", "-ngl", "99")


def why_not_recordable(machine: Machine) -> str:
    """What the engine lacks to be recorded on this machine, or nothing."""
    if collector_library() is None:
        return "this installation has no collector"
    if trouble := softgpu_trouble(machine, has_runtime=True):
        return str(trouble)
    listed = listed_runtimes(machine.environment, machine)
    if any(r.name == _RUNTIME and r.state is RuntimeState.READY for r in listed):
        return ""
    return f"the runtime {_RUNTIME} was not fetched (wavescope softgpu --fetch {_RUNTIME})"


def is_its_command(command: str) -> bool:
    """Whether a recorded command was this program's."""
    return f"/{_MODEL} " in command


def prepared(folder: Path) -> PreparedDemo:
    """The engine with a model in `folder`."""
    model = folder / _MODEL
    write_tiny_model(model, TinyModel(weights=WeightType.Q4_0))
    return PreparedDemo(
        command=("llama-bench", "-m", str(model), *_WORK),
        softgpu=with_durations(f"gfx90a,runtime={_RUNTIME}", "llama_bench.durations"),
        mode=RecordMode.HIP,
    )
