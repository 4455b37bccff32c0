"""A block of CSV rows as columns by lower-case name, and the GPUs that their agent ids mean."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wavescope.arrays.array_types import Array
from wavescope.formats.rocprofv3.rows import GpuFacts, Rocprofv3Rows
from wavescope.model.columns import UNKNOWN

_AGENT = re.compile(r"([A-Za-z]*)\s*(\d{1,6})\s*\Z")


class CsvColumns:
    """The columns of some rows; a column that the file lacks is unknown throughout."""

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.row_count = len(rows)
        self._cells = dict(zip(header, zip(*rows, strict=True), strict=True)) if rows else {}

    def __contains__(self, name: str) -> bool:
        return name in self._cells

    def texts(self, *names: str) -> list[str]:
        """The cells of the first of `names` that is there, else empty texts."""
        for name in names:
            if name in self._cells:
                return list(self._cells[name])
        return [""] * self.row_count

    def integers(self, *names: str) -> npt.NDArray[np.int64]:
        """The numbers of the first of `names` that is there, -1 where a cell holds none."""
        for name in names:
            if name in self._cells:
                return _integers(self._cells[name])
        return np.full(self.row_count, UNKNOWN, np.int64)

    def reals(self, name: str) -> npt.NDArray[np.float64]:
        """The numbers of `name`, NaN where a cell holds none."""
        cells = self._cells.get(name, ())
        try:
            return np.array(list(map(float, cells)), np.float64)
        except ValueError:
            return np.array([_real(cell) for cell in cells], np.float64)


def _integers(cells: Sequence[str]) -> npt.NDArray[np.int64]:
    try:
        return np.array(list(map(int, cells)), np.int64)
    except (ValueError, OverflowError):
        return np.array([_integer(cell) for cell in cells], np.int64)


def _integer(cell: str) -> int:
    """The integer that a cell spells, also as 0x1f or 12.0; times never pass through a float."""
    text = cell.strip()
    whole, _, fraction = text.partition(".")
    if not fraction.strip("0"):
        text = whole
    try:
        number = int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        return UNKNOWN
    return number if -(1 << 63) <= number < 1 << 63 else UNKNOWN


def _real(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


class AgentNames:
    """Agents of one host, as agent_info.csv lists them or, without it, as the rows name them.

    Without that file nothing tells CPUs from GPUs, so 'Agent 3' then is GPU 3.
    """

    def __init__(self, rows: Rocprofv3Rows, host: str) -> None:
        self._rows = rows
        self._host = host
        self._gpus: dict[str, int] = {}
        self._is_listed = False

    def add(self, columns: CsvColumns) -> None:
        """Take rows of agent_info.csv."""
        self._is_listed = True
        logical = columns.integers("logical_node_id")
        nodes = columns.integers("node_id")
        is_gpu = np.array([kind.strip().upper() == "GPU" for kind in columns.texts("agent_type")])
        for index, row in enumerate(sorted(np.flatnonzero(is_gpu), key=lambda row: logical[row])):
            number = self._rows.gpu(
                GpuFacts(
                    host=self._host,
                    identity=int(nodes[row]),
                    number=index,
                    chip=columns.texts("name")[row],
                    model=columns.texts("product_name")[row],
                    cu_count=int(columns.integers("cu_count")[row]),
                    clock_mhz=int(columns.integers("max_engine_clk_fcompute")[row]),
                    wave_size=int(columns.integers("wave_front_size")[row]),
                )
            )
            self._gpus[f"agent {logical[row]}"] = number
            self._gpus.setdefault(f"agent {nodes[row]}", number)
            self._gpus[f"gpu {index}"] = number

    def gpus(self, agents: list[str]) -> Array:
        """The GPU of each agent id; 0 with a note where it is none."""
        known = {agent: self._gpu(agent) for agent in dict.fromkeys(agents)}
        found = np.array([known[agent] for agent in agents], np.int64)
        self._rows.builder.notes.add(
            "ops whose agent is no known GPU, counted for GPU 0", int((found < 0).sum())
        )
        return np.maximum(found, 0)

    def copy_ends(self, agents: list[str], types: list[str], side: str) -> Array:
        """The GPU at one end of each copy, -1 for the host; `side` in a type tells of a GPU."""
        known: dict[tuple[str, str], int] = {}
        for key in dict.fromkeys(zip(agents, types, strict=True)):
            is_device = side in key[1] or (self._is_listed and "Device" not in key[1])
            known[key] = self._gpu(key[0]) if is_device else UNKNOWN
        return np.array([known[key] for key in zip(agents, types, strict=True)], np.int64)

    def _gpu(self, agent: str) -> int:
        match = _AGENT.match(agent.strip())
        if match is None:
            return UNKNOWN
        kind, number = match[1].lower(), int(match[2])
        if kind == "cpu":
            return UNKNOWN
        key = f"gpu {number}" if kind == "gpu" else f"agent {number}"
        if key not in self._gpus and not self._is_listed:
            identity = number if kind != "gpu" else key
            self._gpus[key] = self._rows.gpu(GpuFacts(self._host, identity, number))
        return self._gpus.get(key, UNKNOWN)
