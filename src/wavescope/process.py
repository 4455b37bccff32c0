"""This process: how it uses memory and imports NumPy, and how it ends when it is told to stop.

A signal unwinds the stack, so that temporary files are removed. Two things can be in the way: a
library that calls back and swallows the exception, and one call of native code that takes long, in
which Python does not look for signals. For the first there is `raise_if_told_to_stop`, for the
second a thread that removes temporary files and ends the program.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import ctypes
import gc
import importlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType

_OBJECTS_PER_COLLECTION = 100_000
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # parameters of mallopt(3)
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE_S = 0.7
_BEFORE_REPEATING_S = 0.02


def tune_gc() -> None:
    """Let Python look for unreachable objects seldom, and not once more at the end.

    Nearly all objects belong to modules, which live to the end: a search after every 700 new ones,
    as Python does it, is a tenth of the time that a small command takes.
    """
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def keep_freed_memory() -> None:
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


def import_numpy() -> None:
    """Import NumPy without the threads of its linear algebra, which nothing here uses.

    Starting them costs 60 ms of CPU, as much as the rest of the import. The variable is taken back,
    because programs started from here shall not see it.
    """
    if "numpy" in sys.modules or "OPENBLAS_NUM_THREADS" in os.environ:
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        with contextlib.suppress(ImportError):  # `wavescope doctor` says so, others fail by name
            importlib.import_module("numpy")
    finally:
        del os.environ["OPENBLAS_NUM_THREADS"]


class Stopping:
    """What this process was told, and what it has to remove before it ends."""

    signal_number = 0
    """The latest signal that told the program to stop, 0 when none has."""
    seen: set[int] = set()  # noqa: RUF012  there is one process
    """Signals that Python code has heard of."""
    temporary: set[str] = set()  # noqa: RUF012
    """Folders that are removed in the end."""


def stop(number: int, frame: FrameType | None = None) -> None:
    """Handle the signal `number`: the stack is unwound, after what `frame` is importing."""
    Stopping.seen.add(number)
    Stopping.signal_number = number
    if _is_loading_library(frame):
        _thread.start_new_thread(_repeat, (number, _thread.get_ident()))
    else:
        raise_if_told_to_stop()


def _is_loading_library(frame: FrameType | None) -> bool:
    """Whether Python is importing native code, which may end in a crash where that is unwound."""
    while frame is not None:
        if type(frame.f_locals.get("self")).__name__ == "ExtensionFileLoader":
            return True
        frame = frame.f_back
    return False


def _not_ignored_while_stopping(ignored: sys.UnraisableHookArgs) -> None:
    """Hear of what Python ignores: a stop that a `__del__` has swallowed is repeated.

    What was interrupted while it was made may fail to be unmade; nobody wants to read of it.
    """
    if not Stopping.signal_number:
        sys.__unraisablehook__(ignored)
    elif issubclass(ignored.exc_type, KeyboardInterrupt | SystemExit):
        _thread.start_new_thread(_repeat, (Stopping.signal_number, _thread.get_ident()))


def _repeat(number: int, thread: int) -> None:
    """Send the signal again, when what it came into may be over."""
    time.sleep(_BEFORE_REPEATING_S)
    signal.pthread_kill(thread, number)


def raise_if_told_to_stop() -> None:
    """Unwind the stack once more where somebody has swallowed the exception of a signal."""
    number = Stopping.signal_number
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    if number:
        raise SystemExit(128 + number)


def stop_was_obeyed() -> None:
    """Go on with what is to be done after a stop that asked for no more than that."""
    Stopping.signal_number = 0


@contextlib.contextmanager
def interrupts_wait() -> Iterator[None]:
    """This thread sees Ctrl-C after the block only, and threads that begin inside never do."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def removed_in_the_end(folder: str | os.PathLike[str]) -> Iterator[None]:
    """`folder` is removed after the block, and also where the program ends inside of it."""
    name = os.fspath(folder)
    Stopping.temporary.add(name)
    try:
        yield
    finally:
        remove_temporary(name)


def remove_temporary(folder: str) -> None:
    """Remove a folder of `Stopping.temporary`."""
    import shutil  # noqa: PLC0415  every command would wait for it

    shutil.rmtree(folder, ignore_errors=True)
    Stopping.temporary.discard(folder)


def end_where_no_signal_is_seen() -> None:
    """From here on a signal ends the program also during a long call of native code."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(ValueError):  # only the main thread is told of signals
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        # The thread inherits that no signal comes to it: the main thread is to be woken.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        # Where no thread can be started, a signal waits for the end of native code.
        with contextlib.suppress(RuntimeError):
            _thread.start_new_thread(_watch, (reading,))
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watch(reading: int) -> None:
    """Wait for signals; one that no Python code sees in time ends the program."""
    while numbers := os.read(reading, 64):
        told = next((number for number in numbers if number in STOPS), None)
        if told is None or told in Stopping.seen:
            continue
        time.sleep(_PATIENCE_S)
        if told not in Stopping.seen and signal.getsignal(told) is stop:
            end_at_once(128 + told)


def end_at_once(code: int) -> None:
    """End the program without waiting for threads; temporary folders are removed."""
    for folder in tuple(Stopping.temporary):
        remove_temporary(folder)
    os._exit(code)


def clean_up_when_told_to_stop() -> None:
    """Let SIGINT, SIGTERM and SIGHUP unwind the stack, so that temporary files are removed."""
    Stopping.signal_number = 0
    sys.unraisablehook = _not_ignored_while_stopping
    with contextlib.suppress(ValueError):  # only the main thread may set handlers
        for number in STOPS:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, stop)
