"""Dask schedulers and workers as processes of their own, for tests of workers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
_START_S = 60
_WITHOUT_WAVESCOPE = "import sys; sys.modules['wavescope'] = None; "


@dataclass(frozen=True)
class Cluster:
    """A scheduler that runs, and how workers are added to it."""

    folder: Path
    environment: Mapping[str, str]
    stack: ExitStack

    @property
    def file(self) -> str:
        return str(self.folder / "scheduler.json")

    @property
    def address(self) -> str:
        address: str = json.loads(Path(self.file).read_text())["address"]
        return address

    def add_workers(
        self,
        *names: str,
        options: Sequence[str] = (),
        inside: Mapping[str, Sequence[str]] | None = None,
        has_wavescope: bool = True,
    ) -> None:
        """Start workers of one thread; `inside` has a command that runs one somewhere else."""
        for name in names:
            program = _program("dask_worker", has_wavescope=has_wavescope)
            arguments = ["--scheduler-file", self.file, "--nthreads", "1", "--name", name]
            places = ["--no-dashboard", "--local-directory", str(self.folder / name)]
            command = [*(inside or {}).get(name, ()), *program, *arguments, *places, *options]
            self.stack.enter_context(process(command, self._log(name), self.environment))
        for name in names:
            wait_for_text(self._log(name), "Starting established connection")

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"


@contextmanager
def scheduler(
    folder: Path,
    *options: str,
    environment: Mapping[str, str] | None = None,
    has_wavescope: bool = True,
) -> Iterator[Cluster]:
    """A scheduler on a free port of the loopback interface, or where `options` say."""
    variables = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1", **(environment or {})}
    places = options or ("--host", "127.0.0.1")
    with ExitStack() as stack:
        cluster = Cluster(folder, variables, stack)
        program = _program("dask_scheduler", has_wavescope=has_wavescope)
        arguments = ["--port", "0", "--no-dashboard", "--scheduler-file", cluster.file]
        log = folder / "scheduler.log"
        stack.enter_context(process([*program, *arguments, *places], log, variables))
        wait_for_text(Path(cluster.file), "address")
        yield cluster


def _program(module: str, *, has_wavescope: bool) -> list[str]:
    hiding = "" if has_wavescope else _WITHOUT_WAVESCOPE
    return [sys.executable, "-c", f"{hiding}from distributed.cli.{module} import main; main()"]


@contextmanager
def process(
    command: Sequence[str], log: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A process with all that it starts, which are ended in the end."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    with (
        log.open("wb") as said,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env={**os.environ, "PYTHONPATH": path, **environment},
            start_new_session=True,
            cwd=log.parent,
        ) as started,
    ):
        try:
            yield started
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)


def wait_for_text(path: Path, text: str) -> None:
    """Come back when `text` is in the file; a loaded machine takes a while."""
    deadline_s = time.monotonic() + _START_S
    while time.monotonic() < deadline_s:
        if path.exists() and text in path.read_text():
            return
        time.sleep(0.02)
    pytest.fail(f"no '{text}' in {path}: {path.read_text() if path.exists() else 'no file'}")
