"""`wavescope trace`: runs a program, records what its GPUs do, and tells what came of it."""

from __future__ import annotations

import argparse
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.options import (
    add_force_flag,
    add_json_flag,
    add_quiet_flag,
    milliseconds,
    positive_milliseconds,
    size_bytes,
)
from wavescope.cli.program_options import (
    add_command,
    add_kernel_filter,
    add_program_options,
    program_command,
)
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say, say_error
from wavescope.errors import WavescopeError

if TYPE_CHECKING:
    from wavescope.collect.recording.options import RecordOptions
    from wavescope.collect.recording.recorder import Recording


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_command(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="trace.db",
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
    add_force_flag(parser)
    add_quiet_flag(parser)
    add_json_flag(parser)


def _add_filters(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is recorded")
    group.add_argument(
        "--start-paused",
        action="store_true",
        help="record nothing until `wavescope start PID` or roctxProfilerResume",
    )
    group.add_argument(
        "--delay",
        metavar="TIME",
        type=milliseconds,
        help="begin so long after each process's start",
    )
    group.add_argument(
        "--duration", metavar="TIME", type=milliseconds, help="record for so long: 10 (s), 500ms"
    )
    group.add_argument(
        "--last",
        metavar="TIME",
        type=positive_milliseconds,
        help="keep only the newest part, so long before the end or a `wavescope snapshot`: 30s",
    )
    group.add_argument(
        "--until-marker",
        metavar="REGEX",
        default="",
        help="stop recording when a marker closes whose text matches; the program goes on",
    )
    group.add_argument(
        "--when",
        metavar="CONDITION",
        default="",
        help="write a snapshot when a marked step is slow: 'step > 2x median'",
    )
    group.add_argument(
        "--max-size", metavar="BYTES", type=size_bytes, help="most that a process writes: 500M, 2G"
    )
    add_kernel_filter(group)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.collect.recording.other_tools import other_tools_sentences  # noqa: PLC0415
    from wavescope.collect.recording.recorder import merged, run_recorded  # noqa: PLC0415  slow to import

    options, all_ranks = _options(arguments)
    timeline = _timeline_path(arguments.perfetto, options.output)
    if timeline is not None:
        from wavescope.formats.files import require_free  # noqa: PLC0415

        require_free(timeline, [options.output], force=options.force)
    for sentence in other_tools_sentences(options.other_tools, os.environ):
        say(sentence, label="note")
    run = run_recorded(options, os.environ, None if arguments.quiet else say)
    try:
        with Progress(f"writing {options.output.name}", quiet=arguments.quiet) as progress:
            recording = merged(options, run, progress)
        if recording.output is None:
            _explain_nothing(options, recording)
        else:
            _tell(arguments, options, recording, all_ranks, timeline)
    except WavescopeError as error:  # the program has done its work: its exit code is what counts
        say_error(error)
    return run.end.exit_code


def _options(arguments: argparse.Namespace) -> tuple[RecordOptions, str]:
    """What to record, and how to spell the traces of all ranks (nothing for one alone)."""
    from wavescope.collect.recording.names import NameValues, expanded, pattern_of_all_ranks  # noqa: PLC0415  slow to import
    from wavescope.collect.recording.options import OtherTools, RecordMode, RecordOptions  # noqa: PLC0415
    from wavescope.collect.recording.ranks import launcher_rank  # noqa: PLC0415

    command = program_command(arguments, "trace -o trace.db")
    _require_conditions(arguments)
    rank = launcher_rank(os.environ)
    values = NameValues(os.getpid(), socket.gethostname(), rank, os.environ)
    options = RecordOptions(
        command=command,
        output=expanded(arguments.output, values),
        mode=RecordMode(arguments.mode),
        softgpu=arguments.softgpu,
        start_paused=arguments.start_paused,
        delay_ms=arguments.delay or 0,
        duration_ms=arguments.duration,
        last_ms=arguments.last,
        until_marker=arguments.until_marker,
        when=arguments.when,
        max_bytes=arguments.max_size,
        kernel=arguments.kernel,
        torch=arguments.torch,
        other_tools=OtherTools(arguments.other_tools),
        keep_chunks=arguments.keep_chunks,
        force=arguments.force,
    )
    is_first_of_many = rank.world_size > 1 and rank.rank <= 0
    return options, pattern_of_all_ranks(arguments.output, values) if is_first_of_many else ""


def _require_conditions(arguments: argparse.Namespace) -> None:
    """Refuse what would be understood only when the program runs."""
    from wavescope.collect.windows.triggers import SlowStep, marker_pattern  # noqa: PLC0415

    marker_pattern(arguments.until_marker)
    if arguments.when:
        SlowStep.parse(arguments.when)


def _timeline_path(asked: str | None, output: Path) -> Path | None:
    if asked is None:
        return None
    return Path(asked) if asked else output.with_suffix(".pftrace")


def _explain_nothing(options: RecordOptions, recording: Recording) -> None:
    from wavescope.cli.recorded import tell_running  # noqa: PLC0415  only when there is need
    from wavescope.collect.machine import Machine  # noqa: PLC0415
    from wavescope.collect.recording.nothing_recorded import why_nothing  # noqa: PLC0415
    from wavescope.collect.softgpu import SoftGpuOptions  # noqa: PLC0415

    say(f"nothing was recorded ({recording.end.words}); no trace was written", label="note")
    if recording.running:
        tell_running(recording)
        return
    runtime = SoftGpuOptions.parse(options.softgpu or "").other_runtime
    softgpu = options.softgpu is not None
    reasons = why_nothing(options.command, os.environ, Machine(), softgpu=softgpu, runtime=runtime)
    for reason in reasons:
        say(reason, label="note")
    say("`wavescope doctor` checks what recording needs", label="hint")


def _tell(
    arguments: argparse.Namespace,
    options: RecordOptions,
    recording: Recording,
    all_ranks: str,
    timeline: Path | None,
) -> None:
    from wavescope.cli.recorded import Told, tell_recording, write_timeline  # noqa: PLC0415

    if timeline is not None:
        write_timeline(options.output, timeline, force=options.force, quiet=arguments.quiet)
    tell_recording(
        Told(options, recording, all_ranks, timeline), quiet=arguments.quiet, as_json=arguments.json
    )


COMMAND = Command(
    "trace",
    "Run a program and record its kernels, copies and markers with exact times, at little cost. "
    "Its output, signals and exit code pass through; the processes it starts are recorded too. At "
    "the end one trace file is written, which also says what was seen and not timed.",
    (
        Example("wavescope trace -o trace.db python3 my_model.py", "kernels, copies and markers"),
        Example("wavescope trace --mode full --perfetto ./server -p 80", "graph replays too"),
        Example("wavescope trace --torch python3 train.py", "with ranges around torch operators"),
        Example("wavescope trace --softgpu=gfx90a,gpus=2 ./hip_program", "without a GPU"),
        Example("wavescope trace --softgpu=runtime=6.4 ./hip_program", "on ROCm 6.4, fetched once"),
        Example("wavescope trace -o t_%rank%.db ./app", "under mpirun or srun: a trace per rank"),
        Example("wavescope trace --last 30s ./server", "the newest 30 seconds, now and at the end"),
        Example("wavescope trace --start-paused ./server", "record between `start` and `stop`"),
    ),
    _add_arguments,
    _run,
)
