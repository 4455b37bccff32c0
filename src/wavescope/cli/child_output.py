"""Where programs print that a command runs along the way: its own standard output stays data."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

STDOUT, STDERR = 1, 2


@contextmanager
def children_print_to(output: int, errors: int) -> Iterator[None]:
    """Programs started meanwhile have these descriptors as standard output and error."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept_output, kept_errors = os.dup(STDOUT), os.dup(STDERR)
    try:
        os.dup2(output, STDOUT)
        os.dup2(errors, STDERR)
        yield
    finally:
        os.dup2(kept_output, STDOUT)
        os.dup2(kept_errors, STDERR)
        os.close(kept_output)
        os.close(kept_errors)
