"""Who makes the others wait, as parts of a page: culprits, the account of the steps, the path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.stragglers import (
    Cause,
    Culprit,
    PathKind,
    PathPart,
    StepAccount,
    StragglerReport,
)
from wavescope.render.cells.columns import fact_label, fact_text
from wavescope.render.html.charts import WaterfallStep, waterfall
from wavescope.render.html.markup import Html, bounded, element
from wavescope.render.html.ranks_path import rank_name, worst_step_html
from wavescope.units import counted, duration_text

_CAUSES: Mapping[Cause, str] = {
    Cause.SLOWER_COMPUTE: "slower compute",
    Cause.MORE_WORK: "more work",
    Cause.HOST_LATE: "host late",
    Cause.SLOW_LINK: "slow link",
    Cause.WAITING_ONLY: "waiting only",
    Cause.UNKNOWN: "cause unknown",
}
_MOST_CULPRITS = 12
_MOST_PARTS = 9
"""Of a waterfall; what is left is summed up."""
_LEAST_OF_LARGEST = 500
"""And so are parts that are smaller than this part of the largest: they could not be seen."""
_MINOR_PERCENT = 2.0


def story_html(job: Job, report: StragglerReport, headline: str) -> Html:
    """The verdict, the culprits, where the time of all steps and of the worst one went."""
    verdict = element("p", bounded(report.reason), class_=f"verdict told-{report.verdict.value}")
    parts = [
        verdict if report.reason and report.reason != headline else None,
        _culprits(report),
        _accounts(job, report),
        worst_step_html(job, report.steps),
    ]
    return element("div", *(part for part in parts if part), class_="blocks")


def _culprits(report: StragglerReport) -> Html | None:
    if not report.culprits:
        return None
    shown = [_culprit(each, len(report.steps)) for each in report.culprits[:_MOST_CULPRITS]]
    more = len(report.culprits) - len(shown)
    return element(
        "div",
        element("ul", *shown, class_="culprits"),
        element("p", f"{more} more are in the table below.", class_="note") if more else None,
    )


def _culprit(culprit: Culprit, step_count: int) -> Html:
    is_minor = culprit.share_percent < _MINOR_PERCENT
    cost = f"{duration_text(culprit.delay_ns)} · {culprit.share_percent:.1f} % of all steps"
    steps = f"late in {culprit.step_count} of {counted(step_count, 'step')}"
    when = [steps, bounded(culprit.recurrence, 300), _phase_words(culprit.phase)]
    numbers = [
        element(
            "div",
            element("dt", fact_label(bounded(key, 60))),
            element("dd", bounded(fact_text(key, value), 100)),
        )
        for key, value in culprit.numbers.items()
    ]
    return element(
        "li",
        element(
            "div",
            element("strong", bounded(culprit.name, 200)),
            element("span", _CAUSES[culprit.cause], class_="cause"),
            _map_button(culprit),
            element("span", cost, class_="cost"),
            class_="head",
        ),
        element("p", bounded(culprit.evidence)),
        element("p", " · ".join(word for word in when if word), class_="note"),
        element("dl", *numbers, class_="numbers") if numbers else None,
        class_="culprit minor" if is_minor else "culprit",
    )


def _map_button(culprit: Culprit) -> Html | None:
    """Leads to the first of its ranks on a map, where a script shows one."""
    if not culprit.places:
        return None
    return element(
        "button", "Show on the map", type="button", hidden=True, data_rank=str(culprit.places[0])
    )


def _phase_words(phase: str) -> str:
    return f"phase {bounded(phase, 80)}" if phase else ""


def _accounts(job: Job, report: StragglerReport) -> Html | None:
    """From the ideal time of all steps to the real one, by who took longer than is typical."""
    if not report.steps:
        return None
    steps = waterfall_steps(job, report.steps)
    what = f"All {counted(len(report.steps), 'step')}: from the ideal to the actual time"
    return element(
        "div",
        element("h3", what),
        waterfall(steps, what),
        element(
            "p",
            "The critical path over ranks, part by part: a part's excess is its time less what it "
            "typically takes on ranks of the same role. The parts add up exactly.",
            class_="note",
        ),
    )


def waterfall_steps(job: Job, accounts: Sequence[StepAccount]) -> list[WaterfallStep]:
    """Ideal, the largest excesses, the rest, actual; each begins where the one before ended."""
    excess: Counter[str] = Counter()
    for account in accounts:
        for part in account.parts:
            excess[_part_words(job, part)] += part.excess_ns
    largest = sorted(excess.items(), key=lambda item: (-abs(item[1]), item[0]))
    least_ns = abs(largest[0][1]) / _LEAST_OF_LARGEST if largest else 0
    shown = [item for item in largest[:_MOST_PARTS] if item[1] and abs(item[1]) >= least_ns]
    rest_ns = sum(excess.values()) - sum(value for _, value in shown)
    if rest_ns:
        shown.append((f"{len(excess) - len(shown)} others together", rest_ns))
    at_ns = sum(account.ideal_ns for account in accounts)
    steps = [WaterfallStep("ideal", 0, at_ns, is_total=True)]
    for label, value in shown:
        steps.append(WaterfallStep(label, at_ns, at_ns + value))
        at_ns += value
    actual_ns = sum(account.actual_ns for account in accounts)
    return [*steps, WaterfallStep("actual", 0, actual_ns, is_total=True)]


def _part_words(job: Job, part: PathPart) -> str:
    if part.kind is PathKind.LOCAL:
        return f"{rank_name(job, part.place)}: own work"
    name = job.groups[part.group].name if 0 <= part.group < len(job.groups) else ""
    return f"transfers{f' of group {bounded(name, 30)}' if name else ''}"
