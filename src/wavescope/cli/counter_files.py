"""Reads counter files for the commands that take them: CSVs, folders of them, traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.cli.opened import opened_trace
from wavescope.cli.progress import Progress
from wavescope.errors import UnreadableInputError

if TYPE_CHECKING:
    from wavescope.model.dispatch_counters import DispatchCounters

COLLECT_HINT = (
    "collect for example: rocprofv3 --pmc TCC_HIT_sum TCC_MISS_sum TCC_EA0_RDREQ_sum "
    "TCC_EA0_RDREQ_32B_sum -f csv -- CMD, and TCC_BUBBLE_sum in a second run"
)
_MOST_FILES = 1_000


def read_counter_files(paths: Sequence[str], *, quiet: bool) -> DispatchCounters:
    """The dispatches of all files with the counters that memory traffic needs."""
    from wavescope.analyze.traffic.requests import TRAFFIC_COUNTERS  # noqa: PLC0415
    from wavescope.load.counters.loose_files import read_counter_csv  # noqa: PLC0415  slow to import
    from wavescope.model.dispatch_counters import united  # noqa: PLC0415

    parts = []
    skipped = None
    for path, kind in _files(paths):
        with Progress(f"reading {path}", quiet=quiet):
            if kind == "trace":
                parts.append(_of_trace(path, quiet=quiet))
                continue
            try:
                parts.append(read_counter_csv(path, TRAFFIC_COUNTERS.__contains__))
            except UnreadableInputError as error:
                if kind == "file":
                    raise
                skipped = error
    if skipped is not None and not parts:
        raise skipped
    return united(parts)


def _files(given: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """Files to read: 'file' as named, 'found' in a folder, 'trace' for other importers."""
    from wavescope.load.counters.loose_files import is_counter_csv  # noqa: PLC0415

    for text in given:
        path = Path(text)
        if path.is_dir():
            candidates = sorted(path.rglob("*.csv"))[:_MOST_FILES]
            found = [each for each in candidates if is_counter_csv(each)]
            if not found:
                raise UnreadableInputError(path, "no counter CSV in it", hint=COLLECT_HINT)
            yield from ((each, "found") for each in found)
        elif path.suffix.lower() == ".csv" or text.lower().endswith(".csv.gz"):
            yield path, "file"
        else:
            yield path, "trace"


def _of_trace(path: Path, *, quiet: bool) -> DispatchCounters:
    from wavescope.analyze.traffic.requests import TRAFFIC_COUNTERS  # noqa: PLC0415
    from wavescope.analyze.traffic.trace_counters import counters_of_trace  # noqa: PLC0415

    with opened_trace(str(path), quiet=quiet) as trace:
        return counters_of_trace(trace, str(path), TRAFFIC_COUNTERS.__contains__)
