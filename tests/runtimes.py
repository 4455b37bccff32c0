"""The ROCm that tests run on: the machine's own, or the one that WAVESCOPE_TEST_RUNTIME names.

`make test-runtimes` runs the tests marked `recording` once for each that can be fetched.
"""

from __future__ import annotations

import os
from functools import cache

from wavescope.collect.runtimes import Runtime, chosen_runtime

MACHINE = "machine"
TESTED = os.environ.get("WAVESCOPE_TEST_RUNTIME", MACHINE)
CACHE = {n: v for n, v in os.environ.items() if n == "WAVESCOPE_RUNTIMES"}
"""Tests see no settings of the machine; where its runtimes are is what these are about."""


@cache
def runtime_under_test() -> Runtime | None:
    """The runtime that programs of tests are built for; None is the machine's own."""
    return chosen_runtime(TESTED, {**os.environ, **CACHE})
