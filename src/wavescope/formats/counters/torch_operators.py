"""Which PyTorch operator launched which dispatch, from the marker files of a profiled workload.

A dispatch belongs to the innermost range that was open on its thread when it was launched. The time
of the launch is that of the HIP call with the same correlation id; a dispatch without one is placed
by its own start, which is later than its launch.
"""

from __future__ import annotations

import bisect
import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from wavescope.errors import UnreadableInputError
from wavescope.formats.counters.machine_files import opened_csv
from wavescope.formats.counters.number_rows import whole_number

TORCH_FOLDER = "torch_trace"
DISPATCHES_FILE = "dispatches.csv"
CONSOLIDATED_FILE = "consolidated.csv"
CONSOLIDATED_COLUMNS = (
    "Operator_Name",
    "Context_Id",
    "Kernel_Name",
    "Counter_Name",
    "Counter_Value",
    "Start_Timestamp_function",
    "End_Timestamp_function",
    "Start_Timestamp_kernel",
    "End_Timestamp_kernel",
)
NO_OPERATOR = "(outside any operator)"
_SITE = " @"
_FILE_PATTERN = "torch_trace_{name}_*_{kind}.csv"
_Thread = tuple[str, str]


class OperatorCall(NamedTuple):
    """One call of an operator: its path of modules, which call of that line it is, and when."""

    path: str
    context: str
    start_ns: int
    end_ns: int


class OperatorDispatch(NamedTuple):
    """A dispatch with the operator that launched it and one of its counters."""

    process: str
    dispatch: int
    call: OperatorCall
    kernel: str
    counter: str
    value: str
    start_ns: int
    end_ns: int


@dataclass
class _ThreadCalls:
    """The nested ranges of one thread, in order of their starts."""

    starts: list[int] = field(default_factory=list)
    calls: list[OperatorCall] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)

    def at(self, time_ns: int) -> OperatorCall | None:
        """The innermost call that was open at a time."""
        row = bisect.bisect_right(self.starts, time_ns) - 1
        while row >= 0 and self.calls[row].end_ns <= time_ns:
            row = self.parents[row]
        return self.calls[row] if row >= 0 else None


def operator_dispatches(folder: Path, pass_name: str) -> Iterator[OperatorDispatch]:
    """Every dispatch and counter of a pass, with its operator."""
    threads = _calls_by_thread(_files(folder, pass_name, "marker_api_trace"))
    launches = _launch_times(_files(folder, pass_name, "hip_api_trace"))
    outside = OperatorCall(NO_OPERATOR, "", 0, 0)
    for path in _files(folder, pass_name, "counter_collection"):
        for row in _rows(path):
            process, thread = row.get("process_id", ""), row.get("thread_id", "")
            start_ns = whole_number(row.get("start_timestamp", ""))
            time_ns = launches.get((process, row.get("correlation_id", "")), start_ns)
            calls = threads.get((process, thread))
            yield OperatorDispatch(
                process,
                whole_number(row.get("dispatch_id", "")),
                (calls.at(time_ns) if calls else None) or outside,
                row.get("kernel_name", ""),
                row.get("counter_name", ""),
                row.get("counter_value", ""),
                start_ns,
                whole_number(row.get("end_timestamp", "")),
            )


def dispatch_operators(folder: Path) -> dict[int, str]:
    """The operator of each dispatch of a workload, by id; nothing where none were recorded."""
    path = folder / TORCH_FOLDER / DISPATCHES_FILE
    if not path.is_file():
        return {}
    return {
        whole_number(row.get("dispatch_id", "")): row.get("operator_name", "")
        for row in _rows(path)
    }


def write_operators(folder: Path, dispatches: Mapping[str, int]) -> int:
    """Write the operators of all passes that recorded any; how many rows.

    Of the pass with most dispatches, counted in `dispatches`, each dispatch's is written, too.
    """
    recorded = [name for name in dispatches if name in passes_with_operators(folder)]
    order = sorted(recorded, key=lambda name: -dispatches[name])
    target = folder / TORCH_FOLDER
    target.mkdir(exist_ok=True)
    count = 0
    unfinished = target / f"{CONSOLIDATED_FILE}.unfinished"
    with unfinished.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(CONSOLIDATED_COLUMNS)
        for name in order:
            for each in operator_dispatches(folder, name):
                call = each.call
                writer.writerow(
                    (
                        call.path,
                        call.context,
                        each.kernel,
                        each.counter,
                        each.value,
                        call.start_ns,
                        call.end_ns,
                        each.start_ns,
                        each.end_ns,
                    )
                )
                count += 1
    unfinished.replace(target / CONSOLIDATED_FILE)
    _write_dispatches(folder, order[0] if order else "")
    return count


def _write_dispatches(folder: Path, pass_name: str) -> None:
    """Dispatches are numbered as in the pass's own file: by process file, then as they come."""
    operators: dict[tuple[str, int], OperatorCall] = {}
    for each in operator_dispatches(folder, pass_name) if pass_name else ():
        operators.setdefault((each.process, each.dispatch), each.call)
    with (folder / TORCH_FOLDER / DISPATCHES_FILE).open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("Dispatch_ID", "Operator_Name", "Context_Id"))
        writer.writerows(
            (number, call.path, call.context) for number, call in enumerate(operators.values())
        )


def passes_with_operators(folder: Path) -> list[str]:
    """Names of the passes that recorded operators, in order."""
    names = set()
    for path in folder.glob("torch_trace_*_counter_collection.csv"):
        stem = path.name.removeprefix("torch_trace_").removesuffix("_counter_collection.csv")
        names.add(stem.rpartition("_")[0])
    return sorted(names)


def _files(folder: Path, name: str, kind: str) -> list[Path]:
    return sorted(folder.glob(_FILE_PATTERN.format(name=name, kind=kind)))


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with opened_csv(path) as (header, rows):
        names = [name.lower() for name in header]
        for row in rows:
            if len(row) == len(names):
                yield dict(zip(names, row, strict=True))


def _launch_times(paths: Sequence[Path]) -> dict[tuple[str, str], int]:
    times: dict[tuple[str, str], int] = {}
    for path in paths:
        for row in _rows(path):
            key = row.get("process_id", ""), row.get("correlation_id", "")
            times[key] = whole_number(row.get("start_timestamp", ""))
    return times


def _calls_by_thread(paths: Sequence[Path]) -> dict[_Thread, _ThreadCalls]:
    spans: dict[_Thread, list[tuple[int, int, str]]] = {}
    for path in paths:
        for row in _rows(path):
            thread = row.get("process_id", ""), row.get("thread_id", "")
            start_ns = whole_number(row.get("start_timestamp", ""))
            end_ns = whole_number(row.get("end_timestamp", ""))
            if "function" not in row:
                raise UnreadableInputError(path, "it has no column Function")
            spans.setdefault(thread, []).append((start_ns, end_ns, row["function"]))
    return {thread: _nested(rows) for thread, rows in spans.items()}


def _nested(spans: list[tuple[int, int, str]]) -> _ThreadCalls:
    result = _ThreadCalls()
    seen: dict[str, int] = {}
    open_rows: list[int] = []
    for start_ns, end_ns, text in sorted(spans, key=lambda span: (span[0], -span[1])):
        name, has_site, site = text.rpartition(_SITE)
        if not has_site:
            name, site = text, ""
        while open_rows and result.calls[open_rows[-1]].end_ns <= start_ns:
            open_rows.pop()
        parent = open_rows[-1] if open_rows else -1
        path = f"{result.calls[parent].path}/{name}" if open_rows else name
        seen[text] = seen.get(text, 0) + 1
        context = f"{seen[text]}@{site}" if site else str(seen[text])
        open_rows.append(len(result.calls))
        result.starts.append(start_ns)
        result.calls.append(OperatorCall(path, context, start_ns, end_ns))
        result.parents.append(parent)
    return result
