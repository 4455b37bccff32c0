"""What every command and worker does before it works: memory, NumPy, and signals."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import os
import signal
import sys

from wavescope.stopping import STOPS, stop

_OBJECTS_PER_COLLECTION = 100_000
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # parameters of mallopt(3)


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


def clean_up_when_told_to_stop() -> None:
    """Let SIGINT, SIGTERM and SIGHUP unwind the stack, so that temporary files are removed."""
    with contextlib.suppress(ValueError):  # only the main thread may set handlers
        for number in STOPS:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, stop)
