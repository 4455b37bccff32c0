"""A process that imports, says `ready`, waits for a line, and then says what it measured."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PATIENCE_S = 100.0


class WaitingRun:
    """Started at once; nothing of it waits for longer than `patience_s` in all."""

    def __init__(
        self,
        command: Sequence[object],
        environment: dict[str, str],
        folder: TemporaryDirectory[str],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.folder = folder
        self._messages = Path(folder.name, "messages.txt")
        with self._messages.open("w") as messages:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                env={**environment, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
                start_new_session=True,
            )
        self._timer = threading.Timer(patience_s, self._kill)
        self._timer.daemon = True
        self._timer.start()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def await_ready(self) -> bool:
        """Wait until it has imported all; False when it has ended instead."""
        assert self._process.stdout is not None
        return any(line == "ready\n" for line in self._process.stdout)

    def measured(self) -> dict[str, Any] | None:
        """Have it go on; what it measured, None when it ended without."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("measured "):
                found: dict[str, Any] = json.loads(line.removeprefix("measured "))
                return found
        return None

    def ended(self) -> int:
        """Wait for its end; its exit code."""
        with suppress(BrokenPipeError):
            self._process.communicate()
        self._timer.cancel()
        return self._process.returncode

    def messages(self) -> str:
        return self._messages.read_text() if self._messages.exists() else ""
