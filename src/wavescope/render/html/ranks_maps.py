"""The heat maps of a page of ranks: the places to draw them, their tools, and them in numbers."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.ranks.job import Job
from wavescope.model.result import ResultColumn, ResultTable, Unit
from wavescope.render.html.markup import Html, element
from wavescope.render.html.ranks_map_data import DrawnMap, Measure
from wavescope.render.html.tables import TableView, table_html
from wavescope.units import duration_text

_KEYS = (
    "Point at a cell to read it, click it to choose its rank. Keys: arrows move (Shift: ten at "
    "once), Home and End go to the first and last column, Page up and Page down ten ranks, Enter "
    "chooses the rank, Escape lets it go."
)


def map_html(job: Job, drawn: DrawnMap, *, has_late: bool = False) -> Html:
    """The place of a map, its tools, and what it shows in numbers for those who cannot see it."""
    what = "bins of time" if drawn.kind == "time" else "steps"
    return element(
        "div",
        _tools(drawn, has_late=has_late),
        element(
            "div",
            element(
                "canvas",
                class_="map",
                tabindex="0",
                role="application",
                aria_roledescription="heat map",
                aria_label=f"Heat map of {len(job)} ranks by {drawn.column_count} {what}. {_KEYS}",
            ),
            element("div", class_="tip", hidden=True),
            class_="stage",
        ),
        element("output", class_="told unseen", aria_live="polite"),
        element("div", class_="chosen", hidden=True, aria_live="polite"),
        element("p", _KEYS, class_="note keys"),
        element("p", drawn.note, class_="note") if drawn.note else None,
        element(
            "details",
            element("summary", "The map in numbers"),
            table_html(_in_numbers(job, drawn), TableView(caption="")),
        ),
        class_="rankmap",
        data_map=drawn.kind,
    )


def _tools(drawn: DrawnMap, *, has_late: bool) -> Html:
    choices = [
        element("option", measure.title, value=str(number), title=measure.meaning)
        for number, measure in enumerate(drawn.measures)
    ]
    orders = [
        element("option", "by rank", value="rank"),
        element("option", "highest first", value="value"),
    ]
    meanings = [
        element(
            "span",
            element("b", f"{measure.title}: ", class_="printed"),
            measure.meaning,
            data_measure=str(number),
            hidden=number > 0,
        )
        for number, measure in enumerate(drawn.measures)
    ]
    return element(
        "div",
        element("label", "Show ", element("select", *choices, name="measure")),
        element("label", "Rows ", element("select", *orders, name="order")),
        element("span", *meanings, class_="meaning"),
        element(
            "span",
            element("span", class_="low"),
            element("canvas", width="256", height="1", aria_hidden="true"),
            element("span", class_="high"),
            element("span", class_="gap"),
            element("span", "nothing recorded"),
            element("span", "others wait for it", class_="late") if has_late else None,
            class_="scale",
        ),
        class_="tools",
    )


def _in_numbers(job: Job, drawn: DrawnMap) -> ResultTable:
    """For each measure the ranks with the lowest and the highest mean, and the median."""
    columns = (
        ResultColumn("measure", "Mean of each rank", Unit.NONE, "what the map shows"),
        ResultColumn("lowest", "Lowest", Unit.NONE, "the rank with the least"),
        ResultColumn("median", "Median", Unit.NONE, "of all ranks"),
        ResultColumn("highest", "Highest", Unit.NONE, "the rank with the most"),
    )
    rows = [_numbers_row(job, measure) for measure in drawn.measures]
    return ResultTable("map", "The map in numbers", columns, rows)


def _numbers_row(job: Job, measure: Measure) -> tuple[str, ...]:
    count = np.isfinite(measure.values).sum(axis=1)
    known = np.flatnonzero(count)
    means = np.nansum(measure.values[known], axis=1) / count[known]
    texts = [f"{100 * mean:.1f} %" if measure.is_share else duration_text(mean) for mean in means]
    order = np.argsort(means, kind="stable")
    least, middle, most = (int(order[place]) for place in (0, len(order) // 2, -1))
    numbers = [job.numbers[place] for place in known]
    return (
        measure.title,
        f"rank {numbers[least]}: {texts[least]}",
        texts[middle],
        f"rank {numbers[most]}: {texts[most]}",
    )
