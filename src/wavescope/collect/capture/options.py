"""What a thread trace (ATT) shall hold, and the job file and command that tell rocprofv3 so."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.rocprofv3_patterns import require_rocprofv3_pattern
from wavescope.errors import UsageError

INPUT_NAME = "wavescope_att_input.yaml"
SMALLEST_BUFFER_BYTES = 1 << 20
LARGEST_BUFFER_BYTES = 2 << 30
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)


@dataclass(frozen=True)
class CaptureOptions:
    """What to trace, and where to leave it."""

    command: tuple[str, ...]
    kernel: str
    """Regular expression that finds the kernel's name."""
    iterations: str = "1,3"
    """Which launches of each kernel, from 1: '3-4' or '1,3'."""
    target_cu: int = 1
    shader_engine_mask: int = 0xF
    simd_select: int = 0xF
    buffer_bytes: int = 96 << 20
    output: Path = Path("kernel_trace_output")
    decoder: Path | None = None
    limit_s: float = 0.0
    """How long rocprofv3 may run; unless stated, until nothing of it moves any more."""

    def __post_init__(self) -> None:
        if not self.kernel:
            raise UsageError("no kernel was given", hint="--kernel REGEX, e.g. --kernel pa_decode")
        require_rocprofv3_pattern(self.kernel)
        if not 0 <= self.target_cu <= 15:
            raise UsageError(f"--cu {self.target_cu}: compute units are numbered 0 to 15")
        for name, mask in (("--se-mask", self.shader_engine_mask), ("--simd", self.simd_select)):
            if not 0 < mask <= 0xFFFFFFFF:
                raise UsageError(f"{name} {mask:#x} selects nothing, or more than there is")
        if not SMALLEST_BUFFER_BYTES <= self.buffer_bytes <= LARGEST_BUFFER_BYTES:
            raise UsageError("--buffer must be between 1 MiB and 2 GiB, e.g. 96M or 0x6000000")
        iteration_range(self.iterations)


def iteration_range(text: str) -> str:
    """rocprofv3's spelling of '3-4' or '1,3-5': a set of launches, each counted from 1."""
    parts = []
    for part in text.replace(" ", "").split(","):
        found = _RANGE.fullmatch(part)
        first = int(found.group(1)) if found else 0
        last = int(found.group(2) or first) if found else 0
        if not 1 <= first <= last:
            raise UsageError(
                f"'{text}' is not a list of launches",
                hint="launches are counted from 1: --iterations 3-4",
            )
        parts.append(f"{first}-{last}" if last > first else str(first))
    return f"[{', '.join(parts)}]"


def input_text(options: CaptureOptions) -> str:
    """The job file: YAML, with texts quoted as JSON does, which is YAML as well."""
    rows: list[tuple[str, str]] = [
        ("kernel_include_regex", json.dumps(options.kernel)),
        ("kernel_iteration_range", json.dumps(iteration_range(options.iterations))),
        ("output_file", "out"),
        ("output_directory", json.dumps(str(options.output))),
        ("output_format", "[csv]"),
        ("truncate_kernels", "true"),
        ("kernel_trace", "true"),
        ("advanced_thread_trace", "true"),
        ("att_target_cu", str(options.target_cu)),
        ("att_shader_engine_mask", f'"{options.shader_engine_mask:#x}"'),
        ("att_simd_select", f'"{options.simd_select:#x}"'),
        ("att_buffer_size", f'"{options.buffer_bytes:#x}"'),
    ]
    if options.decoder is not None:
        rows.append(("att_library_path", f"[{json.dumps(str(options.decoder))}]"))
    return "jobs:\n  -\n" + "".join(f"    {key}: {value}\n" for key, value in rows)


def command_line(options: CaptureOptions, rocprofv3: str = "rocprofv3") -> list[str]:
    """What is run."""
    return [rocprofv3, "-i", str(options.output / INPUT_NAME), "--", *options.command]
