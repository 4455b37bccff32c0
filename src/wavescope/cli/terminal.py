"""The two streams: data on standard output, talk on standard error."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from typing import TYPE_CHECKING, BinaryIO, TextIO, cast

from wavescope.errors import MachineError, WavescopeError
from wavescope.render.cells.escape import visible

if TYPE_CHECKING:
    from wavescope.model.result import Result

SPACE_HINT = "free some space, or choose another place with -o (TMPDIR for temporary files)"
_PIPE_WIDTH = 120
_LONGEST_MESSAGE = 2_000
_COLOR_OF = {"error": "1;31", "hint": "1;36", "note": "1;33"}


def prepare_streams() -> None:
    """Make both streams spell what their encoding lacks instead of failing on it.

    A stream that was closed before the start (`>&-`) takes what is written and drops it.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, io.TextIOWrapper(io.FileIO(os.devnull, "w")))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def keep_quiet_about_patterns() -> None:
    """Show no warning about what brackets in a regular expression may mean one day.

    Patterns are the user's; Python would name a line of our code instead of them.
    """
    warnings.filterwarnings("ignore", "Possible (nested )?set ", FutureWarning)


def say(message: str, *, label: str = "") -> None:
    """One line for the person at the terminal; untrusted text in it is made visible."""
    text = visible(message)
    if label:
        head = f"{label}:"
        if wants_color(sys.stderr):
            head = f"\x1b[{_COLOR_OF[label]}m{head}\x1b[0m"
        text = f"{head} {text}"
    print(text, file=sys.stderr, flush=True)


def say_error(error: WavescopeError) -> None:
    """What went wrong, and the next step; text of a file in it may be of any length."""
    say(_shortened(str(error)), label="error")
    if error.hint:
        say(_shortened(error.hint), label="hint")


def machine_error(error: OSError) -> MachineError:
    """What the operating system refused, with a way out."""
    reason = error.strerror or str(error)
    path = error.filename if isinstance(error.filename, str) else ""
    hints = {
        errno.ENOSPC: SPACE_HINT,
        errno.EDQUOT: SPACE_HINT,
        errno.EACCES: "choose another place with -o, or change the permissions",
        errno.EPERM: "choose another place with -o",
        errno.EROFS: "choose another place with -o",
        errno.ENOENT: "does the folder exist, and may files be made in it?",
        errno.EMFILE: "raise the limit of open files: ulimit -n 4096",
    }
    place = f"{path}: " if path else ""
    return MachineError(f"{place}{reason}", hint=hints.get(error.errno or 0, ""))


def _shortened(text: str) -> str:
    """`text`, or its beginning and end with the number of characters that are left out."""
    if len(text) <= _LONGEST_MESSAGE:
        return text
    half = _LONGEST_MESSAGE // 2
    return f"{text[:half]} ... ({len(text) - 2 * half:,} characters) ... {text[-half:]}"


def traceback_if_asked(error: BaseException) -> bool:
    """Show where `error` came from to those who debug wavescope; whether that was so."""
    if os.environ.get("WAVESCOPE_DEBUG", "0") in {"", "0"}:
        return False
    import traceback  # noqa: PLC0415  only for those who debug

    traceback.print_exception(error)
    return True


def data_stream() -> TextIO:
    """Standard output for exact text: on a terminal, what it would act on is made visible."""
    return cast(TextIO, _VisibleLines(sys.stdout)) if sys.stdout.isatty() else sys.stdout


def stdout_bytes() -> BinaryIO:
    """Standard output for bytes, in order with what was printed before."""
    sys.stdout.flush()
    return sys.stdout.buffer


def print_json(result: Result) -> None:
    """Print all of `result` as JSON."""
    from wavescope.render.results.json_text import write_json  # noqa: PLC0415  orjson, for --json only

    write_json(result, stdout_bytes())


class _VisibleLines:
    """Passes text on with everything but line ends made visible."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write("\n".join(visible(line) for line in text.split("\n")))


def wants_color(stream: TextIO) -> bool:
    """Whether `stream` is a terminal whose user did not switch colours off."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def terminal_width() -> int:
    """Columns of the terminal: COLUMNS, else that of whichever stream is one, else for a pipe."""
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated) > 0:
        return int(stated)
    streams = (sys.__stdout__, sys.__stderr__, sys.__stdin__)
    return next(filter(None, map(_columns_of, streams)), _PIPE_WIDTH)


def _columns_of(stream: TextIO | None) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream else 0
    except (OSError, ValueError):
        return 0


def drop_unwritable_output() -> None:
    """Send buffered output nowhere when it cannot be written: a closed pipe, a full disk.

    Otherwise the interpreter would try once more at exit and complain about it.
    """
    for stream in (sys.stdout, sys.stderr):
        _drop_if_unwritable(stream)


def _drop_if_unwritable(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
