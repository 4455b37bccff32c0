"""`wavescope view`: the whole trace in a browser."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from contextlib import ExitStack

import wavescope
from wavescope.cli.browser import has_desktop, shown_in_browser
from wavescope.cli.command import Command, Example
from wavescope.cli.ending import (
    end_without_waiting,
    no_more_stopping,
    temporary_files_together,
)
from wavescope.cli.inputs import add_traces_argument
from wavescope.cli.options import (
    add_filter_flags,
    add_json_flag,
    add_quiet_flag,
    selection_from,
)
from wavescope.cli.terminal import print_json, say, traceback_if_asked
from wavescope.errors import EXIT_INTERRUPTED
from wavescope.model.result import Result, Value

_PATIENCE_S = 0.5
"""For answers that are being made when it is told to end."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces_argument(
        parser, "trace of any known format, never changed; several are shown one above the other"
    )
    parser.add_argument(
        "--align",
        metavar="WHERE",
        default="start",
        help="what several traces are lined up by: start (the default), step, step:3, "
        "marker:NAME or marker:3:NAME",
    )
    parser.add_argument(
        "--port", metavar="N", type=_port, default=0, help="port on 127.0.0.1 (default: a free one)"
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="neither use nor write ~/.cache/wavescope/view, which opens a trace at once next time",
    )
    parser.add_argument(
        "--label",
        metavar="TEXT",
        action="append",
        help="name of a trace, once for each in order (default: the file name)",
    )
    add_filter_flags(parser)
    add_quiet_flag(parser)
    add_json_flag(parser)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 5 and int(text) <= 65_535):
        raise argparse.ArgumentTypeError(f"'{text}' is not a port, a number up to 65535")
    return int(text)


def _run(arguments: argparse.Namespace) -> int:
    with (
        temporary_files_together() as remove_them,
        wavescope.open_view(
            arguments.traces,
            labels=arguments.label or (),
            align=arguments.align,
            port=arguments.port,
            cache=not arguments.no_cache,
            selection=selection_from(arguments),
            on_bug=traceback_if_asked,
        ) as view,
    ):
        code = EXIT_INTERRUPTED
        try:
            code = _served(view, arguments)
        finally:  # also when it is told once more before it is deaf to that
            with no_more_stopping():
                is_closed = view.closes_within(_PATIENCE_S)
                remove_them()
                if not is_closed:
                    end_without_waiting(code)
    return code


def _served(view: wavescope.OpenedView, arguments: argparse.Namespace) -> int:
    """The exit code when it was told to end."""
    try:
        with ExitStack() as stack:
            _tell(view, arguments)
            if not arguments.no_browser and has_desktop(os.environ):
                stack.enter_context(shown_in_browser(view.address))
            view.serve_forever()
    except KeyboardInterrupt:
        if not arguments.quiet:
            say("ended: the page no longer answers")
    except SystemExit as stop:  # SIGTERM or SIGHUP
        return int(stop.code or 0)
    return 0


def _tell(view: wavescope.OpenedView, arguments: argparse.Namespace) -> None:
    tunnel = f"ssh -L {view.port}:127.0.0.1:{view.port} {socket.gethostname()}"
    if arguments.json:
        facts: dict[str, Value] = {"address": view.address, "port": view.port, "tunnel": tunnel}
        print_json(Result("View").with_facts(facts))
    else:
        print(view.address)
    sys.stdout.flush()
    if not arguments.quiet:
        say(f"from another machine: {tunnel}, then open the same address there")
        say("keep the address to yourself: it shows the trace; Ctrl-C ends it")


COMMAND = Command(
    "view",
    "Show a trace in the browser: everything in it to move around in, exact at every zoom, from "
    "the whole run to single kernels, with the host beside the GPU. The page comes from this "
    "machine alone, is drawn while the file is read, and is there until Ctrl-C.",
    (
        Example("wavescope view trace.db", "opens the default browser"),
        Example("wavescope view before.db after.db", "two traces, one above the other"),
        Example(
            "wavescope view before.db after.db --align step:3", "lined up by their third steps"
        ),
        Example(
            "wavescope view trace.pftrace --port 8800 --no-browser",
            "on a server; from the desk: ssh -L 8800:127.0.0.1:8800 SERVER",
        ),
        Example("wavescope view huge.db --start 40% --end 50%", "a part, with less memory"),
    ),
    _add_arguments,
    _run,
)
