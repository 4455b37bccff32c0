"""The files of a workload that tell of its machine: what it is, and how fast it can be.

They are small CSVs, read leniently: bytes that are no UTF-8 are replaced, rows may be short.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from wavescope.errors import UnreadableInputError
from wavescope.formats.counters.number_rows import real_number
from wavescope.formats.csv_blocks import MOST_COLUMNS, CsvBlocks
from wavescope.model.derived_specs import derived_specs
from wavescope.model.progress import Notes
from wavescope.model.workload_layout import CEILINGS_FILE, SYSTEM_FILE, present_fact

_FILE_LIMIT = 1_000
_LARGEST_BYTES = 4 << 20
_LEVELS_UP = 2
_CLOCKS = ("max_sclk", "max_mclk", "cur_sclk", "cur_mclk")
_POSITIVE = (*_CLOCKS, "cu_per_gpu", "num_xcd", "se_per_gpu", "total_l2_chan", "wave_size")
_SPELLED_ELSEWHERE = {"HBMBwHigh": "hbmBwHigh", "MFMAI8OpsLow": "MFMAFI8OpsLow"}
"""Two columns that ROCm Compute Profiler writes, and reads, under a name that breaks the rule."""


@contextmanager
def opened_csv(path: Path) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """The header and the rows of a CSV file; bytes that are no UTF-8 are replaced."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            rows = csv.reader(stream)
            header = next(rows, [])
            if len(header) > MOST_COLUMNS:
                raise UnreadableInputError(path, f"it has {len(header):,} columns")
            yield [name.strip() for name in header], rows
    except OSError as error:
        raise UnreadableInputError(path, error.strerror or str(error)) from error
    except csv.Error as error:
        raise UnreadableInputError(path, f"it is not a CSV file: {error}") from error


def machine_beside(path: Path) -> tuple[str, str]:
    """Chip and product by agent_info.csv or sysinfo.csv in the folder or above; '' if unknown."""
    for candidate in _candidates(path):
        try:
            found = _machine_of(candidate)
        except (UnreadableInputError, OSError):
            continue
        if found[0]:
            return found
    return "", ""


def _candidates(path: Path) -> Iterator[Path]:
    folder = path.resolve().parent
    for _ in range(_LEVELS_UP):
        for number, each in enumerate(sorted(folder.glob("*.csv"))):
            if number >= _FILE_LIMIT:
                break
            name = each.name.casefold()
            if name.endswith("agent_info.csv") or name == "sysinfo.csv":
                yield each
        folder = folder.parent


def _machine_of(path: Path) -> tuple[str, str]:
    if not path.is_file() or path.stat().st_size > _LARGEST_BYTES:
        return "", ""
    with CsvBlocks(path, free_text=("command", "product_name")) as blocks:
        header = blocks.header
        for rows in blocks.rows():
            for row in rows:
                cells = dict(zip(header, row, strict=True))
                chip = cells.get("gpu_arch") or cells.get("name", "")
                if chip.startswith("gfx") and cells.get("agent_type", "GPU").upper() == "GPU":
                    return chip, cells.get("gpu_model") or cells.get("product_name", "")
    return "", ""


def read_system(folder: Path) -> dict[str, str]:
    """All cells of the one row of sysinfo.csv, as text."""
    path = folder / SYSTEM_FILE
    if not path.is_file():
        raise UnreadableInputError(
            folder,
            f"it has no {SYSTEM_FILE}, so the chip is not known",
            hint="a workload folder holds sysinfo.csv and pmc_perf.csv; `wavescope traffic FILE` "
            "reads counters without it",
        )
    with opened_csv(path) as (header, rows):
        row = next(rows, None)
    if row is None or not header:
        raise UnreadableInputError(path, "it has no row", hint="collect the workload again")
    system = {present_fact(name): cell for name, cell in zip(header, row, strict=False) if name}
    if not system.get("gpu_arch", "").strip():
        raise UnreadableInputError(path, "it does not name the chip (column gpu_arch)")
    return system


def numeric_facts(system: Mapping[str, str], notes: Notes) -> dict[str, float]:
    """The numbers among the cells, completed by what the chip implies.

    A clock of 0 is no clock: it is left out, so that what needs it says so.
    """
    facts = {}
    for name, cell in system.items():
        number = real_number(cell)
        if math.isfinite(number) and not (name in _POSITIVE and number <= 0):
            facts[name] = number
    for clock in ("max_sclk", "max_mclk"):
        if clock not in facts:
            notes.add(f"{SYSTEM_FILE} has no {clock}: what needs the clock is not available")
    for name, value in derived_specs(system, facts).items():
        if name not in facts:
            facts[name] = value
            notes.add(f"{SYSTEM_FILE} has no {name}: {value:g} is assumed")
    return facts


def ceilings_in(folder: Path, notes: Notes) -> list[dict[str, float]]:
    """The peaks that a benchmark measured on the machine; none with a note where unreadable."""
    path = folder / CEILINGS_FILE
    try:
        return _ceilings_of(path, notes) if path.is_file() else []
    except UnreadableInputError as error:
        notes.add(f"{CEILINGS_FILE} was left out: {error.reason}")
        return []


def _ceilings_of(path: Path, notes: Notes) -> list[dict[str, float]]:
    """The measured peaks of each GPU by column name; rows that hold none are noted."""
    spelled = {slip: name for name, slip in _SPELLED_ELSEWHERE.items()}
    found = []
    with opened_csv(path) as (header, rows):
        names = [spelled.get(name, name) for name in header]
        for row in rows:
            numbers = {
                name: value
                for name, value in zip(names, map(real_number, row), strict=False)
                if math.isfinite(value) and (name == "device" or value > 0)
            }
            if len(numbers) > 1:
                found.append(numbers)
            elif row:
                notes.add(f"{path.name}: a row holds no numbers")
    if not found:
        notes.add(f"{path.name} holds no measured peaks")
    return found


class MeasuredPeak(NamedTuple):
    """A column of roofline.csv: mean and standard deviation over samples."""

    mean: float
    deviation: float


def ceilings_csv(measured: Mapping[int, Mapping[str, MeasuredPeak]], order: Sequence[str]) -> str:
    """The text of roofline.csv: by GPU each mean, and that minus and plus a deviation."""
    columns = [name for name in order if any(name in gpu for gpu in measured.values())]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [column + end for column in columns for end in ("", "Low", "High")]
    writer.writerow(["device", *(_SPELLED_ELSEWHERE.get(name, name) for name in names)])
    for number, gpu in sorted(measured.items()):
        writer.writerow([number, *_peak_cells(gpu.get(column) for column in columns)])
    return out.getvalue()


def _peak_cells(peaks: Iterable[MeasuredPeak | None]) -> Iterator[str]:
    for peak in peaks:
        if peak is None:
            yield from ("", "", "")
        else:
            values = (peak.mean, peak.mean - peak.deviation, peak.mean + peak.deviation)
            yield from (f"{value:.8g}" for value in values)
