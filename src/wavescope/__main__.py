"""The program `wavescope`, also as `python -m wavescope`: it ends quietly from its start on."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    Handler = Callable[[int, FrameType | None], object]


def _end_quietly(number: int, _: FrameType | None) -> None:
    """End at once: nothing was begun yet, or all is done."""
    os._exit(128 + number)


def _replace_handler(before: Handler, after: Handler) -> None:
    """Have Ctrl-C handled by `after`, unless it is ignored or somebody else's matter."""
    if signal.getsignal(signal.SIGINT) is before:
        signal.signal(signal.SIGINT, after)


def main() -> int:
    """Run the command line of this process; the exit code."""
    from wavescope.cli.main import main as run_command  # noqa: PLC0415  takes its time, see below
    from wavescope.process import (  # noqa: PLC0415
        Stopping,
        end_at_once,
        end_where_no_signal_is_seen,
        stop,
    )

    end_where_no_signal_is_seen()
    try:
        _replace_handler(_end_quietly, stop)
        try:
            code = run_command()
        finally:
            _replace_handler(stop, _end_quietly)
    except KeyboardInterrupt:  # before the command got ready for one, or when it was done
        end_at_once(128 + signal.SIGINT)
    if Stopping.signal_number == signal.SIGINT and code == 128 + signal.SIGINT:
        # Python would end itself by the signal where Ctrl-C came while it made a class.
        end_at_once(code)
    return code


# Before anything else is imported: a Ctrl-C meanwhile would show a traceback of Python's own.
_replace_handler(signal.default_int_handler, _end_quietly)

if __name__ == "__main__":
    sys.exit(main())
