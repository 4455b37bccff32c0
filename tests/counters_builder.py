"""Makes workload folders of hardware counters for tests."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from wavescope.model.counters import CounterTable, kernel_names_and_codes

SYSTEM = {
    "workload_name": "made",
    "gpu_arch": "gfx90a",
    "gpu_model": "MI200",
    "cu_per_gpu": "100",
    "simd_per_cu": "4",
    "se_per_gpu": "8",
    "wave_size": "64",
    "max_waves_per_cu": "32",
    "max_sclk": "1000",
    "max_mclk": "1000",
    "total_l2_chan": "4",
    "lds_banks_per_cu": "32",
    "sqc_per_gpu": "50",
    "pipes_per_gpu": "4",
    "num_xcd": "1",
    "num_hbm_channels": "10",
}
"""A chip with round numbers."""


class WorkloadMaker:
    """`a_workload(tmp_path).with_dispatch("k", 10, SQ_WAVES=4).write()`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.system = dict(SYSTEM)
        self._rows: list[dict[str, object]] = []
        self._clock_ns = 1_000

    def with_system(self, **cells: str) -> WorkloadMaker:
        """Change or add cells of sysinfo.csv."""
        self.system.update(cells)
        return self

    def with_dispatch(
        self, kernel: str, duration_ns: int, grid: int = 256, gpu: int = 0, **counters: object
    ) -> WorkloadMaker:
        """Add a dispatch with the values of its counters; `TCC_HIT__3` is channel 3."""
        row: dict[str, object] = {
            "Dispatch_ID": len(self._rows),
            "Kernel_Name": kernel,
            "GPU_ID": gpu,
            "Grid_Size": grid,
            "Workgroup_Size": 64,
            "LDS_Per_Workgroup": 0,
            "Scratch_Per_Workitem": 0,
            "Arch_VGPR": 8,
            "Accum_VGPR": 0,
            "SGPR": 16,
            "Start_Timestamp": self._clock_ns,
            "End_Timestamp": self._clock_ns + duration_ns,
        }
        self._clock_ns += duration_ns + 100
        self._rows.append(row | {_column(name): value for name, value in counters.items()})
        return self

    def write(self, name: str = "pmc_perf.csv") -> Path:
        """The folder with sysinfo.csv and the dispatches in file `name`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_csv(self.folder / "sysinfo.csv", [self.system])
        write_csv(self.folder / name, self._rows)
        return self.folder

    def write_long(self, name: str = "pmc_perf.csv") -> Path:
        """The same with one row for each dispatch and counter."""
        self.write(name)
        about = list(WorkloadMaker(self.folder).with_dispatch("", 0)._rows[0])
        counters = {key for row in self._rows for key in row} - set(about)
        rows = [
            {key: row[key] for key in about}
            | {"Counter_Name": counter, "Counter_Value": row[counter]}
            for row in self._rows
            for counter in sorted(counters)
            if counter in row
        ]
        write_csv(self.folder / name, rows)
        return self.folder


def a_workload(folder: Path) -> WorkloadMaker:
    """A workload in `folder`, without dispatches yet."""
    return WorkloadMaker(folder)


def counted(
    *dispatches: tuple[str, int | None, Mapping[str, float]], path: str = "out.csv"
) -> CounterTable:
    """A table of (kernel, duration, counters), dispatches numbered from 1."""
    names, codes = kernel_names_and_codes(kernel for kernel, _, _ in dispatches)
    counters = dict.fromkeys(name for _, _, values in dispatches for name in values)
    spans = [np.nan if duration is None else float(duration) for _, duration, _ in dispatches]
    return CounterTable(
        path,
        names,
        codes,
        np.arange(1, len(dispatches) + 1),
        np.zeros(len(dispatches), np.int64),
        np.array(spans),
        {
            name: np.array([float(values.get(name, np.nan)) for _, _, values in dispatches])
            for name in counters
        },
    )


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows with the columns of all of them, in order of appearance."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, names, restval="")
        writer.writeheader()
        writer.writerows(rows)


def _column(name: str) -> str:
    family, mark, channel = name.partition("__")
    return f"{family}[{channel}]" if mark else name
