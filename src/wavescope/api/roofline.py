"""How near kernels come to what the chip can do: rooflines of counter folders."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TextIO

from wavescope.analyze.counters import (
    CounterOptions,
    analyzed,
)
from wavescope.analyze.counters.metrics import (
    Catalogue,
)
from wavescope.analyze.counters.roofline import (
    MemoryLevel,
    Roofline,
    RooflineOptions,
    roofline_result,
)
from wavescope.analyze.counters.roofline import roofline as placed
from wavescope.api.counters import NO_FACTS, Workloads, catalogue_of, read_workloads, side_by_side
from wavescope.errors import UsageError
from wavescope.model.paths import PathLike
from wavescope.model.result import Result
from wavescope.outputs import replaced
from wavescope.render.counters import (
    NumberStyle,
    write_metric_text,
)
from wavescope.render.counters.roofline import SUFFIXES, roofline_lines, write_roofline
from wavescope.render.results.text import TextStyle


class RooflineRun(NamedTuple):
    """One workload under the roofs of its chip."""

    path: str
    plot: Roofline
    result: Result


@dataclass(frozen=True)
class RooflineReport:
    """The rooflines of workloads, with what drawings need."""

    runs: tuple[RooflineRun, ...]

    @property
    def result(self) -> Result:
        """The tables of all workloads."""
        return side_by_side([run.result for run in self.runs])

    def write(self, output: PathLike, *, force: bool) -> Path:
        """Write the plot of all workloads, in the format of the suffix."""
        target = Path(output)
        with replaced(target, [Path(run.path) for run in self.runs], force=force) as temporary:
            plots = [(run.path, run.plot) for run in self.runs]
            write_roofline(temporary, plots, target.suffix, [run.result for run in self.runs])
        return target

    def write_text(self, stream: TextIO, style: TextStyle, level: MemoryLevel) -> None:
        """Write the tables for a terminal, with the plots at one memory level in characters."""
        for run in self.runs:
            drawings = {"4.1": [*roofline_lines(run.plot, style.width, level), ""]}
            write_metric_text(run.result, stream, style, NumberStyle(), drawings)


def roofline(
    workloads: Workloads,
    output: PathLike | None = None,
    options: CounterOptions | None = None,
    *,
    plot: RooflineOptions | None = None,
    facts: Mapping[str, float] = NO_FACTS,
    own_metrics: Sequence[PathLike] = (),
    force: bool = False,
) -> Result:
    """How near kernels come to what the chip can do, by operations for each byte.

    The plot is written to `output`, in the format of its suffix: .html, .svg, .png or .json.
    """
    return roofline_report(
        workloads, output, options, plot=plot, facts=facts, own_metrics=own_metrics, force=force
    ).result


def roofline_report(
    workloads: Workloads,
    output: PathLike | None = None,
    options: CounterOptions | None = None,
    *,
    plot: RooflineOptions | None = None,
    facts: Mapping[str, float] = NO_FACTS,
    own_metrics: Sequence[PathLike] = (),
    force: bool = False,
) -> RooflineReport:
    """The same with what drawings in a terminal need."""
    _require_plot_suffix(output)
    chosen = replace(options or CounterOptions(), blocks=("0",))
    drawn = plot or RooflineOptions()
    tables = read_workloads(workloads, facts)
    catalogues = [catalogue_of(table, own_metrics) for table in tables]
    for catalogue in catalogues:
        _require_types(catalogue, drawn)
    runs = []
    for table, catalogue in zip(tables, catalogues, strict=True):
        values = analyzed(table, catalogue, chosen).values
        plotted = placed(values, drawn)
        runs.append(RooflineRun(table.path, plotted, roofline_result(values, plotted, drawn)))
    report = RooflineReport(tuple(runs))
    if output is not None:
        report.write(output, force=force)
    return report


def _require_plot_suffix(output: PathLike | None) -> None:
    """Refuse the name of a plot before anything is read."""
    if output is not None and Path(output).suffix not in SUFFIXES:
        raise UsageError(
            f"{os.fspath(output)} does not end like the name of a plot",
            hint=f"use {', '.join(SUFFIXES)}",
        )


def _require_types(catalogue: Catalogue, plot: RooflineOptions) -> None:
    known = catalogue.data_types
    unknown = [name for name in plot.data_types if name not in known]
    if unknown:
        raise UsageError(
            f"{catalogue.chip} has no peak for {', '.join(unknown)}",
            hint=f"it has: {', '.join(known)}",
        )
