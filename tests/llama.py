"""Records llama.cpp on the software GPU, with a small model that is written for the test run."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.executed import Truth, dispatches_by_queue
from tests.made_once import shared_folder
from tests.recorded import PATIENCE_S, collector
from tests.runtimes import NamedRuntime
from tests.softgpu_programs import executed_ops
from wavescope.collect.demo import TinyModel, WeightType, write_tiny_model
from wavescope.names.demangle import demangle

RUNTIME = NamedRuntime("6.4+llama")
WAVESCOPE = (sys.executable, "-m", "wavescope")
LAYERS = TinyModel().layers
FIRST_WORD = 259  # tokens below it stand for bytes and for control
DURATIONS = Path(__file__).resolve().parents[1] / "examples" / "llama_bench.durations"


def require_llama() -> None:
    """Skip with the reason where llama.cpp cannot be recorded."""
    RUNTIME.require()
    collector()


def tiny_model(factory: pytest.TempPathFactory, weights: WeightType) -> Path:
    """The model, written once per test run."""
    path = shared_folder(factory) / f"tiny-{weights.name.lower()}.gguf"
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        write_tiny_model(draft, TinyModel(weights=weights))
        draft.rename(path)
    return path


@dataclass(frozen=True)
class EngineRun:
    """A finished recording of the engine."""

    trace: Path
    truth: Path
    errors: str

    def executed(self) -> list[Truth]:
        """What ran, with the names that people read."""
        return [
            Truth(op.gpu, op.queue, op.kind, demangle(op.name), op.start_ns, op.end_ns, op.bytes)
            for op in executed_ops(self.truth)
        ]

    def dispatches(self) -> dict[tuple[int, int], list[Truth]]:
        return dispatches_by_queue(self.executed())


def trace_command(folder: Path, mode: str, *options: str) -> list[str]:
    """`wavescope trace` on the software GPU below llama.cpp, up to the program."""
    softgpu = f"gfx90a,runtime={RUNTIME.name},durations={DURATIONS},truth={folder}/truth.csv"
    return [
        *WAVESCOPE,
        "trace",
        f"--softgpu={softgpu}",
        "-m",
        mode,
        "-o",
        f"{folder}/trace.db",
        *options,
    ]


def recorded_bench(
    folder: Path, mode: str, model: Path, *work: str, variables: Mapping[str, str] | None = None
) -> EngineRun:
    """llama-bench recorded to its end."""
    program = ["llama-bench", "-m", str(model), "-ngl", "99", *work]
    done = subprocess.run(
        [*trace_command(folder, mode), *program],
        env={**RUNTIME.environment, **(variables or {})},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return EngineRun(folder / "trace.db", folder / "truth.csv", done.stderr)


@dataclass
class Server:
    """A llama-server that is recorded, and its recorder."""

    recorder: subprocess.Popen[bytes]
    port: int
    run: EngineRun

    def complete(self, prompt_tokens: int, answer_tokens: int) -> dict[str, Any]:
        """The answer to a prompt of that many tokens."""
        question = {
            "prompt": list(range(FIRST_WORD, FIRST_WORD + prompt_tokens)),
            "n_predict": answer_tokens,
            "ignore_eos": True,
            "cache_prompt": False,
        }
        return self._asked("/completion", json.dumps(question).encode())

    def steer(self, command: str) -> None:
        """`wavescope resume` or `pause` for this recording."""
        pid = str(self.recorder.pid)
        subprocess.run([*WAVESCOPE, command, pid], env=RUNTIME.environment, check=True, timeout=300)

    def interrupt(self) -> int:
        """Ctrl-C for the recorder; its exit code."""
        self.recorder.send_signal(signal.SIGINT)
        code = self.recorder.wait(PATIENCE_S)
        self.run = replace(self.run, errors=(self.run.trace.parent / "errors").read_text())
        return code

    def wait_until_ready(self) -> None:
        """Until the model is loaded."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            assert self.recorder.poll() is None, (self.run.trace.parent / "errors").read_text()
            try:
                self._asked("/health")
            except urllib.error.URLError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError("the server did not become ready")

    def _asked(self, path: str, data: bytes | None = None) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(url, data, timeout=PATIENCE_S) as response:
            answer: dict[str, Any] = json.loads(response.read())
        return answer


@contextmanager
def recorded_server(folder: Path, model: Path, *options: str) -> Iterator[Server]:
    """llama-server under the recorder, ready to answer; ended in any case."""
    port = _free_port()
    program = ["llama-server", "-m", str(model), "-ngl", "99", "-c", "1024", "-np", "1"]
    address = ["--host", "127.0.0.1", "--port", str(port)]
    with (folder / "errors").open("wb") as errors:
        recorder = subprocess.Popen(
            [*trace_command(folder, "full", *options), *program, *address],
            env=RUNTIME.environment,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
    run = EngineRun(folder / "trace.db", folder / "truth.csv", "")
    try:
        server = Server(recorder, port, run)
        server.wait_until_ready()
        yield server
    finally:
        if recorder.poll() is None:
            os.killpg(recorder.pid, signal.SIGKILL)
            recorder.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
