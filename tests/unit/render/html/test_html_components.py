"""The parts that pages are made of: escaping, policy, tables, charts, packed columns."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wavescope.model.result import Finding, ResultColumn, ResultTable, Severity, Unit
from wavescope.render.html.capture_page import step_chart
from wavescope.render.html.charts import BarRow, histogram, series_of, stacked_bars
from wavescope.render.html.markup import Html, bounded, element
from wavescope.render.html.page import Page, Section, write_page
from wavescope.render.html.results import findings_html
from wavescope.render.html.tables import TableView, table_html
from wavescope.render.html.timelines import packed, packed_steps

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&"


def test_text_is_escaped_and_markup_is_not() -> None:
    inner = element("b", HOSTILE)

    assert inner == "<b>&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&quot;&#x27;&amp;</b>"
    assert element("td", inner, None, ["x", Html("<br>")]) == f"<td>{inner}x<br></td>"


def test_attributes_are_escaped_spelled_and_left_out() -> None:
    assert (
        element("input", class_="a", data_zoom='1" onclick="', hidden=False, checked=True, id=None)
        == '<input class="a" data-zoom="1&quot; onclick=&quot;" checked>'
    )


def test_names_are_bounded_and_cannot_reverse_text() -> None:
    assert bounded("a\u202eb\nc") == "a\\u202eb\\nc"
    assert len(bounded("x" * 1_000_000)) == 1_000
    assert bounded("x" * 1_000_000, 9) == "xxxxxx…xx"


@given(st.lists(st.integers(0, (1 << 63) - 1), max_size=50))
def test_packed_columns_can_be_read_back(values: list[int]) -> None:
    column = packed(np.array(values, np.uint64))

    planes = zlib.decompress(base64.b64decode(column["data"]))
    rows = np.frombuffer(planes, np.uint8).reshape(column["bytes"], column["length"]).T
    assert [int.from_bytes(row.tobytes(), "little") for row in rows] == values


def test_steps_start_anew_where_told() -> None:
    column = packed_steps(np.array([5, 9, 2, 2]), restarts=np.array([True, False, True, False]))

    assert zlib.decompress(base64.b64decode(column["data"])) == bytes([5, 4, 2, 0])
    assert (column["bytes"], column["length"]) == (1, 4)


def page_text(page: Page) -> str:
    stream = io.StringIO()
    write_page(page, stream)
    return stream.getvalue()


def test_the_policy_names_the_scripts_and_styles_of_the_page_and_nothing_else() -> None:
    text = page_text(Page(HOSTILE, Html(""), [], {"data": {"name": HOSTILE}}))

    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy[1].replace("&#x27;", "'").split("; "))
    assert rules["default-src"] == "'none'"
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        parts = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        hashes = [base64.b64encode(hashlib.sha256(part.encode()).digest()) for part in parts]
        assert rules[rule].split() == [f"'sha256-{digest.decode()}'" for digest in hashes]
    assert rules["trusted-types"] == "'none'"
    assert "style=" not in text.partition("<body>")[2]


def test_data_cannot_end_its_element() -> None:
    text = page_text(Page("t", Html(""), [], {"data": {"name": HOSTILE}}))

    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    assert data[1].startswith('{"name":"\\u003c/script>\\u003cimg')
    assert "<img" not in text


def test_sections_are_named_and_led_to() -> None:
    text = page_text(Page("t", Html(""), [Section("gaps", "Idle gaps", Html("<p>x</p>"))]))

    assert '<a href="#gaps">Idle gaps</a>' in text
    assert '<section id="gaps" aria-labelledby="gaps-title"><h2 id="gaps-title">' in text


TABLE = ResultTable(
    "kernels",
    "Kernels",
    (
        ResultColumn("name", "Name", Unit.NAME, "what it is called"),
        ResultColumn("total_ns", "Total", Unit.NS),
        ResultColumn("percent", "%", Unit.PERCENT),
        ResultColumn("empty", "Empty", Unit.COUNT),
    ),
    [(HOSTILE, 1_500, 75.0, None), ("add", 500, 25.0, None)],
)


def test_tables_have_titles_units_meanings_and_aligned_numbers() -> None:
    text = table_html(TABLE)

    assert (
        '<th scope="col" class="name" title="what it is called"><button type="button">Name<' in text
    )
    assert 'Total<span class="unit"> us</span>' in text
    assert '<td class="number">1.500</td>' in text
    assert '<rect width="75.00%" height="100%" class="bar">' in text
    assert "Empty" not in text
    assert "<img" not in text


def test_tables_say_how_many_rows_are_missing() -> None:
    assert "1 of 2 rows are in this page" in table_html(TABLE, TableView(most_rows=1))


def test_long_tables_can_be_searched_and_unfolded() -> None:
    long = ResultTable("t", "T", TABLE.columns, [(f"k{n}", n, 0.0, None) for n in range(30)])

    assert 'aria-label="Filter T"' in table_html(long)
    assert ">Show all 30 rows<" in table_html(long)
    assert "Filter" not in table_html(TABLE)


def test_a_last_column_of_markup() -> None:
    view = TableView(extra_title="Chart", extra_cells=[Html("<svg></svg>")])

    assert table_html(TABLE, view).count('<td class="extra"><svg></svg></td>') == 1


def test_a_last_column_is_cut_with_the_rows() -> None:
    view = TableView(extra_title="Chart", extra_cells=[Html("<svg></svg>")] * 2, most_rows=1)

    assert table_html(TABLE, view).count("<svg></svg>") == 1


def test_stacked_bars_show_shares_and_totals() -> None:
    text = stacked_bars([BarRow("all", (3_000, 1_000, 0))], ("GEMM", "attention", "other"), "time")

    assert 'x="0.000%" width="75.000%" height="100%" class="s0"' in text
    assert 'x="75.000%" width="25.000%" height="100%" class="s1"' in text
    assert "<title>GEMM 75.0 %, 3.000 us</title>" in text
    assert 'aria-label="GEMM 75.0 %, attention 25.0 %"' in text
    assert '<span class="total">4.000 us</span>' in text


def test_histograms_say_what_a_bar_counts_and_mark_values() -> None:
    text = histogram([1024, 1536, 2048], [1, 3], [1280], "durations")

    assert "<title>3 from 1.536 us to 2.048 us</title>" in text
    assert 'x1="25.000%" x2="25.000%"' in text


def test_known_classes_keep_their_colours_and_others_get_different_ones() -> None:
    labels = ["mine", "GEMM", "other", "yours"]
    colours = series_of(labels)

    assert colours[1:3] == [0, 10]
    assert len(set(colours)) == 4


def test_findings_come_gravest_first_with_gain_query_and_numbers() -> None:
    text = findings_html(
        [
            Finding("a", Severity.INFO, "small", "seen"),
            Finding(
                "b",
                Severity.PROBLEM,
                HOSTILE,
                "idle",
                "use graphs",
                "gpu 0",
                12.5,
                "all idle time gone",
                "SELECT 1\nFROM rocpd_op",
                {"idle_ns": 1_500, "op_ids": "1 2"},
            ),
        ]
    )

    assert text.index("problem: ") < text.index("info: ")
    assert "up to 12.5 %" in text
    assert "SELECT 1\nFROM rocpd_op" in text
    assert "<dt>idle</dt><dd>1.500 us</dd>" in text
    assert "<img" not in text


def test_many_findings_are_folded_after_the_first() -> None:
    many = [Finding(f"f{number}", Severity.INFO, f"title {number}", "e") for number in range(9)]

    text = findings_html(many)

    assert text.index("title 2") < text.index("<summary>6 more findings") < text.index("title 3")


def test_what_findings_quote_is_code_and_escaped() -> None:
    evidence = f"caused by `s_waitcnt vmcnt(0)` (row 3), `{HOSTILE}`"

    text = findings_html([Finding("f", Severity.INFO, "t", evidence, "an `odd one is kept")])

    assert "caused by <code>s_waitcnt vmcnt(0)</code> (row 3), <code>" in text
    assert "an `odd one is kept" in text
    assert "<img" not in text


def test_a_chart_of_steps_reaches_its_limit_and_its_edge() -> None:
    text = step_chart([1.0, 2.0], 8.0, 1000, "waves")

    assert 'y="64.50%" width="48.500%" height="21.50%"' in text
    assert '<line x1="0%" x2="100%" y1="0.00%" y2="0.00%" class="limit">' in text
    assert '<text x="100%" y="98%" text-anchor="end">1,000 cycles</text>' in text


def test_no_findings_is_said() -> None:
    assert "No findings" in findings_html([])


def test_a_share_that_is_none_has_no_bar() -> None:
    table = ResultTable("t", "T", (ResultColumn("p", "%", Unit.PERCENT),), [(None,), (50.0,)])

    assert table_html(table).count("<rect") == 1


def test_long_names_of_a_table_stay_different() -> None:
    names = [f"k<{'int, ' * 40}{tile}, {'float, ' * 40}1>" for tile in ("128x64", "128x32")]
    columns = (ResultColumn("name", "Kernel", Unit.NAME),)

    page = table_html(ResultTable("k", "K", columns, [(name,) for name in names]))
    page = page.replace("<wbr>", "")

    shown = re.findall(r"<td[^>]*>([^<]*)", page)
    assert len(set(shown)) == 2
    assert "128x64" in shown[0]
    assert "128x32" in shown[1]
