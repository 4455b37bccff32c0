"""The process that works on items: it limits itself, answers one item after the other, and ends.

It is a fresh interpreter, started by `process_handle`, and ends with whoever started it, however
that ends. What the work prints goes to standard error, which the other side keeps the end of.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import resource
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from wavescope.process import keep_freed_memory, tune_gc
from wavescope.workers.answers import answer_of, packed
from wavescope.workers.frames import ClosedError, received, send

READY = b"ready"
IDLE_EXIT = 75
"""The exit code of a process that nobody gave an item for long."""

_PR_SET_PDEATHSIG = 1
_OOM_SCORE = "500"


def main() -> None:
    """Work on what comes on standard input until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for whoever started this
    requests, replies = _own_descriptors()
    with suppress(ClosedError):
        setup = json.loads(received(requests))
        options = received(requests)
        _end_with(setup["starter"])
        _be_ended_first()
        faulthandler.enable()
        tune_gc()
        keep_freed_memory()
        send(replies, READY)
        _limit_memory(setup["memory_limit_bytes"])
        _serve(requests, replies, setup, options)
    os._exit(0)  # nothing is left that tidying up would be for


def _own_descriptors() -> tuple[int, int]:
    """The two pipes; reading gives nothing and printing goes to standard error from here on."""
    requests, replies = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, replies


def _end_with(starter: int) -> None:
    """Have the system end this process with the one that started it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != starter:  # it has ended already
        os._exit(1)


def _be_ended_first() -> None:
    """Where memory runs out, this process is ended rather than the command or others."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)


def _limit_memory(limit_bytes: int | None) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if limit_bytes is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        bound = limit_bytes if hard == resource.RLIM_INFINITY else min(limit_bytes, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))


def _serve(requests: int, replies: int, setup: dict[str, Any], options: bytes) -> None:
    while True:
        if not select.select([requests], [], [], setup["idle_limit_s"])[0]:
            os._exit(IDLE_EXIT)
        item = json.loads(received(requests))
        answer = packed(answer_of(setup["function"], item, options))
        sys.stdout.flush()
        sys.stderr.flush()
        send(replies, answer)
