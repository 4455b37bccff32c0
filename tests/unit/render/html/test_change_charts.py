"""Charts of change."""

from __future__ import annotations

from wavescope.model.result import ResultColumn, ResultTable, Unit
from wavescope.render.html.charts import WaterfallStep, trend_lines, waterfall
from wavescope.render.html.tables import table_html


def test_points_lie_by_value_above_zero() -> None:
    text = trend_lines(["a", "b", "c"], [100.0, None, 50.0], ["100 ns", "-", "50 ns"])

    assert '<circle cx="16.67%" cy="16.00%" r="4">' in text
    assert '<circle cx="83.33%" cy="45.00%" r="4">' in text
    # The missing point leaves a gap: only the axis is a line.
    assert text.count("<line") == 1
    assert 'aria-label="a: 100 ns, b: -, c: 50 ns"' in text


def test_a_waterfall_goes_from_sum_to_sum() -> None:
    steps = [
        WaterfallStep("(base)", 0, 1_000, is_total=True),
        WaterfallStep("gemm", 1_000, 1_200),
        WaterfallStep("<idle>", 1_200, 1_100),
        WaterfallStep("(new)", 0, 1_100, is_total=True),
    ]

    text = waterfall(steps, "time")

    # The scale begins half the range below the lowest sum: 900 to 1200.
    assert 'x="33.333%" width="66.667%" height="100%" class="more"' in text
    assert 'x="66.667%" width="33.333%" height="100%" class="less"' in text
    assert ">+200 ns<" in text
    assert ">-100 ns<" in text
    assert "The scale begins at 900 ns." in text
    assert "&lt;idle&gt;" in text


def test_changes_in_tables_have_a_sign_and_a_colour_instead_of_a_bar() -> None:
    table = ResultTable(
        "t",
        "T",
        (ResultColumn("delta_percent", "Delta %", Unit.PERCENT),),
        [(12.0,), (-3.0,), (-0.01,), (None,)],
    )

    text = table_html(table)

    assert '<td class="number up">+12.0</td>' in text
    assert '<td class="number down">-3.0</td>' in text
    assert '<td class="number">0.0</td>' in text
    assert '<td class="number">-</td>' in text
    assert "<rect" not in text


def test_percents_that_are_no_parts_of_a_whole_have_no_bar() -> None:
    table = ResultTable("t", "T", (ResultColumn("p", "%", Unit.PERCENT),), [(120.0,), (5.0,)])

    assert "<rect" not in table_html(table)
