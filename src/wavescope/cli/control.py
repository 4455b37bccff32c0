"""`wavescope start` and `wavescope stop`: pauses and resumes a running recording."""

from __future__ import annotations

import argparse
import os

from wavescope.cli.command import Command, Example
from wavescope.cli.options import add_json_flag, add_quiet_flag, process_id
from wavescope.cli.outputs import stdout_bytes
from wavescope.cli.terminal import say
from wavescope.errors import UsageError


def control_command(name: str, description: str, *, recording: bool) -> Command:
    """The command that sets whether a process is recorded."""

    def run(arguments: argparse.Namespace) -> int:
        return _set(arguments, recording=recording)

    verb = "resume" if recording else "pause"
    return Command(
        name,
        description,
        (Example(f"wavescope {name} 4711", f"{verb} the recording of that process"),),
        _add_arguments,
        run,
    )


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pid",
        metavar="PID",
        type=process_id,
        help="a recorded process, one above it, or `wavescope trace` itself for all it records",
    )
    add_quiet_flag(parser)
    add_json_flag(parser)


def _set(arguments: argparse.Namespace, *, recording: bool) -> int:
    from wavescope.collect.recording.running_sessions import is_dormant, pages_of, set_recording  # noqa: PLC0415

    pages = pages_of(arguments.pid, os.environ)
    if recording and is_dormant(pages[0].session):
        raise UsageError(
            f"process {pages[0].pid} runs dormant: it is recorded only while somebody is attached",
            hint=f"wavescope attach {pages[0].pid} --duration 10s",
        )
    for page in pages:
        set_recording(page, recording=recording)
    pids = ", ".join(str(page.pid) for page in pages)
    if arguments.json:
        from wavescope.model.result import Result  # noqa: PLC0415
        from wavescope.render.json_text import write_json  # noqa: PLC0415

        facts: dict[str, str | int | float | bool | None] = {"recording": recording, "pids": pids}
        write_json(Result("Recording", facts=facts), stdout_bytes())
    if not arguments.quiet:
        say(f"{'recording' if recording else 'paused'}: process {pids}")
    return 0
