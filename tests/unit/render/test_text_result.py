"""Results as text: exact layouts, and every width holds."""

from __future__ import annotations

import io

import pytest

from wavescope.model.result import (
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
)
from wavescope.render.cells.escape import cell_width
from wavescope.render.cells.layout import title_lines
from wavescope.render.results.text import TextStyle, write_text

COLUMNS = (
    ResultColumn("name", "Kernel", Unit.NAME),
    ResultColumn("calls", "Calls", Unit.COUNT),
    ResultColumn("total_ns", "Total", Unit.NS),
    ResultColumn("percent", "%", Unit.PERCENT),
    ResultColumn("mean_ns", "Mean duration", Unit.NS),
)
ROWS: list[tuple[Value, ...]] = [
    ("gemm", 1200, 4_500_000, 90.0, 3_750.0),
    ("evil\n\x1b[31m</script>|name", 1, 500_000, 10.0, 500_000.0),
]


def rendered(result: Result, width: int = 80, *, color: bool = False) -> str:
    stream = io.StringIO()
    write_text(result, stream, TextStyle(width, color))
    return stream.getvalue()


def kernel_result(rows: list[tuple[Value, ...]] | None = None) -> Result:
    table = ResultTable("kernels", "Kernels", COLUMNS, ROWS if rows is None else rows)
    return Result("Summary", [table], facts={"path": "a.db", "op_count": 1201})


def test_facts_table_and_findings_are_laid_out_exactly() -> None:
    finding = Finding(
        "x", Severity.WARNING, "GPU 0 idles", "half of the time", "use graphs", "gpu 0"
    )
    result = kernel_result().with_findings([finding])

    assert rendered(result) == (
        "Summary\n"
        "path  a.db\n"
        "ops   1,201\n"
        "\n"
        "Kernels\n"
        "Kernel                        Calls  Total     %  Mean duration\n"
        "                                        ms                   us\n"
        "----------------------------  -----  -----  ----  -------------\n"
        "gemm                          1,200  4.500  90.0           3.75\n"
        "evil\\n\\x1b[31m</script>|name      1  0.500  10.0         500.00\n"
        "\n"
        "Findings\n"
        "warning: GPU 0 idles\n"
        "  half of the time [gpu 0]\n"
        "  -> use graphs\n"
    )


def test_a_narrow_terminal_splits_titles_then_shortens_names_then_drops_columns() -> None:
    assert rendered(kernel_result(), 58).splitlines()[5:10] == [
        "                                                      Mean",
        "Kernel                        Calls  Total     %  duration",
        "                                        ms              us",
        "----------------------------  -----  -----  ----  --------",
        "gemm                          1,200  4.500  90.0      3.75",
    ]
    assert rendered(kernel_result(), 40).splitlines()[4:] == [
        "Kernels",
        "Kernel                Calls  Total     %",
        "                                ms",
        "--------------------  -----  -----  ----",
        "gemm                  1,200  4.500  90.0",
        "evil\\n\\x1b[31m…name       1  0.500  10.0",
        "(no room for: Mean duration; a wider",
        "terminal, --json or --format csv show",
        "them)",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    rows: list[tuple[Value, ...]] = [
        ("x" * 1_000_000, 12, 10**12, 99.9, 10.0),
        ("内核" * 100, 1_000_000, 5, 0.1, 2.0),
    ]
    finding = Finding("x", Severity.INFO, "t " * 200, "e " * 200, "s " * 200)
    result = kernel_result(rows).with_facts({"path": "p" * 500}).with_findings([finding])

    assert max(cell_width(line) for line in rendered(result, width).splitlines()) <= width


def test_nothing_of_a_hostile_name_reaches_the_terminal() -> None:
    result = Result(
        "t\x1b[2J",
        kernel_result().tables,
        [Finding("x", Severity.INFO, "\x1b[1m", "\x1b[1m", "\x1b[1m", "\x1b[1m")],
        {"path\x1b]0;owned\x07": "v\x1b[31m"},
    )

    assert "\x1b" not in rendered(result)


def test_colours_are_ours_alone() -> None:
    text = rendered(kernel_result(), color=True)

    assert text.startswith("\x1b[1mSummary\x1b[0m\n")
    assert text.count("\x1b") == 4


def test_points_in_time_are_counted_from_the_first_event() -> None:
    columns = (
        ResultColumn("gpu", "GPU"),
        ResultColumn("start_ns", "Start", Unit.TIME),
        ResultColumn("end_ns", "End", Unit.TIME),
    )
    first_ns = 2_211_714_152_915_534
    rows: list[tuple[Value, ...]] = [
        (0, first_ns + 1_500_000, first_ns + 2_250_000),
        (1, first_ns, None),
    ]
    result = Result("Gaps", [ResultTable("gaps", "Gaps", columns, rows)])

    told = rendered(result.with_facts({"first_timestamp_ns": first_ns})).splitlines()
    assert told[1] == "first timestamp  2211714152915534 ns"
    assert [line.split() for line in told[4:]] == [
        ["GPU", "Start", "End"],
        ["ms", "ms"],
        ["---", "-----", "-----"],
        ["0", "1.500", "2.250"],
        ["1", "0.000", "-"],
    ]
    assert str(first_ns) in rendered(result)


def test_an_empty_table_and_a_cut_one_say_so() -> None:
    empty = rendered(kernel_result([]))
    cut = rendered(Result("", [ResultTable("k", "K", COLUMNS, ROWS).head(1)]))

    assert empty.endswith("Kernels\n(no rows)\n")
    assert cut.endswith("(1 of 2 rows)\n")


def test_several_long_texts_share_the_room() -> None:
    columns = tuple(ResultColumn(name, name.title(), Unit.NAME) for name in ("one", "two", "three"))
    table = ResultTable("t", "T", columns, [("a" * 100, "b" * 100, "short")])

    assert rendered(Result("", [table]), 40).splitlines()[3] == (
        "aaaaaaaaaa…aaaa  bbbbbbbbbb…bbbb  short"
    )


@pytest.mark.parametrize(
    ("title", "width", "lines"),
    [
        ("Calls", 2, ("", "Calls")),
        ("Total under 10 us", 40, ("", "Total under 10 us")),
        ("Total under 10 us", 5, ("Total", "under 10 us")),
    ],
)
def test_titles_split_where_both_lines_are_short(
    title: str, width: int, lines: tuple[str, str]
) -> None:
    assert title_lines(title, width) == lines


def test_the_first_numbers_and_the_first_share_stay_longest() -> None:
    titles = ("Base", "New", "Delta", "Delta %", "Base calls", "New calls", "Mean %")
    units = (*(Unit.NS,) * 3, Unit.PERCENT, *(Unit.COUNT,) * 2, Unit.PERCENT)
    columns = (
        ResultColumn("name", "Kernel", Unit.NAME),
        *(ResultColumn(title, title, unit) for title, unit in zip(titles, units, strict=True)),
        ResultColumn("was", "Was", Unit.NAME),
    )
    row = ("gemm", 16_860_000, 12_790_000, -4_070_000, -24.1, 1_234, 5_678, -23.8, "Cijk_Alik_Bljk")
    result = Result("", [ResultTable("t", "T", columns, [row])])

    assert "(no room for: New calls; " in rendered(result, 66)
    assert "(no room for: Base calls, New calls, Mean %; " in rendered(result, 52)
    narrow = rendered(result, 36)
    assert "(no room for: Base calls, New calls, Mean %, Was; " in " ".join(narrow.split())
    assert "gemm" in narrow and "16.86  12.79  -4.070" in narrow


def test_what_names_a_row_is_cut_less_than_other_texts_and_numbers_go_first() -> None:
    columns = (
        ResultColumn("name", "Instruction"),
        ResultColumn("stall", "Stall", Unit.COUNT),
        ResultColumn("source", "Source"),
        ResultColumn("other", "Waits for"),
        ResultColumn("idle", "Idle", Unit.COUNT),
    )
    row = ("global_load_dword v3, v[0:1], off", 1_264_020, "a" * 30, "b" * 30, 5_364)
    result = Result("", [ResultTable("t", "T", columns, [row])])

    wide, narrow = rendered(result, 96), rendered(result, 70)

    assert "\nglobal_load_dword v3, v[0:1], off  1,264,020  aaaaaaaaaaaaa…aaaaaa  bbb" in wide
    assert wide.splitlines()[-1].endswith("  5,364")
    assert "(no room for: Idle; " in narrow


def test_kernels_of_one_table_never_look_the_same() -> None:
    options = "HHS_BH_Bias_HAS_SAV_UserArgs"
    names = [
        f"Cijk_Ailk_Bljk_{options}_MT{tile}_MI16x16x1_SN" for tile in ("256x16x64", "256x16x384")
    ]
    result = kernel_result([(name, 1, 1_000, 50.0, 1_000.0) for name in names])

    lines = rendered(result, 60).splitlines()

    assert [line.split()[0] for line in lines[-2:]] == [
        "Cijk_Ailk_Bljk_…MT256x16x64…SN",
        "Cijk_Ailk_Bljk…MT256x16x384…SN",
    ]
