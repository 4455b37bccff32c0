"""Writes which PyTorch operator launched what, as `torch_trace/` of a workload folder."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from wavescope.formats.counters.torch_operators import (
    DISPATCHES_FILE,
    TORCH_FOLDER,
    OperatorCall,
    operator_dispatches,
)

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


def write_consolidated(folder: Path, order: Sequence[str]) -> int:
    """Write the operators of all passes, and of each dispatch of the first; how many rows."""
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
