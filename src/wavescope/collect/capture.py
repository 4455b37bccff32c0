"""Captures a thread trace (ATT) with rocprofv3: its input file, what it needs, its folders.

rocprofv3 and the trace decoder belong to ROCm; this module only drives them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.launcher import ProgramEnd, launch
from wavescope.errors import MachineError, UsageError

INPUT_NAME = "wavescope_att_input.yaml"
DECODER = "librocprof-trace-decoder.so"
SMALLEST_BUFFER_BYTES = 1 << 20
LARGEST_BUFFER_BYTES = 2 << 30
_FOLDER = re.compile(r"ui_output_agent_.+_dispatch_\d+", re.ASCII)
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)
_DEEPEST = 6
GET_ROCPROFV3 = (
    "install ROCm's profiler: apt-get install rocprofiler-sdk (ROCm 6.4 or later), and have "
    "/opt/rocm/bin in PATH"
)
GET_DECODER = (
    "ROCm 7.13 and later bring it; before, install a release of "
    "https://github.com/ROCm/rocprof-trace-decoder and name its folder with --decoder DIR"
)


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

    def __post_init__(self) -> None:
        if not self.kernel:
            raise UsageError("no kernel was given", hint="--kernel REGEX, e.g. --kernel pa_decode")
        try:
            re.compile(self.kernel)
        except re.error as error:
            raise UsageError(f"'{self.kernel}' is not a regular expression: {error}") from error
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


def find_rocprofv3(environment: Mapping[str, str]) -> Path:
    """rocprofv3 on PATH or in ROCm's folder, or an error that says what to install."""
    folders = [Path(part) for part in environment.get("PATH", "").split(os.pathsep) if part]
    folders.append(Path(environment.get("ROCM_PATH", "/opt/rocm"), "bin"))
    for folder in folders:
        path = folder / "rocprofv3"
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise MachineError("rocprofv3 is not installed here", hint=GET_ROCPROFV3)


def find_decoder(options: CaptureOptions, rocprofv3: Path, environment: Mapping[str, str]) -> Path:
    """The trace decoder's library where rocprofv3 looks for it, or an error on how to get it."""
    searched = list(_decoder_folders(options, rocprofv3, environment))
    for folder in searched:
        found = next(iter(sorted(folder.glob(f"{DECODER}*"))), None)
        if found is not None:
            return found
    places = ", ".join(str(folder) for folder in dict.fromkeys(searched))
    raise MachineError(f"the trace decoder {DECODER} is not in {places}", hint=GET_DECODER)


def capture(
    options: CaptureOptions,
    environment: Mapping[str, str],
    launched: Callable[[list[str], Mapping[str, str]], ProgramEnd] = launch,
) -> tuple[ProgramEnd, list[Path]]:
    """Run rocprofv3 once; how it ended, and the folders it wrote, the latest dispatch last."""
    rocprofv3 = find_rocprofv3(environment)
    find_decoder(options, rocprofv3, environment)
    options.output.mkdir(parents=True, exist_ok=True)
    before = {path: path.stat().st_mtime_ns for path in trace_folders(options.output)}
    (options.output / INPUT_NAME).write_text(input_text(options), encoding="utf-8")
    end = launched(command_line(options, str(rocprofv3)), environment)
    written = [
        path
        for path in trace_folders(options.output)
        if before.get(path) != path.stat().st_mtime_ns
    ]
    return end, sorted(written, key=_by_dispatch)


def trace_folders(root: Path) -> list[Path]:
    """All folders of decoded traces below `root`; links are not followed."""
    found = []
    for parent, folders, _ in os.walk(root):
        found += [Path(parent, name) for name in folders if _FOLDER.match(name)]
        if len(Path(parent).relative_to(root).parts) >= _DEEPEST:
            folders.clear()
        folders[:] = [name for name in folders if not _FOLDER.match(name)]
    return found


def nothing_traced_hint(options: CaptureOptions, end: ProgramEnd) -> str:
    """Why there may be no folder, the likeliest first."""
    if end.status != 0:
        return f"rocprofv3 did not end well ({end.words}): its own messages above say why"
    return (
        f"does a kernel match '{options.kernel}', and is it launched often enough for --iterations "
        f"{options.iterations}? Try --iterations 1, and `rocprofv3 --kernel-trace --stats -- CMD` "
        "for the names"
    )


def _decoder_folders(
    options: CaptureOptions, rocprofv3: Path, environment: Mapping[str, str]
) -> Iterable[Path]:
    if options.decoder is not None:
        return [options.decoder]
    listed = [environment.get(name, "") for name in ("ROCPROF_ATT_LIBRARY_PATH", "LD_LIBRARY_PATH")]
    folders = [Path(part) for text in listed for part in text.split(os.pathsep) if part]
    folders.append(rocprofv3.resolve().parent.parent / "lib")
    folders.append(Path(environment.get("ROCM_PATH", "/opt/rocm"), "lib"))
    return folders


def _by_dispatch(path: Path) -> tuple[int, str]:
    return int(path.name.rpartition("_")[2]), str(path)
