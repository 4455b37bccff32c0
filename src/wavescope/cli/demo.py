"""`wavescope demo`: the main job on a recording, or on a generated trace where there is no ROCm."""

from __future__ import annotations

import argparse
import os
import shlex
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.cli.child_output import STDERR, children_print_to
from wavescope.cli.command import Command, Example
from wavescope.cli.options import add_json_flag, add_quiet_flag
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say
from wavescope.errors import MachineError, OutputExistsError, UsageError, WavescopeError
from wavescope.units import count_text

if TYPE_CHECKING:
    from wavescope.collect.demo import DemoProgram
    from wavescope.collect.recording.options import RecordOptions


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        default=Path("wavescope-demo"),
        help="folder to write into, made if needed (default wavescope-demo); the files of an "
        "earlier demo in it are replaced, no others",
    )
    parser.add_argument(
        "--program",
        choices=("llama", "hip"),
        help="llama: llama.cpp on the runtime 6.4+llama; hip: a program that hipcc compiles here "
        "(default: the first of them that runs here)",
    )
    add_quiet_flag(parser)
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.cli.main import main  # noqa: PLC0415  it imports this module

    quiet: bool = arguments.quiet
    names = ("trace.db", "trace.pftrace", "report.html")
    trace, timeline, report = (arguments.output / name for name in names)
    _prepare(trace, (timeline, report))
    if not _record_first_possible(trace, arguments.program, quiet=quiet):
        if not quiet:
            say("the trace is generated instead", label="note")
        _generate(trace, quiet=quiet)
    steps = (
        ["summary", str(trace), *(["--json"] if arguments.json else ["-n", "12"])],
        ["convert", str(trace), "-o", str(timeline), "--force"],
        ["report", str(trace), "-o", str(report), "--title", "wavescope demo", "--force"],
    )
    for step in steps:
        if not quiet:
            say(f"$ wavescope {shlex.join(step)}")
        if code := main([*step, "--quiet"]):
            return code
    if not quiet:
        _tell_next(trace, timeline, report)
    return 0


def _prepare(trace: Path, others: Sequence[Path]) -> None:
    """Make the folder; refuse to replace files that no demo wrote."""
    try:
        trace.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise UsageError(f"{trace.parent} is not a folder", hint="choose another -o") from error
    existing = [path for path in (trace, *others) if path.exists()]
    if existing and not _is_earlier_demo(trace):
        raise OutputExistsError(existing[0])


def _is_earlier_demo(trace: Path) -> bool:
    from wavescope.collect.demo import DEMO_PROGRAMS, GENERATED_BY  # noqa: PLC0415  slow to import
    from wavescope.formats import open_trace  # noqa: PLC0415

    try:
        with open_trace(trace) as earlier:
            command = earlier.metadata.get("recorded_command", "")
            is_recorded = any(program.is_its_command(command) for program in DEMO_PROGRAMS)
            return is_recorded or earlier.metadata.get("generated_by") == GENERATED_BY
    except WavescopeError:
        return False


def _record_first_possible(trace: Path, chosen: str | None, *, quiet: bool) -> bool:
    """Record the chosen program, or the first one that runs here; whether any did."""
    from wavescope.collect.demo import DEMO_PROGRAMS  # noqa: PLC0415  slow to import

    tried = [program for program in DEMO_PROGRAMS if chosen in (None, program.name)]
    for program in tried:
        trouble = _record(program, trace, quiet=quiet)
        if not trouble:
            return True
        if chosen is not None:
            raise MachineError(
                f"the demo cannot record {program.title}: {trouble}",
                hint="without --program the demo shows what it can",
            )
        if not quiet:
            say(f"not recorded: {program.title}: {trouble}", label="note")
    return False


def _record(program: DemoProgram, trace: Path, *, quiet: bool) -> str:
    """Record a program on the software GPU; what is missing, or nothing."""
    from wavescope.collect.machine import Machine  # noqa: PLC0415

    if missing := program.why_not_recordable(Machine()):
        return missing
    if not quiet:
        say(f"recording {program.title}")
    with tempfile.TemporaryDirectory(prefix="wavescope-") as folder:
        try:
            demo = program.prepared(Path(folder))
        except MachineError as error:
            return str(error)
        if not quiet:
            shown = shlex.join(demo.command)
            mode = demo.mode.value
            say(f"$ wavescope trace --softgpu={demo.softgpu} -m {mode} -o {trace} {shown}")
        return _recorded(demo.options(trace), quiet=quiet)


def _recorded(options: RecordOptions, *, quiet: bool) -> str:
    """Record; what went wrong, or nothing.

    What the program prints is shown on standard error: standard output is the summary's. Of its
    errors the last line is kept for when it fails.
    """
    from wavescope.collect.recording.recorder import record  # noqa: PLC0415  slow to import

    with tempfile.TemporaryFile() as errors, Path(os.devnull).open("wb") as nowhere:
        output = nowhere.fileno() if quiet else STDERR
        with children_print_to(output, errors.fileno()):
            recording = record(options, os.environ)
        if not recording.end.exit_code and recording.output is not None:
            return ""
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines()
    return ": ".join([f"the program failed ({recording.end.words})", *lines[-1:]])


def _generate(path: Path, *, quiet: bool) -> None:
    from wavescope.collect.demo import demo_trace  # noqa: PLC0415  slow to import
    from wavescope.formats.files import replaced  # noqa: PLC0415
    from wavescope.formats.wavescope.writing import write_trace  # noqa: PLC0415
    from wavescope.model.columns import OPS  # noqa: PLC0415

    with (
        Progress("generating a trace", quiet=quiet) as progress,
        closing(demo_trace()) as source,
        replaced(path, [], force=True) as temporary,
    ):
        write_trace([source], temporary, progress)
        if not quiet:
            ops = count_text(source.row_count(OPS))
            say(f"generated {path}: LLM inference on 2 GPUs, {ops} ops (computed, not measured)")


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
    "inference that hipcc compiles; where neither runs, the trace is generated. It says which.",
    (
        Example("wavescope demo", "writes trace.db, trace.pftrace and report.html"),
        Example("wavescope demo -o /tmp/tour", "the same in another folder"),
        Example("wavescope demo --program hip", "not llama.cpp, even where it could run"),
    ),
    _add_arguments,
    _run,
)
