"""A program of the demo that is ready to be recorded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.recording.options import RecordMode, RecordOptions
from wavescope.package_files import package_file


@dataclass(frozen=True)
class PreparedDemo:
    """The command, the GPUs it runs on, and the mode it is recorded in."""

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


def example_file(name: str) -> Path | None:
    """A file of the examples, or None when it was not installed."""
    return package_file("lib", "examples", name)


def with_durations(specification: str, name: str) -> str:
    """The GPUs with the durations of kernels in that example, where it can be named."""
    durations = example_file(name)
    if durations is None or "," in str(durations):
        return specification
    return f"{specification},durations={durations}"
