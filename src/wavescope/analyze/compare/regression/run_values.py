"""What is asked of repeated runs, and what one run says: the time of its steps and kernels."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

import numpy as np
import numpy.typing as npt

from wavescope.analyze.compare.figures import FigureOptions, TraceFigures, coverage_percent
from wavescope.analyze.compare.statistics.effects import TestOptions
from wavescope.analyze.compare.statistics.run_order import FROM_FILES
from wavescope.analyze.compare.step_times import OUTSIDE, Metric, counted_steps, step_totals
from wavescope.analyze.ops.coverage import recorded
from wavescope.errors import UnreadableInputError, UsageError
from wavescope.model.trace import Trace

FloatArray = npt.NDArray[np.float64]

_MOST_KERNELS = 400
_MOST_STEPS = 4_096
_FIRST_DATE_NS, _LAST_DATE_NS = 946_684_800 * 10**9, 4_102_444_800 * 10**9
"""2000 and 2100: clocks that count from a machine's start do not reach them."""
_DIGITS = re.compile(r"\d{1,19}", re.ASCII)


@dataclass(frozen=True)
class RunOptions:
    """What is read from each run."""

    metric: Metric = Metric.GPU_TIME
    figures: FigureOptions = field(default_factory=FigureOptions)
    step: str = ""
    """Markers that are steps; empty for the usual names."""
    skip_steps: int | None = None
    """Steps at the beginning that are left out; None for those found to be a warm-up."""


MOST_OUTSIDE_PERCENT = 10.0
"""Steps that nobody asked for must hold all but this share of each run's GPU time."""


class Per(str, enum.Enum):
    """What one value stands for."""

    AUTO = "auto"
    """A step, where the steps hold nearly all of the GPU time of every run; else a run."""
    STEP = "step"
    RUN = "run"


class Gate(str, enum.Enum):
    """What decides the verdict."""

    TOTAL = "total"
    """The metric as a whole; kernels are shown."""
    KERNELS = "kernels"
    """The whole and every kernel of note: one that regressed is enough."""


@dataclass(frozen=True)
class CheckOptions:
    """How sure a verdict must be, and what matters."""

    threshold_percent: float = 1.0
    """Changes smaller than this do not matter."""
    min_share_percent: float = 0.5
    """Kernels with a smaller share of the time of all runs are not tested."""
    gate: Gate = Gate.TOTAL
    per: Per = Per.AUTO
    test: TestOptions = field(default_factory=TestOptions)
    runs: RunOptions = field(default_factory=RunOptions)
    order: str = FROM_FILES
    """The order in which runs were made: `auto` (the traces' times of recording), `base-first`,
    `interleaved`, or a letter for each run, such as `bnnb`."""
    match_renamed: bool = True
    """Whether kernels that only one version has are looked for under another name."""


@dataclass(frozen=True)
class RunValues:
    """The values of one run; every array has one entry for each step."""

    path: str
    total: FloatArray
    kernels: dict[str, FloatArray]
    kernel_ns: dict[str, int]
    """All time of each kernel, in steps or not."""
    step_source: str
    """How steps were told; empty when the run is one step."""
    whole: float = 0.0
    """The metric of the whole run."""
    outside_percent: float = 0.0
    """How much of the GPU time is outside any step that counts."""
    coverage_percent: float | None = None
    """How much of the dispatches were timed; None when the trace does not say."""
    recorded_at_ns: int | None = None
    """When it was recorded, since 1970; None when the trace does not say."""

    @property
    def step_count(self) -> int:
        return len(self.total)

    def as_one_step(self) -> RunValues:
        """The run as one value, with all that lies outside its steps."""
        kernels = {name: np.array([float(ns)]) for name, ns in self.kernel_ns.items()}
        return replace(
            self,
            total=np.array([self.whole]),
            kernels=kernels,
            step_source="",
            outside_percent=0.0,
        )

    def without_first(self, step_count: int) -> RunValues:
        """The run without its first steps."""
        # Where many steps were put together, so many groups hold at least these.
        groups = {
            name: values[-(-step_count * len(values) // self.step_count) :]
            for name, values in self.kernels.items()
        }
        return replace(self, total=self.total[step_count:], kernels=groups)


def run_values(trace: Trace, options: RunOptions) -> RunValues:
    """The values of the run that `trace` recorded."""
    if recorded(trace) is not None:
        raise UsageError(
            f"{trace.path} is sampled: the GPU time of its steps was not recorded, so that no "
            "verdict can be given",
            hint="record with --mode standard; `wavescope compare A B` compares sampled traces",
        )
    figures = TraceFigures(trace, options.figures)
    if not figures.total.calls:
        raise UnreadableInputError(trace.path, "no GPU op passes the filters")
    steps = figures.steps(options.step)
    if not len(steps) and options.step:
        raise UsageError(
            f"no marker of {trace.path} that launched ops matches '{options.step}'",
            hint=f"`wavescope info --markers {trace.path}` lists the markers",
        )
    of_op, walls, source = counted_steps(figures, steps, options.skip_steps or 0)
    whole = counted_steps(figures, None, 0)
    inside_ns = int(figures.duration_ns[of_op != OUTSIDE].sum())
    return RunValues(
        trace.path,
        step_totals(figures, of_op, walls, options.metric),
        _kernel_values(figures, of_op, len(walls)),
        {name: row.total_ns for name, row in figures.by_kernel.items()},
        source,
        float(step_totals(figures, whole[0], whole[1], options.metric)[0]),
        100 * (1 - inside_ns / figures.total.total_ns) if figures.total.total_ns else 0.0,
        coverage_percent(trace),
        recorded_at_ns(trace),
    )


def recorded_at_ns(trace: Trace) -> int | None:
    """When a trace was recorded, since 1970: as it says, or by its ops where these are dated."""
    try:
        recorded_at = datetime.fromisoformat(trace.metadata.get("recorded_at", ""))
        if recorded_at.tzinfo is None:
            recorded_at = recorded_at.replace(tzinfo=timezone.utc)
        return round(recorded_at.timestamp() * 1e9)
    except (ValueError, OverflowError, OSError):
        pass
    base = trace.metadata.get("chrome.baseTimeNanoseconds", "0")
    start_ns = int(trace.ops["start_ns"].min()) if len(trace.ops) else 0
    start_ns += int(base) if _DIGITS.fullmatch(base) else 0
    return start_ns if _FIRST_DATE_NS <= start_ns < _LAST_DATE_NS else None


def _kernel_values(
    figures: TraceFigures, of_op: npt.NDArray[np.int64], step_count: int
) -> dict[str, FloatArray]:
    """Time of the largest kernels in each step; many steps are averaged in groups."""
    names = figures.kernel_names
    by_time = sorted(
        range(len(names)), key=lambda place: (-figures.by_kernel[names[place]].total_ns, place)
    )[:_MOST_KERNELS]
    column = np.full(len(names), OUTSIDE, np.int64)
    column[by_time] = np.arange(len(by_time))
    groups, sizes = _step_groups(step_count)
    kernel = column[figures.kernel_of_op]
    inside = (of_op != OUTSIDE) & (kernel != OUTSIDE)
    cells = kernel[inside] * len(sizes) + groups[of_op[inside]]
    sums = np.bincount(cells, figures.duration_ns[inside], minlength=len(by_time) * len(sizes))
    values = sums.reshape(len(by_time), len(sizes)) / sizes
    return {names[place]: values[row] for row, place in enumerate(by_time)}


def _step_groups(step_count: int) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """For each step its group of neighbours, and how many steps each group has."""
    group_count = min(step_count, _MOST_STEPS)
    groups = np.arange(step_count) * group_count // step_count
    return groups, np.bincount(groups, minlength=group_count).astype(np.float64)
