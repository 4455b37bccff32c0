"""The programs that the demo can record, the most telling one first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.demo import hip_program, llama_program
from wavescope.collect.demo.prepared import PreparedDemo
from wavescope.collect.machine import Machine


@dataclass(frozen=True)
class DemoProgram:
    """A program of the demo: what it is, whether it runs here, and how it is made ready."""

    name: str
    title: str
    why_not_recordable: Callable[[Machine], str]
    """What it lacks to be recorded on this machine, or nothing."""
    prepared: Callable[[Path], PreparedDemo]
    """It made ready in a folder; MachineError when that fails."""
    is_its_command: Callable[[str], bool]
    """Whether a recorded command was this program's."""


DEMO_PROGRAMS = (
    DemoProgram(
        "llama",
        "llama.cpp's llama-bench with a small random model on one software GPU",
        llama_program.why_not_recordable,
        llama_program.prepared,
        llama_program.is_its_command,
    ),
    DemoProgram(
        "hip",
        "a HIP program in the shape of LLM inference on two software GPUs",
        hip_program.why_not_recordable,
        hip_program.prepared,
        hip_program.is_its_command,
    ),
)
