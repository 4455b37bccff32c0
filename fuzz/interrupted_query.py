"""A statement that runs until it ends or Ctrl-C comes: one may well be endless."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import wavescope
from wavescope.cli.options import OutputFormat
from wavescope.cli.query_output import write_query

_PATIENCE_S = 1.0
_ENDS_WITHIN_S = 2.0
"""Of CPU, as all that is measured here: a second is promised."""
_MOST_ROWS = 1_000


def query_until_interrupted(trace: Path, statement: str) -> None:
    """Print the rows in a format, and of the file as it is or not, that the statement chooses."""
    formats = list(OutputFormat)
    wanted = formats[len(statement) % len(formats)]
    with (
        _interrupted(),
        wavescope.query(trace, statement, raw=len(statement) % 2 == 1) as rows,
    ):
        write_query(rows.columns, itertools.islice(rows, _MOST_ROWS), wanted)


@contextmanager
def _interrupted() -> Iterator[None]:
    """What is inside is interrupted after a second, and ends soon after that."""
    told: list[float] = []

    def interrupt(*_: object) -> None:
        told.append(time.process_time())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, _PATIENCE_S)
    try:
        yield
    except KeyboardInterrupt:
        if not told:
            raise
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    late_s = time.process_time() - told[0] if told else 0.0
    assert late_s < _ENDS_WITHIN_S, f"it ended {late_s:.1f} s after it was interrupted"
