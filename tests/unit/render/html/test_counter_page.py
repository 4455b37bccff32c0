"""The page of counters: panels as sections, units and reasons of each row, meanings of metrics."""

from __future__ import annotations

import io
import re

from wavescope.model.result import Finding, Result, ResultColumn, ResultTable, Severity, Unit
from wavescope.render.counters import CounterWords, NumberStyle, counter_page
from wavescope.render.html.markup import Html
from wavescope.render.html.page import write_page

COLUMNS = (
    ResultColumn("id", "ID", Unit.NAME),
    ResultColumn("metric", "Metric", Unit.NAME),
    ResultColumn("avg", "Avg"),
    ResultColumn("percent_of_peak", "Percent of Peak"),
    ResultColumn("unit", "Unit"),
    ResultColumn("key", "key"),
    ResultColumn("note", "note"),
)


def a_result() -> Result:
    rows = [
        ("2.1.0", "L2 BW", 1234.5, 12.5, "GB/s", "l2_bandwidth", None),
        ("2.1.1", "Time", 2e6, None, "ns", "kernel_time", "N/A: it has no peak"),
    ]
    tables = [
        ResultTable("2.1", "2.1 Speed of Light", COLUMNS, rows),
        ResultTable("3.1", "3.1 Memory Chart", COLUMNS, rows[:1]),
    ]
    findings = [Finding("counters.x", Severity.WARNING, "short <b>", "because")]
    facts = {"path": "<here>", "chip": "gfx942", "time_ns": 2e6}
    return Result("Counter analysis", tables, findings, facts)


def text_of(numbers: NumberStyle) -> str:
    words = CounterWords({2: "Speed of Light"}, {2: "sol"}, {"l2_bandwidth": 'Bytes "moved".'})
    stream = io.StringIO()
    write_page(counter_page(a_result(), numbers, words, {"3.1": Html("<svg>chart</svg>")}), stream)
    return stream.getvalue()


def test_a_panel_is_a_section_with_its_alias_in_the_navigation() -> None:
    page = text_of(NumberStyle())

    assert '<a href="#panel-2">sol</a><a href="#panel-3">3</a>' in page
    assert '<h2 id="panel-2-title">2 Speed of Light</h2>' in page
    assert page.index("<svg>chart</svg>") > page.index('id="panel-3"')


def test_rows_have_units_bars_and_meanings() -> None:
    cells = re.findall(r"<tr>(<td.*?)</tr>", text_of(NumberStyle(time_unit="ms")))

    assert cells[0] == (
        '<td class="text">2.1.0</td><td class="text" title="Bytes &quot;moved&quot;.">L2 BW</td>'
        '<td class="number">1,234.50</td><td class="number share">'
        '<svg class="sharebar" aria-hidden="true"><rect width="12.50%" height="100%" class="bar">'
        '</rect></svg>12.50</td><td class="text">GB/s</td>'
    )
    assert '<td class="number">2.00</td>' in cells[1]
    assert '<td class="text">ms</td>' in cells[1]


def test_what_is_not_there_says_why_and_names_cannot_be_markup() -> None:
    page = text_of(NumberStyle())

    assert '<p class="note">N/A: it has no peak (2.1.1)</p>' in page
    assert "path: &lt;here&gt;" in page
    assert "short &lt;b&gt;" in page
    assert '<dd class="value">gfx942</dd>' in page
