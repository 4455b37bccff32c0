"""The report of one trace as a page: from the figures that matter to what they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wavescope.analyze.page import HotKernels, KernelDurations, TraceReport
from wavescope.model.result import Result, ResultTable, Value
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import short_name
from wavescope.render.html.charts import BarRow, histogram, sparkline, stacked_bars
from wavescope.render.html.markup import Html, bounded, element, joined
from wavescope.render.html.page import Page, Section, cards_html
from wavescope.render.html.results import findings_html
from wavescope.render.html.tables import TableView, table_html
from wavescope.render.html.timelines import timeline_data, timeline_html
from wavescope.render.html.trace_cards import report_cards
from wavescope.units import count_text, counted, duration_text

SCRIPTS = ("page", "tables", "report_timeline")

_LARGE_HISTOGRAMS = 12
_MOST_BARS = 40
_SPARK_BINS = 5
_ENVIRONMENT = ("gpus", "processes", "queues", "metadata", "notes", "tables")


def report_page(report: TraceReport, trace: Trace, title: str) -> Page:
    """The page of one trace, of which `report` is."""
    drawn, data = timeline_data(report.timeline, report.op_names, trace.strings)
    summary = report.summary
    seen = " (in the slices that were recorded)" if "sampled" in report.overview.facts else ""
    sections = [
        Section("figures", "", cards_html(report_cards(report)), is_bare=True),
        Section("findings", "Findings", _findings(report)),
        Section("timeline", "Timeline", timeline_html("timeline-data", drawn)),
        Section("shares", f"Where the time goes{seen}", shares_html(report), "Shares"),
        Section(
            "phases",
            _phase_title(report.phases) + seen,
            phases_html(report.phases),
            "Hot kernels",
        ),
        Section("steps", "Steps", steps_html(report.steps, drawn.grid.origin_ns)),
        Section("kernels", "Kernels", kernels_html(summary, report.durations)),
        Section("operators", "Operators", tables_html(summary, _OPERATORS)),
        Section(
            "durations",
            f"Kernel durations{seen}",
            durations_html(summary, report.durations),
            "Durations",
        ),
        Section("work", "Work of operators", work_html(report.work), "Work"),
        Section(
            "gpus",
            "GPUs and queues",
            tables_html(summary, ("gpus", "queues", "graph_runs")),
            "GPUs",
        ),
        Section("gaps", f"Idle gaps{seen}", gaps_html(report, drawn.grid.origin_ns), "Gaps"),
        Section("copies", "Copies", tables_html(summary, ("copies", "largest_copies"))),
        Section("collectives", "Collectives", tables_html(summary, ("collectives",))),
        Section("host", "Host calls and launch latency", tables_html(summary, _HOST), "Host"),
        Section("coverage", "Coverage", coverage_html(summary)),
        Section("environment", "Environment", tables_html(report.overview, _ENVIRONMENT)),
    ]
    shown = [section for section in sections if section.body]
    data_by_id: dict[str, Any] = {"timeline-data": data}
    return Page(title, header_html(report, trace, title), shown, data_by_id, SCRIPTS)


def _findings(report: TraceReport) -> Html:
    """The findings; a trace without ops is no proof that all is well."""
    if not report.overview.facts.get("op_count"):
        return findings_html(report.findings, "There are no GPU ops here to judge.")
    return findings_html(report.findings)


_OPERATORS = ("operators", "shapes", "module_classes")
_HOST = ("calls", "launch_gpus", "launch_kernels")


def header_html(report: TraceReport, trace: Trace, title: str) -> Html:
    """The title and what was looked at."""
    facts = trace.metadata
    words = [
        trace.path,
        f"{trace.format} trace",
        counted(int(report.overview.facts.get("op_count") or 0), "op"),
        *(facts[tag] for tag in ("recorded_at", "recorded_by") if tag in facts),
    ]
    return joined(
        [
            element("h1", bounded(title, 200)),
            element(
                "div", *(element("span", bounded(word, 300)) for word in words), class_="facts"
            ),
        ]
    )


def shares_html(report: TraceReport) -> Html:
    """Stacked bars of the categories: of all, of each phase, of each GPU."""
    labels = report.timeline.colourings[0].labels
    rows = [BarRow(row.label, row.times_ns) for row in report.category_shares if row.total_ns]
    if not rows:
        return Html("")
    return stacked_bars(rows, labels, "Summed durations by category")


def phases_html(phases: Sequence[HotKernels]) -> Html:
    """The hot kernels of the phases side by side."""
    blocks = [element("div", _phase_head(phase), _phase_table(phase)) for phase in phases]
    return element("div", *blocks, class_="columns") if blocks else Html("")


def _phase_title(phases: Sequence[HotKernels]) -> str:
    names = [_headed(phase.phase, 40) for phase in phases]
    return f"Hot kernels: {' and '.join(names)}" if 1 < len(names) <= 3 else "Hot kernels"


def _phase_head(phase: HotKernels) -> Html:
    words = f"{counted(phase.op_count, 'op')} · {duration_text(phase.compute_ns)} compute"
    if phase.communication_ns:
        words += f" (excl. {duration_text(phase.communication_ns)} communication)"
    return joined([element("h3", _headed(phase.phase, 80)), element("p", words, class_="note")])


def _headed(name: str, most: int) -> str:
    """A phase's name as a heading; the program's own spelling of it stays."""
    text = bounded(name, most)
    return text[:1].upper() + text[1:]


def _phase_table(phase: HotKernels) -> Html:
    return table_html(phase.kernels, TableView(caption="", below="note"))


def steps_html(steps: Result | None, origin_ns: int) -> Html:
    """How long steps take, and the slow ones with their place on the timeline."""
    if steps is None or not steps.table("step_kinds").rows:
        return Html("")
    slow = steps.table("step_outliers")
    shown = [table_html(steps.table("step_kinds"))]
    if slow.rows:
        places = [
            zoom_button(int(_real(row["start_ns"])) - origin_ns, int(_real(row["step_ns"])))
            for row in slow.records()
        ]
        hidden = frozenset({"start_ns", "first_op"})
        shown.append(
            table_html(slow, TableView(hidden, extra_title="Timeline", extra_cells=places))
        )
    return element("div", *shown, class_="blocks")


def kernels_html(summary: Result, durations: KernelDurations) -> Html:
    """All kernels with a small histogram each."""
    table = summary.table("kernels")
    sparks = [
        sparkline(_coarse(counts), "histogram of durations")
        for counts in durations.histograms.counts.tolist()
    ]
    view = TableView(
        hidden=frozenset({"std_ns"}), extra_title="Durations", extra_cells=sparks, caption=""
    )
    return table_html(table, view)


_WORK_HIDDEN = frozenset({"flops_per_byte", "flops", "bytes", "kernel"})
_MOST_WORK_ROWS = 60


def work_html(work: Result) -> Html:
    """What operators had to do and how near to the peak they did it; nothing without figures."""
    facts, table = work.facts, work.table("work")
    if not facts["modelled_time_ns"]:
        return Html("")
    words = (
        f"Work by formula from recorded shapes, for {_real(facts['modelled_percent']):.1f} % of "
        f"the kernels' time; peaks of: {facts['boards']}."
    )
    return element(
        "div",
        element("p", bounded(words, 300), class_="note"),
        table_html(table.head(_MOST_WORK_ROWS), TableView(hidden=_WORK_HIDDEN, caption="")),
        class_="blocks",
    )


def _coarse(counts: Sequence[int]) -> list[int]:
    return [sum(counts[at : at + _SPARK_BINS]) for at in range(0, len(counts), _SPARK_BINS)]


def durations_html(summary: Result, durations: KernelDurations) -> Html:
    """Histograms of the kernels that take most time, with their percentiles."""
    rows = summary.table("kernels").head(_LARGE_HISTOGRAMS).records()
    edges = durations.histograms.edges_ns()
    blocks = [
        _kernel_histogram(row, edges, counts)
        for row, counts in zip(rows, durations.histograms.counts.tolist(), strict=False)
    ]
    return element("div", *blocks, class_="histograms") if blocks else Html("")


def _kernel_histogram(
    row: dict[str, Value], edges_ns: Sequence[float], counts: Sequence[int]
) -> Html:
    median_ns, p99_ns = _real(row["median_ns"]), _real(row["p99_ns"])
    name = bounded(str(row["name"]), 200)
    calls, total_ns = int(_real(row["calls"])), _real(row["total_ns"])
    words = f"{count_text(calls)} calls, {duration_text(total_ns)} in all"
    key = [
        element("span", f"median {duration_text(median_ns)}", class_="key0"),
        " ",
        element("span", f"p99 {duration_text(p99_ns)}", class_="key1"),
    ]
    shown = histogram(*merged_bins(edges_ns, counts), (median_ns, p99_ns), f"durations of {name}")
    return element(
        "div",
        element("h3", name, title=name),
        element("p", words, class_="note"),
        element("p", *key, class_="note"),
        shown,
    )


def merged_bins(
    edges_ns: Sequence[float], counts: Sequence[int]
) -> tuple[Sequence[float], Sequence[int]]:
    """The bins from the first to the last that is used, put together until they are few."""
    used = [place for place, count in enumerate(counts) if count]
    first, stop = max(0, used[0] - 1), min(len(counts), used[-1] + 2)
    together = -(-(stop - first) // _MOST_BARS)
    starts = range(first, stop, together)
    edges = [edges_ns[place] for place in (*starts, min(starts[-1] + together, len(counts)))]
    return edges, [sum(counts[place : place + together]) for place in starts]


def gaps_html(report: TraceReport, origin_ns: int) -> Html:
    """Idle time by length of gap and by what the host did, and the largest gaps' places."""
    summary = report.summary
    if not summary.table("gaps").rows:
        return Html("")
    largest = _with_short_names(summary.table("largest_gaps"), ("before", "after"))
    view = TableView(
        hidden=frozenset({"start_ns", "end_ns"}),
        extra_title="Timeline",
        extra_cells=[
            zoom_button(int(_real(row["start_ns"])) - origin_ns, int(_real(row["duration_ns"])))
            for row in largest.records()
        ],
    )
    return element(
        "div",
        _gap_bars(summary.table("gap_histogram")),
        table_html(report.idle) if report.idle.rows else None,
        table_html(summary.table("gaps")),
        table_html(largest, view) if largest.rows else None,
        class_="blocks",
    )


def _with_short_names(table: ResultTable, columns: Sequence[str]) -> ResultTable:
    """The table with the names of ops as people know them."""
    places = [number for number, column in enumerate(table.columns) if column.name in columns]
    rows: list[tuple[Value, ...]] = [
        tuple(
            short_name(value) if number in places and isinstance(value, str) else value
            for number, value in enumerate(row)
        )
        for row in table.rows
    ]
    return ResultTable(table.name, table.title, table.columns, rows, table.total_rows)


def _gap_bars(table: ResultTable) -> Html | None:
    """For each GPU its idle time by the length of gaps."""
    by_gpu: dict[str, dict[str, int]] = {}
    labels: dict[str, int] = {}
    for row in table.records():
        from_ns, below_ns = int(_real(row["from_ns"])), row["below_ns"]
        label = f"from {duration_text(from_ns)}" if from_ns else "under 1.000 us"
        if from_ns and isinstance(below_ns, int):
            label += f" to {duration_text(below_ns)}"
        labels[label] = from_ns
        by_gpu.setdefault(f"GPU {row['gpu']}", {})[label] = int(_real(row["total_ns"]))
    if not labels:
        return None
    order = sorted(labels, key=labels.__getitem__)
    rows = [BarRow(gpu, [times.get(label, 0) for label in order]) for gpu, times in by_gpu.items()]
    return stacked_bars(rows, order, "Idle time by length of gap")


def zoom_button(start_ns: int, length_ns: int) -> Html:
    """A button that shows a stretch of time, counted from the first op, on the timeline."""
    return element(
        "button",
        f"at {duration_text(start_ns)}",
        type="button",
        data_zoom=f"{start_ns} {start_ns + length_ns}",
        data_timeline="timeline-data",
        title="Show on the timeline",
    )


def coverage_html(summary: Result) -> Html:
    """What the recorder saw and timed: in a sentence, as a bar, and by queue."""
    sentence = element("p", bounded(str(summary.facts.get("coverage", ""))), class_="lead")
    table = next((table for table in summary.tables if table.name == "coverage"), None)
    if table is None:
        return sentence
    timed, skipped, lost, seen = (
        sum(int(_real(value)) for value in table.column(name) if value is not None)
        for name in ("timed", "skipped", "lost", "seen")
    )
    row = BarRow("dispatches", (timed, skipped, lost, max(0, seen - timed - skipped - lost)))
    labels = ("timed", "skipped", "lost", "not accounted for")
    bar = stacked_bars([row], labels, "What was seen", count_text) if sum(row.values) else None
    return element("div", sentence, bar, tables_html(summary, ("coverage",)), class_="blocks")


def tables_html(result: Result, names: Sequence[str]) -> Html:
    """The named tables that have rows, one below the other."""
    by_name = {table.name: table for table in result.tables}
    found: list[ResultTable] = [by_name[name] for name in names if name in by_name]
    shown = [table_html(table) for table in found if table.rows]
    return element("div", *shown, class_="blocks") if shown else Html("")


def _real(value: Value) -> float:
    assert isinstance(value, int | float)
    return value
