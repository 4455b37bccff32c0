"""`wavescope demo`: the main job on a recording, or on a generated trace where there is no ROCm."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from wavescope.api.machine import generate_demo, is_demo_trace, record_demo
from wavescope.cli.command import Command, Example
from wavescope.cli.main import main
from wavescope.cli.options import add_json_flag, add_quiet_flag
from wavescope.cli.progress import Progress
from wavescope.cli.recording_report import say_note
from wavescope.cli.terminal import say
from wavescope.errors import OutputExistsError, UsageError
from wavescope.model.progress import tell_nobody
from wavescope.placing import alone_in
from wavescope.units import count_text


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        default=Path("wavescope-demo"),
        help="folder to write to, made if needed (default wavescope-demo); only files of an "
        "earlier demo are replaced",
    )
    parser.add_argument(
        "--program",
        choices=("llama", "hip", "python"),
        help="llama: llama.cpp on the runtime 6.4+llama; hip: a program that hipcc compiles here; "
        "python: the same in Python, without a compiler (default: the first that runs here)",
    )
    add_quiet_flag(parser)
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    _require_folder(arguments.output)
    with alone_in(arguments.output):
        return _shown(arguments)


def _shown(arguments: argparse.Namespace) -> int:
    quiet: bool = arguments.quiet
    names = ("trace.db", "trace.pftrace", "report.html")
    trace, timeline, report = (arguments.output / name for name in names)
    _prepare(trace, (timeline, report))
    tell, warn = (tell_nobody,) * 2 if quiet else (say, say_note)
    is_recorded = record_demo(
        trace, arguments.program, tell=tell, warn=warn, shows_output=not quiet
    )
    if not is_recorded:
        warn("the trace is generated instead")
        with Progress("generating a trace", quiet=quiet) as progress:
            ops = count_text(generate_demo(trace, progress))
        tell(f"generated {trace}: LLM inference on 2 GPUs, {ops} ops (computed, not measured)")
    steps = (
        ["summary", str(trace), *(["--json"] if arguments.json else ["-n", "12"])],
        ["convert", str(trace), "-o", str(timeline), "--force"],
        ["report", str(trace), "-o", str(report), "--title", "wavescope demo", "--force"],
    )
    for step in steps:
        tell(f"$ wavescope {shlex.join(step)}")
        if code := main([*step, "--quiet"]):
            return code
    if not quiet:
        _tell_next(trace, timeline, report)
    return 0


def _require_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", hint="choose another -o")


def _prepare(trace: Path, others: Sequence[Path]) -> None:
    """Refuse to replace files that no demo wrote."""
    existing = [path for path in (trace, *others) if path.exists()]
    if existing and not is_demo_trace(trace):
        raise OutputExistsError(existing[0])


def _tell_next(trace: Path, timeline: Path, report: Path) -> None:
    say(f"wrote {trace}, {timeline} and {report}")
    say("next:")
    say(f"  open {report} in a browser")
    say(f"  open {timeline} at https://ui.perfetto.dev")
    for command, *rest in (
        ("phases",),
        ("steps",),
        ("query", "SELECT * FROM top LIMIT 5"),
    ):
        say(f"  {shlex.join(['wavescope', command, str(trace), *rest])}")


COMMAND = Command(
    "demo",
    "Show wavescope at work without a GPU: record a program on the software GPU, print its summary "
    "with findings, and write a Perfetto timeline and a report. The program is llama.cpp where its "
    "runtime was fetched (wavescope softgpu --fetch 6.4+llama), else one in the shape of LLM "
    "inference that hipcc compiles; without a compiler Python launches the same kernels, on the "
    "machine's own ROCr and HIP or fetched ones (wavescope softgpu --fetch 6.4). Where none "
    "runs, the trace is generated. The output says which it was.",
    (
        Example("wavescope demo", "writes trace.db, trace.pftrace and report.html"),
        Example("wavescope demo -o /tmp/tour", "the same in another folder"),
        Example("wavescope demo --program hip", "not llama.cpp, even where it could run"),
    ),
    _add_arguments,
    _run,
)
