"""The figures that a trace's page begins with."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wavescope.analyze.page import TraceReport
from wavescope.model.columns import OLDER_THAN_KEPT
from wavescope.model.result import Result, Value
from wavescope.render.html.page import Card
from wavescope.units import count_text, counted, duration_text

_BUSY_GOOD_PERCENT = 80.0
_BUSY_LOW_PERCENT = 50.0
_ALWAYS_IN_USE_PERCENT = 95.0
_LEAST_PERCENT = 0.5
"""Exposed work below this is no figure to begin with."""


def report_cards(report: TraceReport) -> list[Card]:
    """How long, how busy, how many, how much was hidden or idle, and how much was seen."""
    facts, summary = report.overview.facts, report.summary
    span_ns = _number(summary.facts.get("gpu_span_ns"))
    busy = summary.facts.get("busy_percent")
    gpus = int(_number(summary.facts.get("gpu_count")))
    if "sampled" in facts:
        return _sampled_cards(report, span_ns, gpus)
    cards = [
        Card("GPU span", duration_text(span_ns), f"on {counted(gpus, 'GPU')}"),
        _busy_card(busy, summary.facts.get("busy_and_idle_of")),
        *_in_use_cards(summary.facts.get("gpus_in_use_percent")),
        Card(
            "Ops",
            count_text(int(_number(facts.get("op_count")))),
            f"{count_text(int(_number(facts.get('kernel_name_count'))))} kernel names",
        ),
        Card(
            "GPU time",
            duration_text(_number(summary.facts.get("gpu_time_ns"))),
            "durations added up",
        ),
    ]
    if report.decode_step_ns is not None:
        step = duration_text(report.decode_step_ns)
        cards.append(Card("Decode step", step, "median, start to start"))
    cards += _exposed_cards(summary)
    cards.append(_coverage_card(summary))
    return cards


def _sampled_cards(report: TraceReport, span_ns: float, gpus: int) -> list[Card]:
    """The same of a trace that was recorded in slices: estimates with their intervals."""
    facts, summary = report.overview.facts, report.summary.facts
    kernels = count_text(int(_number(facts.get("kernels_in_slices"))))
    counted_kernels = facts.get("kernels_counted")
    of_all = f" of {count_text(int(_number(counted_kernels)))}" if counted_kernels else ""
    share = facts.get("slice_percent")
    recorded = f"{share:.1f} %" if isinstance(share, float) else "in slices"
    slices = f"{counted(int(_number(facts.get('slice_count'))), 'slice')}, "
    slices += duration_text(_number(facts.get("slice_total_ns")))
    cards = [
        Card("Sampled", recorded, f"of the run was recorded: {slices}", "warning"),
        Card("GPU span", duration_text(span_ns), f"on {counted(gpus, 'GPU')}"),
        *_sampled_busy_cards(summary),
        Card("Kernels", kernels + of_all, "recorded" + (", of those counted" if of_all else "")),
    ]
    if summary.get("estimated_gpu_time_ns") is not None:
        names = ("estimated_gpu_time_low_ns", "estimated_gpu_time_high_ns")
        cards.append(
            Card(
                "GPU time",
                _length(summary["estimated_gpu_time_ns"]),
                f"estimated for the run, {_interval(summary, *names, _length)}",
            )
        )
    return cards


def _sampled_busy_cards(facts: Mapping[str, Value]) -> list[Card]:
    """How busy GPUs were in slices, and where launches were counted in the run."""
    shown = [("run_busy", "GPU busy", "of the run"), ("busy", "Busy in slices", "while launching")]
    return [
        Card(
            title,
            _percent(facts[f"{name}_percent"]),
            f"{words}, {_interval(facts, f'{name}_low_percent', f'{name}_high_percent', _percent)}",
        )
        for name, title, words in shown
        if facts.get(f"{name}_percent") is not None
    ]


def _interval(facts: Mapping[str, Value], low: str, high: str, text: Callable[[Value], str]) -> str:
    if facts.get(low) is None or facts.get(high) is None:
        return "too few slices for an interval"
    return f"95 % interval {text(facts[low])} to {text(facts[high])}"


def _percent(value: Value) -> str:
    return f"{value:.1f} %" if isinstance(value, int | float) else "-"


def _length(value: Value) -> str:
    return duration_text(_number(value))


def _busy_card(busy: Value, of_what: Value) -> Card:
    if not isinstance(busy, int | float):
        return Card("GPU busy", "-", "no ops")
    tone = "good" if busy >= _BUSY_GOOD_PERCENT else "warning" if busy < _BUSY_LOW_PERCENT else ""
    remark = of_what if isinstance(of_what, str) else "of the time from first to last op"
    return Card("GPU busy", f"{busy:.1f} %", remark, tone)


def _in_use_cards(in_use: Value) -> list[Card]:
    """Where GPUs have ops at different times: how much of the whole time each has any."""
    if not isinstance(in_use, int | float) or in_use >= _ALWAYS_IN_USE_PERCENT:
        return []
    return [Card("GPUs in use", f"{in_use:.1f} %", "first to last op of each, of the span of all")]


def _exposed_cards(summary: Result) -> list[Card]:
    """Communication and copies that no compute hid, and idle time, as shares of the spans."""
    records = summary.table("gpus").records()
    spans = sum(_number(row["span_ns"]) for row in records)
    found = []
    for key, title in (
        ("exposed_communication_ns", "Exposed comm."),
        ("exposed_copy_ns", "Exposed copies"),
        ("idle_ns", "Idle in between"),
    ):
        total = sum(_number(row[key]) for row in records)
        share = 100 * total / spans if spans else 0.0
        if spans and (share >= _LEAST_PERCENT or key == "idle_ns"):
            remark = f"{duration_text(total)} of {duration_text(spans)}, first to last op"
            found.append(Card(title, f"{share:.1f} %", remark))
    return found


def _coverage_card(summary: Result) -> Card:
    table = next((table for table in summary.tables if table.name == "coverage"), None)
    if table is None:
        return Card("Coverage", "unknown", "the trace does not say what was skipped")
    seen, timed = (sum(_number(value) for value in table.column(key)) for key in ("seen", "timed"))
    if not seen:
        return Card("Coverage", "-", "no dispatches were seen")
    older = sum(
        _number(skipped)
        for skipped, reason in zip(table.column("skipped"), table.column("reason"), strict=True)
        if reason in OLDER_THAN_KEPT.values()
    )
    there = timed + older
    tone = "good" if there >= seen else "problem" if 100 * there < 90 * seen else "warning"
    remark = f"{count_text(int(timed))} dispatches timed"
    if older:
        remark += f", {count_text(int(older))} made room for newer ones"
    return Card("Coverage", f"{100 * timed / seen:.1f} %", remark, tone)


def _number(value: Value) -> float:
    return value if isinstance(value, int | float) else 0
