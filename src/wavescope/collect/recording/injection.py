"""The environment of a recorded program, which loads the collector, and a trial of both."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wavescope.collect.cuda_tools import CUDA_INJECTION, NVTX_INJECTION, foreign
from wavescope.collect.found_cupti import CUPTI_VARIABLE
from wavescope.collect.libraries import is_loadable, linked, required_collector, with_word
from wavescope.collect.record_options import RecordOptions
from wavescope.collect.recording.obstacles import tools_environment
from wavescope.collect.torch_ranges import torch_ranges_environment
from wavescope.errors import WavescopeError
from wavescope.formats.session.reading import open_session
from wavescope.model.columns import MARKERS

SESSION_VARIABLE = "WAVESCOPE_OUTPUT"
_OWN_VARIABLES = (
    SESSION_VARIABLE,
    "WAVESCOPE_MODE",
    "WAVESCOPE_START_PAUSED",
    "WAVESCOPE_MAX_BYTES",
    "WAVESCOPE_KEEP",
    "WAVESCOPE_DELAY_MS",
    "WAVESCOPE_DURATION_MS",
    "WAVESCOPE_SLICE_MS",
    "WAVESCOPE_SLICE_PERIOD_MS",
    "WAVESCOPE_FLUSH_MS",
)


@dataclass(frozen=True)
class Injection:
    """Where things are: the collector, the session folder, what the program's GPUs need."""

    collector: Path
    session: Path
    softgpu: Mapping[str, str] = field(default_factory=dict)
    """Variables of the software GPU."""
    cupti: Path | None = None
    """NVIDIA's library of records that fits the program and the driver."""


def injected_environment(
    options: RecordOptions, environment: Mapping[str, str], injection: Injection
) -> dict[str, str]:
    """The environment to run `options.command` in."""
    given = {name: value for name, value in environment.items() if name not in _OWN_VARIABLES}
    result = tools_environment(options.other_tools, given, options.command)
    result.update(injection.softgpu)
    collector = str(injection.collector)
    result["LD_PRELOAD"] = with_word(result.get("LD_PRELOAD", ""), collector, ":")
    result["HSA_TOOLS_LIB"] = with_word(result.get("HSA_TOOLS_LIB", ""), collector, " ")
    for name in (CUDA_INJECTION, NVTX_INJECTION):
        result[name] = foreign(result, name) or collector
    if injection.cupti is not None:
        result[CUPTI_VARIABLE] = str(injection.cupti)
    result.update(_settings(options, injection.session))
    if options.torch:
        result.update(torch_ranges_environment(result))
    return result


def _settings(options: RecordOptions, session: Path) -> dict[str, str]:
    """What native/core/environment.h reads."""
    given = {
        SESSION_VARIABLE: str(session),
        "WAVESCOPE_MODE": options.mode.value,
        "WAVESCOPE_START_PAUSED": "1" if options.start_paused else "",
        "WAVESCOPE_MAX_BYTES": "" if options.max_bytes is None else str(options.max_bytes),
        "WAVESCOPE_KEEP": "newest" if options.max_bytes and options.keeps_newest else "",
        "WAVESCOPE_DELAY_MS": str(options.delay_ms or ""),
        "WAVESCOPE_DURATION_MS": "" if options.duration_ms is None else str(options.duration_ms),
        "WAVESCOPE_FLUSH_MS": str(options.flush_ms or ""),
    }
    if options.interception is not None:
        given["WAVESCOPE_INTERCEPTION"] = options.interception.value
    if options.slices is not None:
        given["WAVESCOPE_SLICE_MS"] = str(options.slices.length_ms)
        given["WAVESCOPE_SLICE_PERIOD_MS"] = str(options.slices.period_ms)
    return {name: value for name, value in given.items() if value}


_MARK = "wavescope self test"
_PROGRAM = f"import ctypes; ctypes.CDLL(None).roctxMarkA({_MARK.encode()!r})"


def collector_self_test() -> str:
    """What is wrong with the collector, or nothing."""
    with tempfile.TemporaryDirectory(prefix="wavescope-") as folder:
        session = Path(folder) / "session"
        session.mkdir()
        try:
            collector = required_collector()
            if not is_loadable(collector):
                collector = linked(collector, Path(folder))
            injection = Injection(collector, session)
            options = RecordOptions((sys.executable,), Path(folder) / "trace.db")
            environment = injected_environment(options, os.environ, injection)
            done = _run(environment)
            if done.returncode:
                return f"a recorded program failed: {done.stderr.strip()[-200:]}"
            with open_session(session) as source:
                rows = sum(len(batch["id"]) for batch in source.batches(MARKERS, ("id",)))
        except (WavescopeError, subprocess.TimeoutExpired) as error:
            return str(error)
    return "" if rows == 1 else f"{rows} marks were recorded instead of 1"


def _run(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-S", "-c", _PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
