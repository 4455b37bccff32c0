"""The GPU's clock early and late in a run, where the trace has samples of it."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.model.columns import MONITORS
from wavescope.model.trace import Trace

_CLOCK = re.compile(r"sclk|gfx_?clk|graphics.*clock|engine.*clock|sm_?clock", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_PART = 0.2
_FEWEST_SAMPLES = 10
_NAME_LIMIT = 256


class ClockChange(NamedTuple):
    """The mean clock in the first and last fifth of the samples, in the unit they have."""

    early: float
    late: float

    @property
    def percent(self) -> float:
        return 100 * (self.late - self.early) / self.early if self.early else 0.0


def clock_change(trace: Trace) -> ClockChange | None:
    """How the engine clock of the GPUs changed; None where it was not sampled."""
    table = trace.table(MONITORS)
    if not len(table):
        return None
    table.load("quantity", "start_ns", "value")
    names = {code: trace.strings[code] for code in np.unique(table["quantity"]).tolist()}
    clocks = [code for code, text in names.items() if _CLOCK.search(text[:_NAME_LIMIT])]
    rows = np.flatnonzero(np.isin(table["quantity"], clocks))
    if len(rows) < _FEWEST_SAMPLES:
        return None
    rows = rows[np.argsort(table["start_ns"][rows], kind="stable")]
    part = max(1, int(_PART * len(rows)))
    early, late = (_mean(trace, table["value"][some]) for some in (rows[:part], rows[-part:]))
    return ClockChange(early, late) if early is not None and late is not None else None


def _mean(trace: Trace, codes: npt.NDArray[np.int32]) -> float | None:
    found = [_NUMBER.search(trace.strings[code][:_NAME_LIMIT]) for code in codes.tolist()]
    values = [float(each.group()) for each in found if each is not None]
    return sum(values) / len(values) if values else None
