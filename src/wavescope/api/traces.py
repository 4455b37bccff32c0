"""The Python interface: what `import wavescope` offers, documented in docs/python.md.

Analyses are imported when they are first asked for: opening a trace shall not wait for them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.errors import UsageError
from wavescope.formats import open_source, open_trace, selected_source
from wavescope.formats.exporter import ExportOptions
from wavescope.formats.exporters import exporter_for
from wavescope.formats.output import replaced, require_free
from wavescope.formats.wavescope.merge_plan import RankFrom
from wavescope.formats.wavescope.writer import write_trace
from wavescope.formats.write_output import write_output
from wavescope.model.progress import no_progress
from wavescope.model.result import Finding, Result
from wavescope.model.selection import Selection
from wavescope.model.trace import Trace

if TYPE_CHECKING:
    from wavescope.analyze.capture.decoded import DecodedTrace
    from wavescope.analyze.capture.hotspots import HotspotOptions
    from wavescope.analyze.compare.comparison import CompareOptions
    from wavescope.analyze.counters.report import Analysis, AnalysisOptions
    from wavescope.analyze.phases.phase_tables import PhaseTableOptions
    from wavescope.analyze.summary.trace_summary import SummaryOptions
    from wavescope.analyze.traffic.kernel_traffic import TrafficOptions
    from wavescope.model.dispatch_counters import DispatchCounters

PathLike = str | os.PathLike[str]


def open(path: PathLike) -> Trace:  # noqa: A001  reads as wavescope.open(...)
    """The trace at `path`, in any known format; columns are loaded when first used."""
    return open_trace(path)


def summary(trace: Trace | PathLike, options: SummaryOptions | None = None) -> Result:
    """Kernels, utilization, gaps, copies, host calls and findings of a trace."""
    from wavescope.analyze.summary.trace_summary import SummaryOptions, summarize  # noqa: PLC0415

    with _opened(trace) as opened:
        return summarize(opened, options or SummaryOptions())


def phases(trace: Trace | PathLike, options: PhaseTableOptions | None = None) -> Result:
    """What each phase of a trace did: times, ops, top kernels.

    Phases are told by markers, in a trace without marker ranges by names and structure.
    """
    from wavescope.analyze.phases.phase_tables import phase_tables  # noqa: PLC0415
    from wavescope.analyze.phases.phases_result import serving_phases_result  # noqa: PLC0415

    with _opened(trace) as opened:
        result = phase_tables(opened, options)
        if not result.facts["range_count"]:
            result = serving_phases_result(opened, options.kernels if options else None)
            result.facts["range_count"] = 0
        return _with_notes(result, [opened])


def steps(trace: Trace | PathLike) -> Result:
    """How long each step takes, found by what repeats on each queue, and the slow ones."""
    from wavescope.analyze.phases.steps_result import steps_result  # noqa: PLC0415

    with _opened(trace) as opened:
        return _with_notes(steps_result(opened), [opened])


def compare(traces: Sequence[Trace | PathLike], options: CompareOptions | None = None) -> Result:
    """What changed from the first trace to each of the others, and which parts account for it."""
    from wavescope.analyze.compare.comparison import compare as compared  # noqa: PLC0415

    if len(traces) < 2:
        raise UsageError("at least two traces are compared")
    with ExitStack() as stack:
        opened = [stack.enter_context(_opened(trace)) for trace in traces]
        return _with_notes(compared(opened, options), opened)


def find(trace: Trace | PathLike) -> list[Finding]:
    """What is worth changing, the gravest first, each with its numbers, SQL and next step."""
    from wavescope.analyze.findings.find_all import find as find_all  # noqa: PLC0415

    with _opened(trace) as opened:
        return find_all(opened)


def hotspots(capture: PathLike, options: HotspotOptions | None = None) -> Result:
    """Where a kernel stalls, by instruction and line, from a thread-trace capture."""
    from wavescope.analyze.capture.hotspots import hotspots as found  # noqa: PLC0415

    return found(_decoded(capture), options)


def plan(capture: PathLike, *, counters: PathLike | Sequence[PathLike] = ()) -> Result:
    """What to change in a traced kernel, in which order, and for how much at most.

    `counters` of the same kernel, from another run, tell what caches and LDS banks did.
    """
    from wavescope.analyze.capture.capture_findings import capture_findings  # noqa: PLC0415
    from wavescope.analyze.capture.plan.kernel_counters import counters_of_trace_kernel  # noqa: PLC0415
    from wavescope.analyze.capture.plan.plan import plan_result  # noqa: PLC0415

    decoded = _decoded(capture)
    counted = counters_of_trace_kernel(decoded, _memory_counters(counters)) if counters else None
    result = plan_result(decoded, counted)
    result.findings += capture_findings(decoded.trace)
    return result


def occupancy(
    chip: str = "",
    *,
    capture: PathLike | None = None,
    vgprs: int | None = None,
    agprs: int | None = None,
    sgprs: int | None = None,
    lds_bytes: int | None = None,
    workgroup_size: int | None = None,
    wave_size: int = 0,
    cu_mode: bool = False,
) -> Result:
    """How many waves of a kernel fit on a chip, what limits them, what one more takes.

    Of a traced kernel the files of `capture` tell the figures; those that are given go before.
    """
    from wavescope.analyze.occupancy.traced_kernel import (  # noqa: PLC0415
        StatedResources,
        stated_occupancy_result,
        traced_occupancy_result,
    )
    from wavescope.model.chips.catalogue import chip_named  # noqa: PLC0415

    stated = StatedResources(
        chip_named(chip) if chip else None,
        vgprs,
        agprs,
        sgprs,
        lds_bytes,
        workgroup_size,
        wave_size,
        cu_mode,
    )
    if capture is None:
        return stated_occupancy_result(stated)
    from wavescope.formats.captures import ReadOptions, load_thread_trace, only_capture  # noqa: PLC0415

    trace = load_thread_trace(only_capture(capture), ReadOptions(reads_waves=False))
    return traced_occupancy_result(trace, stated)


def traffic(
    counters: PathLike | Sequence[PathLike],
    options: TrafficOptions | None = None,
    *,
    kernel: str = "",
    dispatches: Sequence[int] = (),
) -> Result:
    """How kernels use L2 and memory, from counter CSVs, folders of them, or traces."""
    from wavescope.analyze.traffic.choice import (  # noqa: PLC0415
        chosen_dispatches,
        completed_options,
    )
    from wavescope.analyze.traffic.kernel_traffic import TrafficOptions  # noqa: PLC0415
    from wavescope.analyze.traffic.report import traffic_result  # noqa: PLC0415

    chosen = chosen_dispatches(_memory_counters(counters), kernel, dispatches)
    return traffic_result(chosen, completed_options(options or TrafficOptions(), chosen))


def metric_panels(
    workloads: PathLike | Sequence[PathLike], options: AnalysisOptions | None = None
) -> Result:
    """The metric panels of a workload folder of hardware counters; several are compared."""
    from wavescope.analyze.counters.comparison import comparison_result  # noqa: PLC0415
    from wavescope.analyze.counters.report import (  # noqa: PLC0415
        AnalysisOptions,
        analysis_result,
    )

    chosen = options or AnalysisOptions()
    analyses = _analyses(workloads, chosen)
    if len(analyses) == 1:
        return analysis_result(analyses[0], chosen)
    return comparison_result(analyses, chosen)


def roofline(
    workloads: PathLike | Sequence[PathLike],
    output: PathLike | None = None,
    options: AnalysisOptions | None = None,
    *,
    force: bool = False,
) -> Result:
    """How near kernels come to what the chip can do, by operations for each byte.

    The plot is written to `output`, in the format of its suffix: .html, .svg, .png or .json.
    """
    from wavescope.analyze.counters.joined_results import joined_results  # noqa: PLC0415
    from wavescope.analyze.counters.report import AnalysisOptions  # noqa: PLC0415
    from wavescope.analyze.counters.roofline import roofline as placed  # noqa: PLC0415
    from wavescope.analyze.counters.roofline_tables import roofline_result  # noqa: PLC0415
    from wavescope.render.roofline_files import write_roofline  # noqa: PLC0415

    chosen = replace(options or AnalysisOptions(), blocks=("0",))
    runs = [(each.values, placed(each.values)) for each in _analyses(workloads, chosen)]
    results = [roofline_result(values, plot) for values, plot in runs]
    if output is not None:
        target = Path(output)
        with replaced(target, _paths(workloads), force=force) as temporary:
            plots = [(values.measured.table.path, plot) for values, plot in runs]
            write_roofline(temporary, plots, target.suffix, results)
    return joined_results(results)


def convert(
    path: PathLike,
    output: PathLike,
    *,
    format: str = "",  # noqa: A002  named as on the command line
    selection: Selection | None = None,
    force: bool = False,
) -> Path:
    """Write the trace at `path` to `output`, in the format its suffix or `format` names."""
    target = Path(output)
    exporter = exporter_for(target, format)
    require_free(target, [Path(path)], force=force)
    options = ExportOptions(gzip=target.name.endswith(".gz"))
    with closing(open_source(path)) as source:
        chosen = selected_source(source, selection or Selection())
        write_output(
            exporter, chosen, target, [Path(path)], options, force=force, progress=no_progress
        )
    return target


def merge(
    paths: Sequence[PathLike],
    output: PathLike,
    *,
    rank_from: RankFrom = RankFrom.NOWHERE,
    force: bool = False,
) -> Path:
    """Write the traces at `paths` into one trace file, losing nothing."""
    target = Path(output)
    with ExitStack() as stack:
        inputs = [Path(path) for path in paths]
        temporary = stack.enter_context(replaced(target, inputs, force=force))
        sources = [stack.enter_context(closing(open_source(path))) for path in paths]
        write_trace(sources, temporary, rank_from=rank_from)
    return target


def report(
    traces: PathLike | Sequence[PathLike],
    output: PathLike,
    *,
    labels: Sequence[str] = (),
    title: str = "",
    force: bool = False,
) -> Path:
    """Write one page of HTML that shows a trace, or compares several with the first."""
    from wavescope.render.html.page import write_page  # noqa: PLC0415  slow to import
    from wavescope.render.html.trace_pages import trace_page  # noqa: PLC0415

    target = Path(output)
    inputs = _paths(traces)
    require_free(target, inputs, force=force)
    with ExitStack() as stack:
        opened = [stack.enter_context(open_trace(path)) for path in inputs]
        page = trace_page(opened, list(labels) or [path.name for path in inputs], title)
        temporary = stack.enter_context(replaced(target, inputs, force=force))
        with temporary.open("w", encoding="utf-8") as stream:
            write_page(page, stream)
    return target


@contextmanager
def _opened(trace: Trace | PathLike) -> Iterator[Trace]:
    """A trace as it is; one that is named by its path is closed again."""
    if isinstance(trace, Trace):
        yield trace
        return
    with open_trace(trace) as opened:
        yield opened


def _with_notes(result: Result, traces: Sequence[Trace]) -> Result:
    """The result, and a finding for everything that readers skipped or repaired."""
    from wavescope.analyze.findings.input_repaired import input_repaired  # noqa: PLC0415

    result.findings += [finding for trace in traces for finding in input_repaired(trace)]
    return result


def _paths(given: PathLike | Sequence[PathLike]) -> list[Path]:
    """One path or many, as a list that is not empty."""
    paths = [given] if isinstance(given, str | os.PathLike) else list(given)
    if not paths:
        raise UsageError("no path is given")
    return [Path(path) for path in paths]


def _analyses(workloads: PathLike | Sequence[PathLike], options: AnalysisOptions) -> list[Analysis]:
    from wavescope.analyze.counters.catalogue import catalogue_for  # noqa: PLC0415
    from wavescope.analyze.counters.report import analyzed  # noqa: PLC0415
    from wavescope.formats.counters.workload import read_workload  # noqa: PLC0415

    tables = [read_workload(path) for path in _paths(workloads)]
    return [analyzed(table, catalogue_for(table.chip), options) for table in tables]


def _memory_counters(given: PathLike | Sequence[PathLike]) -> DispatchCounters:
    from wavescope.analyze.traffic.requests import TRAFFIC_COUNTERS  # noqa: PLC0415
    from wavescope.analyze.traffic.trace_counters import counters_of_trace  # noqa: PLC0415
    from wavescope.formats.counters.loose_files import read_counter_files  # noqa: PLC0415

    def of_trace(path: Path) -> DispatchCounters:
        with open_trace(path) as trace:
            return counters_of_trace(trace, str(path), TRAFFIC_COUNTERS.__contains__)

    return read_counter_files(_paths(given), TRAFFIC_COUNTERS.__contains__, of_trace)


def _decoded(capture: PathLike) -> DecodedTrace:
    from wavescope.analyze.capture.decoded import DecodedTrace  # noqa: PLC0415
    from wavescope.formats.captures import load_thread_trace, only_capture  # noqa: PLC0415

    return DecodedTrace(load_thread_trace(only_capture(capture)))
