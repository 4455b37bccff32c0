"""What a recording is asked to do."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path


class RecordMode(str, enum.Enum):
    """How much of the GPU's work is timed."""

    LITE = "lite"
    """Dispatches that carry no signal of the application."""
    STANDARD = "standard"
    """All dispatches, but those of graph replays."""
    FULL = "full"
    """All dispatches."""
    HIP = "hip"
    """All dispatches, and the HIP calls that caused them."""


class OtherTools(str, enum.Enum):
    """What becomes of other tools that want the same program's GPU work."""

    KEEP = "keep"
    """They stay as the user set them up, and may keep it from this recording."""
    OFF = "off"
    """They are left out, so that this recording is whole."""


@dataclass(frozen=True)
class RecordOptions:
    """One recording: the command and how it is watched."""

    command: tuple[str, ...]
    output: Path
    mode: RecordMode = RecordMode.STANDARD
    softgpu: str | None = None
    """Run on software GPUs as this text describes them; None for the machine's own."""
    start_paused: bool = False
    delay_ms: int = 0
    duration_ms: int | None = None
    """How long to record; None until the end."""
    last_ms: int | None = None
    """Keep only the newest part of so long; None keeps all."""
    until_marker: str = ""
    """End when a marker closes whose text matches this regular expression."""
    when: str = ""
    """Write a snapshot when this happens; see `SlowStep`."""
    max_bytes: int | None = None
    """Most bytes that each process may write."""
    kernel: str = ""
    """Only kernels whose readable name this regular expression of Python's finds."""
    torch: bool = False
    """Put ranges around the operators of torch."""
    other_tools: OtherTools = OtherTools.KEEP
    keep_chunks: bool = False
    force: bool = False
