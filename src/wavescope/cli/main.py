"""The `wavescope` command: runs what a command line means, turns errors into exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import wavescope
from wavescope.cli.commands import help_text
from wavescope.cli.terminal import (
    SPACE_HINT,
    drop_unwritable_output,
    keep_quiet_about_patterns,
    machine_error,
    prepare_streams,
    say,
    say_error,
    traceback_if_asked,
)
from wavescope.errors import (
    EXIT_BROKEN_PIPE,
    EXIT_BUG,
    EXIT_INTERRUPTED,
    MachineError,
    UsageError,
    WavescopeError,
)
from wavescope.process import (
    Stopping,
    clean_up_when_told_to_stop,
    import_numpy,
    keep_freed_memory,
    tune_gc,
)
from wavescope.unpacking import is_full_disk, unpacking_limited

if TYPE_CHECKING:
    from wavescope.cli.inputs import GivenInput

_EXPERIMENTAL = "--experimental"
"""ROCm Compute Profiler wants it before commands that map counters to operators of PyTorch: its
command lines work here as well, where that is no experiment."""
_NO_THREAD = "can't start new thread"
"""What Python says where the system refuses one."""
_TOO_FEW_THREADS = MachineError(
    "the machine lets this program start no more threads",
    hint="`ulimit -a` shows the limits on processes (-u) and on memory (-v)",
)
_NO_SPACE = MachineError("no space left on the disk", hint=SPACE_HINT)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (the process's own by default); the exit code."""
    tune_gc()
    prepare_streams()
    keep_quiet_about_patterns()
    clean_up_when_told_to_stop()
    arguments = list(sys.argv[1:] if argv is None else argv)
    inputs: list[GivenInput] = []
    try:
        code = _dispatch(arguments, inputs)
        sys.stdout.flush()
    except KeyboardInterrupt:
        say("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        drop_unwritable_output()
        return EXIT_BROKEN_PIPE
    except Exception as error:  # noqa: BLE001  the last line of defence
        if Stopping.signal_number:  # what was interrupted may take that for damage
            return 128 + Stopping.signal_number
        return _report_any(error, arguments, inputs)
    return code


def _dispatch(arguments: list[str], inputs: list[GivenInput]) -> int:
    if arguments[:1] == [_EXPERIMENTAL]:
        arguments = arguments[1:]
    if not arguments:
        sys.stderr.write(help_text())
        return UsageError.exit_code
    if arguments[0] == "help" and arguments[1:]:
        arguments = [*arguments[1:], "--help"]
    first = arguments[0]
    if first in {"-h", "--help", "help"}:
        sys.stdout.write(help_text())
        return 0
    if first in {"-V", "--version"}:
        sys.stdout.write(f"wavescope {wavescope.__version__}\n")
        return 0
    if first.startswith("-"):
        raise UsageError(f"'{first}' is not an option", hint="start with a command; see --help")
    from wavescope.cli.dispatch import invocation  # noqa: PLC0415  --help parses no arguments
    from wavescope.cli.inputs import given_inputs  # noqa: PLC0415

    call = invocation(arguments)
    parser = call.parser()
    try:
        namespace = parser.parse_args(call.arguments)
    except SystemExit as stop:  # argparse printed --help
        return int(stop.code or 0)
    inputs += given_inputs(parser, namespace)
    if call.command.computes:
        keep_freed_memory()
        import_numpy()
    with unpacking_limited(getattr(namespace, "max_unpacked", None)):
        return call.command.run(namespace)


def _report_any(error: Exception, arguments: list[str], inputs: list[GivenInput]) -> int:
    """Say what was raised, in one sentence; the exit code."""
    if isinstance(error, WavescopeError):
        from wavescope.cli.dispatch import with_right_command  # noqa: PLC0415

        return _report(with_right_command(error, arguments, inputs))
    if isinstance(error, MemoryError):
        return _report(_out_of_memory(), error)
    if isinstance(error, RuntimeError) and _NO_THREAD in str(error):
        return _report(_TOO_FEW_THREADS, error)
    if isinstance(error, OSError):
        drop_unwritable_output()
        return _report(_error_for(error, inputs), error)
    if isinstance(error, ImportError) and not (error.name or "").startswith("wavescope"):
        return _report(_unusable_library(error), error)
    return _report(_NO_SPACE, error) if is_full_disk(error) else _report_bug(error)


def _error_for(error: OSError, inputs: list[GivenInput]) -> WavescopeError:
    """What the operating system refused, as an error with a way out."""
    unreadable = next(filter(None, (each.error_for(error) for each in inputs)), None)
    return unreadable or machine_error(error)


def _out_of_memory() -> MachineError:
    return MachineError(
        "there is not enough memory",
        hint="choose a part with --start and --end, or write a smaller trace with `wavescope trim`",
    )


def _unusable_library(error: ImportError) -> MachineError:
    """A package that is missing or broken; the last line of long explanations says why."""
    lines = [line for line in str(error).splitlines() if line.strip()] or ["no reason is given"]
    return MachineError(
        f"a library that this needs cannot be loaded: {lines[-1].strip()}",
        hint="`wavescope doctor` says what is missing, and how to get it",
    )


def _report(error: WavescopeError, cause: BaseException | None = None) -> int:
    say_error(error)
    traceback_if_asked(cause or error)
    return error.exit_code


def _report_bug(error: Exception) -> int:
    say(f"sorry, this is a bug in wavescope: {type(error).__name__}: {error}", label="error")
    if not traceback_if_asked(error):
        say("WAVESCOPE_DEBUG=1 in the environment shows the traceback to report", label="hint")
    return EXIT_BUG
