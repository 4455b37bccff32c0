"""How the C library treats memory that is freed: for processes that work on large arrays."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # parameters of mallopt(3)


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
