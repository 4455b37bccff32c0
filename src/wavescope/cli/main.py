"""The `wavescope` command: finds a command's module, runs it, turns errors into exit codes.

Only the module of the chosen command is imported, so that `wavescope --help` is instant.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import errno
import gc
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NamedTuple, NoReturn

from wavescope.cli.command import Command
from wavescope.cli.inputs import GivenInput, given_inputs
from wavescope.cli.terminal import drop_unwritable_output, prepare_streams, say, say_error
from wavescope.errors import (
    EXIT_BROKEN_PIPE,
    EXIT_BUG,
    EXIT_INTERRUPTED,
    MachineError,
    UsageError,
    WavescopeError,
)
from wavescope.version import __version__

_OBJECTS_PER_COLLECTION = 100_000
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # parameters of mallopt(3)
_SPACE_HINT = "free some space, or choose another place with -o (TMPDIR for temporary files)"
_NO_SPACE = MachineError("no space left on the disk", hint=_SPACE_HINT)


class CommandEntry(NamedTuple):
    """A row of the command table: what `wavescope --help` says without importing the command."""

    name: str
    module: str
    summary: str
    aliases: tuple[str, ...] = ()


COMMANDS = (
    CommandEntry("trace", "trace", "run a program and record what its GPUs do"),
    CommandEntry("info", "info", "what a trace holds: span, GPUs, processes, tables, coverage"),
    CommandEntry("summary", "summary", "where the time goes: kernels, utilization, gaps, copies"),
    CommandEntry("report", "report", "a trace as one page: findings, timeline, kernels, phases"),
    CommandEntry(
        "analyze-trace", "analyze_trace", "what is worth changing, with evidence", ("findings",)
    ),
    CommandEntry("phases", "phases", "what each marked phase did: prefill, decode, ..."),
    CommandEntry("steps", "steps", "how long each step takes, found by what repeats"),
    CommandEntry("compare", "compare", "what changed between traces; a verdict on repeated runs"),
    CommandEntry("overhead", "overhead", "what recording costs a program, measured in turns"),
    CommandEntry("query", "query", "run SQL on a trace, read-only"),
    CommandEntry("convert", "convert", "write a trace for other tools: Perfetto, ...", ("export",)),
    CommandEntry("merge", "merge", "put the traces of many processes or ranks into one"),
    CommandEntry("trim", "trim", "keep a part of a trace: time, marker, GPU, process"),
    CommandEntry("recover", "recover", "make a trace of what an interrupted recording left"),
    CommandEntry("run", "run", "run a program asleep, to be recorded when you attach to it"),
    CommandEntry("attach", "attach", "record some seconds of a program that runs dormant"),
    CommandEntry("snapshot", "snapshot", "write a trace of what a recording has so far"),
    CommandEntry("pause", "pause", "pause a recording from outside the program", ("stop",)),
    CommandEntry("resume", "resume", "resume a recording from outside the program", ("start",)),
    CommandEntry("hotspots", "hotspots", "where a kernel stalls: instructions, lines, waits"),
    CommandEntry("capture-att", "capture_att", "trace a kernel with rocprofv3 and analyse it"),
    CommandEntry("plan", "plan", "what to change in a traced kernel, and for how much at most"),
    CommandEntry("diff-att", "diff_att", "what changed between two captures of one kernel"),
    CommandEntry("report-att", "report_att", "a capture as one page: plan, code, waves"),
    CommandEntry("occupancy", "occupancy", "how many waves of a kernel fit, what limits them"),
    CommandEntry("traffic", "traffic", "how kernels use L2 and memory, from hardware counters"),
    CommandEntry("analyze", "analyze", "metric panels of a kernel from hardware counters"),
    CommandEntry("metrics", "metrics", "the metrics of a chip: ids, meanings, formulas, counters"),
    CommandEntry("roofline", "roofline", "how near kernels come to what the chip can do"),
    CommandEntry("softgpu", "softgpu", "run a ROCm program without a GPU"),
    CommandEntry("profile", "profile", "collect hardware counters of a program's kernels"),
    CommandEntry("ceilings", "ceilings", "measure how fast this GPU can be, for rooflines"),
    CommandEntry("doctor", "doctor", "what works on this machine, and how to get what is missing"),
    CommandEntry("demo", "demo", "a tour: record LLM inference on software GPUs and analyse it"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (the process's own by default); the exit code."""
    _search_little_for_garbage()
    prepare_streams()
    _clean_up_when_told_to_stop()
    arguments = list(sys.argv[1:] if argv is None else argv)
    inputs: list[GivenInput] = []
    try:
        code = _dispatch(arguments, inputs)
        sys.stdout.flush()
    except WavescopeError as error:
        return _report(error)
    except KeyboardInterrupt:
        say("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        drop_unwritable_output()
        return EXIT_BROKEN_PIPE
    except MemoryError as error:
        return _report(_out_of_memory(), error)
    except OSError as error:
        drop_unwritable_output()
        return _report(_error_for(error, inputs), error)
    except Exception as error:  # noqa: BLE001  the last line of defence: a bug, and said to be one
        return _report(_NO_SPACE, error) if _is_full_disk(error) else _report_bug(error)
    return code


def entry_for(name: str) -> CommandEntry:
    """The row of the command called `name`, or a usage error that offers the nearest one."""
    for entry in COMMANDS:
        if name in (entry.name, *entry.aliases):
            return entry
    import difflib  # noqa: PLC0415  only for mistakes

    near = difflib.get_close_matches(name, [entry.name for entry in COMMANDS], 1)
    hint = f"did you mean `wavescope {near[0]}`?" if near else "`wavescope --help` lists them"
    raise UsageError(f"there is no command '{name}'", hint=hint)


def command_of(entry: CommandEntry) -> Command:
    """The command itself, imported now."""
    command = importlib.import_module(f"wavescope.cli.{entry.module}").COMMAND
    assert isinstance(command, Command)
    return command


def help_text() -> str:
    """What `wavescope --help` prints."""
    width = max(len(entry.name) for entry in COMMANDS)
    rows = "\n".join(f"  {entry.name:<{width}}  {entry.summary}" for entry in COMMANDS)
    return (
        "usage: wavescope COMMAND ...\n\n"
        "GPU profiling toolkit: one command line, one trace file.\n\n"
        f"commands:\n{rows}\n\n"
        "options:\n"
        "  -h, --help  show this text\n"
        "  --version   show the version\n\n"
        "`wavescope COMMAND --help` explains a command with examples. Every command has --json.\n"
        "exit codes: 0 ok, 1 a check failed, 2 usage, 3 unreadable input, 4 this machine,\n"
        "5 inconclusive, of `wavescope trace` the program's own\n"
    )


def _dispatch(arguments: list[str], inputs: list[GivenInput]) -> int:
    if not arguments:
        sys.stderr.write(help_text())
        return UsageError.exit_code
    first, *rest = arguments
    if first == "help" and rest:
        first, rest = rest[0], ["--help"]
    if first in {"-h", "--help", "help"}:
        sys.stdout.write(help_text())
        return 0
    if first in {"-V", "--version"}:
        sys.stdout.write(f"wavescope {__version__}\n")
        return 0
    if first.startswith("-"):
        raise UsageError(f"'{first}' is not an option", hint="start with a command; see --help")
    command = command_of(entry_for(first))
    parser = command.parser()
    try:
        namespace = parser.parse_args(rest)
    except SystemExit as stop:  # argparse printed --help
        return int(stop.code or 0)
    inputs += given_inputs(parser, namespace)
    _keep_freed_memory()
    _import_numpy()
    return command.run(namespace)


def _search_little_for_garbage() -> None:
    """Let Python look for unreachable objects seldom, and not once more at the end.

    Nearly all objects belong to modules, which live to the end: a search after every 700 new ones,
    as Python does it, is a tenth of the time that a small command takes.
    """
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def _keep_freed_memory() -> None:
    """Tell glibc to reuse freed memory instead of giving it back to the system at once.

    Analyses free and ask for arrays of tens of megabytes again and again; having the system clear
    the same pages each time costs more than the arithmetic on them.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library than glibc
        return
    mallopt(_M_MMAP_THRESHOLD, 1 << 28)
    mallopt(_M_TRIM_THRESHOLD, 1 << 30)


def _import_numpy() -> None:
    """Import NumPy without the threads of its linear algebra, which nothing here uses.

    Starting them costs 60 ms of CPU, as much as the rest of the import. The variable is taken back,
    because programs started from here shall not see it.
    """
    if "OPENBLAS_NUM_THREADS" in os.environ:
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        with contextlib.suppress(ImportError):  # `wavescope doctor` says so, others fail by name
            importlib.import_module("numpy")
    finally:
        del os.environ["OPENBLAS_NUM_THREADS"]


def _clean_up_when_told_to_stop() -> None:
    """Let SIGTERM and SIGHUP unwind the stack, so that temporary files are removed."""

    def stop(number: int, _: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    with contextlib.suppress(ValueError):  # only the main thread may set handlers
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, stop)


def _error_for(error: OSError, inputs: list[GivenInput]) -> WavescopeError:
    """What the operating system refused, as an error with a way out."""
    unreadable = next(filter(None, (each.error_for(error) for each in inputs)), None)
    return unreadable or _machine_error(error)


def _machine_error(error: OSError) -> MachineError:
    reason = error.strerror or str(error)
    path = error.filename if isinstance(error.filename, str) else ""
    hints = {
        errno.ENOSPC: _SPACE_HINT,
        errno.EDQUOT: _SPACE_HINT,
        errno.EACCES: "choose another place with -o, or change the permissions",
        errno.EROFS: "choose another place with -o",
        errno.EMFILE: "raise the limit of open files: ulimit -n 4096",
    }
    place = f"{path}: " if path else ""
    return MachineError(f"{place}{reason}", hint=hints.get(error.errno or 0, ""))


def _is_full_disk(error: Exception) -> bool:
    """Whether SQLite, which has errors of its own, found no space."""
    sqlite3 = sys.modules.get("sqlite3")
    return (
        sqlite3 is not None
        and isinstance(error, sqlite3.OperationalError)
        and "disk is full" in str(error)
    )


def _out_of_memory() -> MachineError:
    return MachineError(
        "there is not enough memory",
        hint="look at a part: --start and --end, or `wavescope trim` writes a smaller trace",
    )


def _report(error: WavescopeError, cause: BaseException | None = None) -> int:
    say_error(error)
    _traceback_if_asked(cause or error)
    return error.exit_code


def _report_bug(error: Exception) -> int:
    say(f"sorry, this is a bug in wavescope: {type(error).__name__}: {error}", label="error")
    if not _traceback_if_asked(error):
        say("WAVESCOPE_DEBUG=1 in the environment shows the traceback to report", label="hint")
    return EXIT_BUG


def _traceback_if_asked(error: BaseException) -> bool:
    if os.environ.get("WAVESCOPE_DEBUG", "0") in {"", "0"}:
        return False
    import traceback  # noqa: PLC0415  only for those who debug

    traceback.print_exception(error)
    return True
