"""Reads counter files for the commands that take them: CSVs, folders of them, traces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.cli.inputs import opened_trace
from wavescope.cli.progress import Progress
from wavescope.errors import UnknownFormatError, UnreadableInputError

if TYPE_CHECKING:
    from wavescope.model.counters import CounterTable


def memory_counters(paths: Sequence[str], *, quiet: bool) -> list[CounterTable]:
    """The dispatches of all files with the counters that memory traffic needs."""
    from wavescope.analyze.traffic.dispatches import counters_of_trace  # noqa: PLC0415
    from wavescope.analyze.traffic.requests import TRAFFIC_COUNTERS  # noqa: PLC0415
    from wavescope.formats.counters import read_counter_files  # noqa: PLC0415
    from wavescope.model.counters import MEMORY_COUNTERS_HINT  # noqa: PLC0415

    def of_trace(path: Path) -> CounterTable:
        try:
            with opened_trace(str(path), quiet=quiet) as trace:
                return counters_of_trace(trace, str(path), TRAFFIC_COUNTERS.__contains__)
        except UnknownFormatError as error:
            raise UnreadableInputError(
                path,
                "it is no counter file: neither a counter CSV nor a trace",
                hint=MEMORY_COUNTERS_HINT,
            ) from error

    return read_counter_files(
        [Path(path) for path in paths],
        TRAFFIC_COUNTERS.__contains__,
        of_trace,
        lambda path: Progress(f"reading {path}", quiet=quiet),
    )
