"""`wavescope demo`: the main job on a recording, or on a generated trace where there is no ROCm."""

from __future__ import annotations

import argparse
import os
import shlex
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from wavescope.cli.command import Command, Example
from wavescope.cli.options import add_json_flag, add_quiet_flag
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say
from wavescope.errors import OutputExistsError, UsageError, WavescopeError
from wavescope.units import count_text


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
    add_quiet_flag(parser)
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.cli.main import main  # noqa: PLC0415  it imports this module

    quiet: bool = arguments.quiet
    names = ("trace.db", "trace.pftrace", "report.html")
    trace, timeline, report = (arguments.output / name for name in names)
    _prepare(trace, (timeline, report))
    if trouble := _record(trace, quiet=quiet):
        if not quiet:
            say(f"not recorded: {trouble}; the trace is generated instead", label="note")
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
    from wavescope.collect.demo_program import DEMO_NAME  # noqa: PLC0415
    from wavescope.collect.demo_trace import GENERATED_BY  # noqa: PLC0415  slow to import
    from wavescope.load import open_trace  # noqa: PLC0415

    try:
        with open_trace(trace) as earlier:
            command = earlier.metadata.get("recorded_command", "")
            is_recorded = command.endswith(f"/{DEMO_NAME}")
            return is_recorded or earlier.metadata.get("generated_by") == GENERATED_BY
    except WavescopeError:
        return False


def _record(trace: Path, *, quiet: bool) -> str:
    """Record the demo's program on the software GPU; what is missing, or nothing."""
    from wavescope.collect import demo_program  # noqa: PLC0415  slow to import
    from wavescope.collect.machine import Machine  # noqa: PLC0415
    from wavescope.collect.options import RecordMode, RecordOptions  # noqa: PLC0415
    from wavescope.collect.recorder import record  # noqa: PLC0415

    if missing := demo_program.why_not_recordable(Machine()):
        return missing
    with tempfile.TemporaryDirectory(prefix="wavescope-") as folder:
        if not quiet:
            say(f"building {demo_program.demo_source()}")
        program, trouble = demo_program.build_demo(Path(folder))
        if program is None:
            return trouble
        specification = demo_program.demo_specification()
        if not quiet:
            say(f"$ wavescope trace --softgpu={specification} -m hip -o {trace} {program}")
        talk = "/dev/null" if quiet else "&2"
        options = RecordOptions(
            command=("sh", "-c", f'exec "$0" >{talk}', str(program)),
            output=trace,
            mode=RecordMode.HIP,
            softgpu=specification,
            force=True,
        )
        recording = record(options, os.environ)
    if recording.end.exit_code or recording.output is None:
        return f"the program failed ({recording.end.words})"
    return ""


def _generate(path: Path, *, quiet: bool) -> None:
    from wavescope.collect.demo_trace import demo_trace  # noqa: PLC0415  slow to import
    from wavescope.model.columns import OPS  # noqa: PLC0415
    from wavescope.store.output import replaced  # noqa: PLC0415
    from wavescope.store.sqlite_writer import write_trace  # noqa: PLC0415

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
        ("summary", "--marker", "decode"),
        ("query", "SELECT * FROM top LIMIT 5"),
        ("info", "--markers"),
    ):
        say(f"  {shlex.join(['wavescope', command, str(trace), *rest])}")


COMMAND = Command(
    "demo",
    "Show wavescope at work without a GPU: record a program in the shape of LLM inference on two "
    "software GPUs, print its summary with findings, and write a Perfetto timeline and a report. "
    "Without ROCm's runtimes and hipcc the trace is generated instead, and the demo says so.",
    (
        Example("wavescope demo", "writes trace.db, trace.pftrace and report.html"),
        Example("wavescope demo -o /tmp/tour", "the same in another folder"),
    ),
    _add_arguments,
    _run,
)
