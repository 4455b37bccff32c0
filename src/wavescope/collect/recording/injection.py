"""The environment of a recorded program: what the user had, and what loads the collector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wavescope.collect.libraries import with_word
from wavescope.collect.record_options import OtherTools, RecordOptions
from wavescope.collect.recording.obstacles import without_other_tools
from wavescope.collect.torch_ranges import torch_ranges_environment

SESSION_VARIABLE = "WAVESCOPE_OUTPUT"
_OWN_VARIABLES = (
    SESSION_VARIABLE,
    "WAVESCOPE_MODE",
    "WAVESCOPE_START_PAUSED",
    "WAVESCOPE_KERNEL",
    "WAVESCOPE_MAX_BYTES",
    "WAVESCOPE_DELAY_MS",
    "WAVESCOPE_DURATION_MS",
)


@dataclass(frozen=True)
class Injection:
    """Where things are: the collector, the session folder, and variables of the software GPU."""

    collector: Path
    session: Path
    softgpu: Mapping[str, str] = field(default_factory=dict)


def injected_environment(
    options: RecordOptions, environment: Mapping[str, str], injection: Injection
) -> dict[str, str]:
    """The environment to run `options.command` in."""
    result = {name: value for name, value in environment.items() if name not in _OWN_VARIABLES}
    if options.other_tools is OtherTools.OFF:
        result = without_other_tools(result)
    result.update(injection.softgpu)
    collector = str(injection.collector)
    result["LD_PRELOAD"] = with_word(result.get("LD_PRELOAD", ""), collector, ":")
    result["HSA_TOOLS_LIB"] = with_word(result.get("HSA_TOOLS_LIB", ""), collector, " ")
    result.setdefault("NVTX_INJECTION64_PATH", collector)
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
        "WAVESCOPE_KERNEL": options.kernel,
        "WAVESCOPE_MAX_BYTES": "" if options.max_bytes is None else str(options.max_bytes),
        "WAVESCOPE_DELAY_MS": str(options.delay_ms or ""),
        "WAVESCOPE_DURATION_MS": "" if options.duration_ms is None else str(options.duration_ms),
    }
    return {name: value for name, value in given.items() if value}
