"""Runs rocprofv3 for a thread trace (ATT): what it needs, and the folders that it leaves.

rocprofv3 and the trace decoder belong to ROCm; this module only drives them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from wavescope.collect.capture.options import (
    INPUT_NAME,
    CaptureOptions,
    command_line,
    input_text,
)
from wavescope.collect.launcher import STDERR, ProgramEnd, children_print_to, launch
from wavescope.collect.patience import patience_for
from wavescope.errors import MachineError
from wavescope.placing import alone_in

DECODER = "librocprof-trace-decoder.so"
_FOLDER = re.compile(r"ui_output_agent_.+_dispatch_\d+", re.ASCII)
_DEEPEST = 6
GET_ROCPROFV3 = (
    "install ROCm's profiler: apt-get install rocprofiler-sdk (ROCm 6.4 or later), and have "
    "/opt/rocm/bin in PATH"
)
GET_DECODER = (
    "ROCm 7.13 and later bring it; before, install a release of "
    "https://github.com/ROCm/rocprof-trace-decoder and name its folder with --decoder DIR"
)


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
    launched: Callable[[list[str], Mapping[str, str]], ProgramEnd] | None = None,
    *,
    keeps_stdout: bool = False,
) -> tuple[ProgramEnd, list[Path]]:
    """Run rocprofv3 once; how it ended, and the folders it wrote, the latest dispatch last.

    With `keeps_stdout` the program prints to standard error only.
    """
    rocprofv3 = find_rocprofv3(environment)
    find_decoder(options, rocprofv3, environment)
    with alone_in(options.output):
        return _captured(options, rocprofv3, environment, launched, keeps_stdout=keeps_stdout)


def _captured(
    options: CaptureOptions,
    rocprofv3: Path,
    environment: Mapping[str, str],
    launched: Callable[[list[str], Mapping[str, str]], ProgramEnd] | None,
    *,
    keeps_stdout: bool,
) -> tuple[ProgramEnd, list[Path]]:
    before = {path: path.stat().st_mtime_ns for path in trace_folders(options.output)}
    (options.output / INPUT_NAME).write_text(input_text(options), encoding="utf-8")
    with children_print_to(STDERR, STDERR) if keeps_stdout else nullcontext():
        run = launched or partial(launch, patience=patience_for(options.limit_s, 0))
        end = run(command_line(options, str(rocprofv3)), environment)
    written = [
        path
        for path in trace_folders(options.output)
        if before.get(path) != path.stat().st_mtime_ns
    ]
    if not written:
        raise MachineError(
            f"rocprofv3 left no thread trace in {options.output}",
            hint=nothing_traced_hint(options, end),
        )
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
    if end.given_up:
        return f"rocprofv3 was stopped, as {end.given_up}: its own messages above may say why"
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
