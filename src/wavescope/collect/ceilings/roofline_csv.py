"""The file `roofline.csv` of a workload folder: measured ceilings, one row per GPU."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from wavescope.collect.ceilings.measurements import CEILINGS, MeasuredCeiling

_SPELLED_ELSEWHERE = {"HBMBwHigh": "hbmBwHigh", "MFMAI8OpsLow": "MFMAFI8OpsLow"}
"""Two columns that ROCm Compute Profiler writes, and reads, under a name that breaks the rule."""


def roofline_csv(measured: Mapping[int, Sequence[MeasuredCeiling]]) -> str:
    """The file's text: mean, mean minus and plus a standard deviation; by GPU number."""
    present = {each.ceiling.column for gpu in measured.values() for each in gpu}
    columns = [ceiling.column for ceiling in CEILINGS if ceiling.column in present]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["device", *_header(columns)])
    for gpu, ceilings in sorted(measured.items()):
        by_column = {each.ceiling.column: each for each in ceilings}
        cells: list[int | str] = [gpu]
        for column in columns:
            cells += _cells(by_column.get(column))
        writer.writerow(cells)
    return out.getvalue()


def _header(columns: Iterable[str]) -> list[str]:
    names = [column + end for column in columns for end in ("", "Low", "High")]
    return [_SPELLED_ELSEWHERE.get(name, name) for name in names]


def _cells(measured: MeasuredCeiling | None) -> list[str]:
    if measured is None:
        return ["", "", ""]
    mean, deviation = measured.mean, measured.deviation
    return [f"{value:.8g}" for value in (mean, mean - deviation, mean + deviation)]
