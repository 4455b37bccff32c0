"""`wavescope trace`: runs a program, records what its GPUs do, and tells what came of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import wavescope
from wavescope.api.recording import run_recorded, write_recording, write_timeline
from wavescope.cli.command import Command, Example
from wavescope.cli.options import (
    add_file_flags,
    milliseconds,
    positive_milliseconds,
    positive_size_bytes,
)
from wavescope.cli.program_code import if_heard, program_code_kept
from wavescope.cli.program_options import (
    add_command,
    add_kernel_filter,
    add_nvidia_options,
    add_program_options,
    program_options,
)
from wavescope.cli.progress import Progress
from wavescope.cli.recording_report import (
    RecordingReport,
    print_empty_recording,
    print_recording,
    say_note,
)
from wavescope.cli.terminal import say
from wavescope.model.progress import tell_nobody

if TYPE_CHECKING:
    from wavescope.collect.recording import RecordedRun


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_command(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        default=Path("trace.db"),
        help="trace file to write (default trace.db); %%p is the process id, %%h the host, "
        "%%rank%% the rank, %%env{NAME}%% a variable",
    )
    add_program_options(parser)
    _add_filters(parser)
    parser.add_argument(
        "--perfetto",
        metavar="FILE",
        nargs="?",
        const="",
        help="write a Perfetto timeline too; --perfetto=FILE names it",
    )
    parser.add_argument(
        "--keep-chunks", action="store_true", help="keep the session folder with the raw records"
    )
    add_file_flags(parser)


def _add_filters(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is recorded")
    group.add_argument(
        "--start-paused",
        action="store_true",
        help="record nothing until `wavescope resume PID` or roctxProfilerResume",
    )
    group.add_argument(
        "--delay",
        metavar="TIME",
        type=milliseconds,
        help="in each process, begin recording this long after its start: 10 (s), 500ms",
    )
    group.add_argument(
        "--duration",
        metavar="TIME",
        type=milliseconds,
        help="stop recording after this long: 10 (s), 500ms",
    )
    group.add_argument(
        "--last",
        metavar="TIME",
        type=positive_milliseconds,
        help="keep only the newest part, such as the last 30s before the end or before a "
        "`wavescope snapshot`",
    )
    group.add_argument(
        "--until-marker",
        metavar="REGEX",
        default="",
        help="stop recording when a marker whose text contains a match ends; the program goes on",
    )
    group.add_argument(
        "--when",
        metavar="CONDITION",
        default="",
        help="write a snapshot when a marked step is slow: 'step > 2x median'",
    )
    group.add_argument(
        "--max-size",
        metavar="BYTES",
        type=positive_size_bytes,
        help="keep at most this many bytes of records of each process, the newest: 500M, 2G",
    )
    group.add_argument(
        "--keep",
        choices=[choice.value for choice in wavescope.Keep],
        help="which records --max-size keeps: the newest (default), however long the program "
        "runs, or the oldest: then recording stops when there are so many",
    )
    add_kernel_filter(group)
    add_nvidia_options(group)


def _run(arguments: argparse.Namespace) -> int:
    options = _options(arguments)
    tell = tell_nobody if arguments.quiet else say
    run = run_recorded(options, tell=if_heard(tell), warn=if_heard(say_note))
    with program_code_kept():
        _write_and_report(run, arguments)
    return run.end.exit_code


def _write_and_report(run: RecordedRun, arguments: argparse.Namespace) -> None:
    with Progress(f"writing {run.options.output.name}", quiet=arguments.quiet) as progress:
        recording = write_recording(run, progress)
    if recording.output is None:
        print_empty_recording(recording)
        return
    if run.options.timeline is not None:
        activity = f"writing {run.options.timeline.name}"
        with Progress(activity, quiet=arguments.quiet) as progress:
            write_timeline(run, recording, progress)
    report = RecordingReport(run, recording)
    print_recording(report, quiet=arguments.quiet, as_json=arguments.json)


def _options(arguments: argparse.Namespace) -> wavescope.RecordOptions:
    return wavescope.RecordOptions(
        **program_options(arguments, "trace -o trace.db"),
        output=arguments.output,
        start_paused=arguments.start_paused,
        delay_ms=arguments.delay or 0,
        duration_ms=arguments.duration,
        last_ms=arguments.last,
        until_marker=arguments.until_marker,
        when=arguments.when,
        max_bytes=arguments.max_size,
        keep=arguments.keep,
        timeline=_timeline_path(arguments.perfetto, arguments.output),
        keep_chunks=arguments.keep_chunks,
        force=arguments.force,
    )


def _timeline_path(asked: str | None, output: Path) -> Path | None:
    if asked is None:
        return None
    return Path(asked) if asked else output.with_suffix(".pftrace")


COMMAND = Command(
    "trace",
    "Run a program and record its kernels, copies and markers with exact times, at little cost. "
    "Its output, signals and exit code pass through; the processes it starts are recorded too. At "
    "the end one trace file is written, which also says what was seen but not timed.",
    (
        Example("wavescope trace -o trace.db python3 my_model.py", "kernels, copies and markers"),
        Example("wavescope trace --perfetto ./server -p 80", "and a timeline"),
        Example(
            "wavescope trace --mode lite --slices 20/400 ./server",
            "samples of an NVIDIA GPU's kernels",
        ),
        Example("wavescope trace --torch python3 train.py", "with ranges around torch operators"),
        Example("wavescope trace --softgpu=gfx90a,gpus=2 ./hip_program", "without a GPU"),
        Example("wavescope trace --softgpu=runtime=6.4 ./hip_program", "on ROCm 6.4, fetched once"),
        Example("wavescope trace -o t_%rank%.db ./app", "under mpirun or srun: a trace per rank"),
        Example(
            "wavescope trace --last 30s ./server",
            "keep the newest 30 seconds, for `snapshot` and the end",
        ),
        Example("wavescope trace --max-size 1G ./server", "keep the newest records that fit"),
        Example("wavescope trace --start-paused ./server", "record between `resume` and `pause`"),
    ),
    _add_arguments,
    _run,
)
