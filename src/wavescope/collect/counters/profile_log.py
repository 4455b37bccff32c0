"""What is written down of a profile: its options for other tools, and what happened when."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from wavescope.version import __version__

OPTIONS_FILE = "profiling_config.yaml"
LOG_FILE = "log.txt"


def write_options(folder: Path, options: Mapping[str, object]) -> None:
    """Write the options as YAML; each value is spelled as JSON, which is YAML too."""
    lines = [f"{name}: {json.dumps(value)}\n" for name, value in sorted(options.items())]
    (folder / OPTIONS_FILE).write_text("".join(lines), encoding="utf-8")


class ProfileLog:
    """Adds lines with their time to the log of a workload."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOG_FILE

    def begin(self, command: Sequence[str], collector: Path) -> None:
        """Say what is run, by what."""
        self.add(f"wavescope {__version__} with {collector}: {shlex.join(command)}")

    def add(self, text: str) -> None:
        """Add a line; line ends within it are spelled out."""
        line = text.replace("\n", "\\n")
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        with self._path.open("a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(f"{stamp} {line}\n")
