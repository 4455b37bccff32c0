"""The page of a job of many ranks: who is late and why, heat maps, collectives, clocks."""

from __future__ import annotations

from collections.abc import Mapping

from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.maps import rank_step_map, rank_time_map
from wavescope.analyze.ranks.stragglers import StragglerReport, Verdict
from wavescope.model.result import Result, Value
from wavescope.render.html.markup import Html, bounded, element, joined
from wavescope.render.html.page import Card, Page, Section, cards_html
from wavescope.render.html.ranks_charts import clocks_html, distribution_html, stages_html
from wavescope.render.html.ranks_map_data import DATA_ID, maps_data, step_map, time_map
from wavescope.render.html.ranks_maps import map_html
from wavescope.render.html.ranks_story import story_html
from wavescope.render.html.ranks_tables import RanksTables
from wavescope.render.html.results import findings_html
from wavescope.units import count_text, counted, duration_text

SCRIPTS = ("page", "tables", "ranks")
STYLES = ("page", "ranks")
_MOST_BINS = 200
_MOST_CELLS = 200_000
"""Of a map of time: more ranks have coarser bins."""


def ranks_page(job: Job, report: StragglerReport, result: Result, title: str) -> Page:
    """The page of a job; `result` has its tables and findings."""
    steps = rank_step_map(job)
    time = rank_time_map(job, max(1, min(_MOST_BINS, _MOST_CELLS // max(1, len(job)))))
    drawn_time, drawn_steps = time_map(time, steps), step_map(job, steps, report, time)
    maps = [drawn for drawn in (drawn_time, drawn_steps) if drawn.measures]
    tables = RanksTables(result)
    headline = str(result.facts.get("headline") or report.reason)
    story = _blocks(story_html(job, report, headline), tables.html("stragglers", "delays"))
    sections = [
        Section("figures", "", cards_html(_cards(job, report, result.facts)), is_bare=True),
        Section("stragglers", "Who the others wait for", story, "Stragglers"),
        Section("findings", "Findings", findings_html(result.findings)),
        *(
            Section(
                f"map-{drawn.kind}",
                name,
                map_html(job, drawn, has_late=bool(report.culprits)),
                short,
            )
            for drawn, name, short in (
                (drawn_time, "Ranks over time", "Over time"),
                (drawn_steps, "Ranks by step", "By step"),
            )
            if drawn.measures
        ),
        Section("compared", "Compared with the base", tables.html("compared"), "Compared"),
        Section("steps", "Steps", _blocks(distribution_html(steps), tables.html("steps"))),
        Section(
            "collectives",
            "Collectives",
            tables.html("collectives", "collectives_by_step"),
        ),
        Section("stages", "Stages", _blocks(stages_html(result), tables.html("stages"))),
        Section("ranks", "Ranks", tables.html("ranks", "outliers", "experts")),
        Section("groups", "Groups", tables.html("groups", "mismatches")),
        Section("clocks", "Clocks", _blocks(clocks_html(job), tables.html("clocks"))),
        Section("files", "Files", tables.html("files")),
    ]
    sections.append(Section("more", "More", tables.rest()))
    shown = [section for section in sections if section.body]
    data = {DATA_ID: maps_data(job, time, report, maps)} if maps else {}
    return Page(title, _header(job, title, headline), shown, data, SCRIPTS, STYLES)


def _blocks(*parts: Html) -> Html:
    found = [part for part in parts if part]
    return element("div", *found, class_="blocks") if found else Html("")


def _header(job: Job, title: str, headline: str) -> Html:
    world = max((rank.identity.world_size or 0 for rank in job.ranks), default=0)
    formats = sorted({rank.format for rank in job.ranks if rank.format})
    words = [
        counted(len(job), "rank") + (f" of {world}" if world > len(job) else ""),
        counted(sum(rank.op_count for rank in job.ranks), "op"),
        ", ".join(bounded(name, 30) for name in formats[:4]),
    ]
    return joined(
        [
            element("h1", bounded(title, 200)),
            element("div", *(element("span", word) for word in words if word), class_="facts"),
            element("p", bounded(headline), class_="headline") if headline else None,
        ]
    )


def _cards(job: Job, report: StragglerReport, facts: Mapping[str, Value]) -> list[Card]:
    return [
        _ranks_card(job, facts),
        _hosts_card(job),
        *_step_cards(facts),
        _exposed_card(facts),
        _delay_card(report),
    ]


def _ranks_card(job: Job, facts: Mapping[str, Value]) -> Card:
    bad = int(_number(facts.get("unreadable_file_count")) or 0)
    foreign = sum(1 for clock in job.clocks if not clock.is_comparable)
    if bad:
        return Card("Ranks", count_text(len(job)), f"{counted(bad, 'file')} not read", "warning")
    if foreign and len(job) > 1:
        return Card("Ranks", count_text(len(job)), f"{foreign} not on one clock", "warning")
    return Card("Ranks", count_text(len(job)), "all on one clock" if len(job) > 1 else "")


def _hosts_card(job: Job) -> Card:
    hosts = {rank.identity.host for rank in job.ranks} - {""}
    models = sorted({rank.identity.gpu_model or rank.identity.chip for rank in job.ranks} - {""})
    remark = bounded(models[0], 40) if len(models) == 1 else f"{len(models)} GPU models"
    return Card("Hosts", count_text(len(hosts)) if hosts else "unknown", remark if models else "")


def _step_cards(facts: Mapping[str, Value]) -> list[Card]:
    count, median, late = (
        _number(facts.get(key)) for key in ("step_count", "step_median_ns", "step_p95_ns")
    )
    if not count or median is None:
        return [Card("Steps", "none", "found in all ranks")]
    remark = f"95 % within {duration_text(late)}" if late is not None else ""
    return [
        Card("Steps", count_text(int(count)), "matched across ranks"),
        Card("Median step", duration_text(median), remark),
    ]


def _exposed_card(facts: Mapping[str, Value]) -> Card:
    exposed = _number(facts.get("exposed_percent"))
    title = "Exposed communication"
    if exposed is None:
        return Card(title, "unknown", "no collectives")
    return Card(title, f"{exposed:.1f} %", "of the median rank's time")


def _number(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _delay_card(report: StragglerReport) -> Card:
    actual = sum(account.actual_ns for account in report.steps)
    lost = actual - sum(account.ideal_ns for account in report.steps)
    if not actual:
        return Card("Lost to late ranks", "unknown", "steps could not be accounted for")
    remark = f"{duration_text(lost)} beyond the ideal"
    tone = "problem" if report.verdict is Verdict.CULPRIT else ""
    return Card("Lost to late ranks", f"{100 * lost / actual:.1f} %", remark, tone)
