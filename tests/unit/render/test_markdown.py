"""Results as Markdown: names are literal text whatever they hold."""

from __future__ import annotations

import io

import pytest

from wavescope.model.result import Finding, Result, ResultColumn, ResultTable, Severity, Unit
from wavescope.render.results.markdown import escaped, write_markdown


def test_a_result_becomes_headings_lists_and_tables() -> None:
    columns = (ResultColumn("name", "Kernel", Unit.NAME), ResultColumn("t_ns", "Total", Unit.NS))
    table = ResultTable("kernels", "Kernels", columns, [("a|b\n<script>", 2_000)], 7)
    finding = Finding("id", Severity.PROBLEM, "Title", "because", "do it", "gpu 0")
    stream = io.StringIO()

    write_markdown(Result("Summary", [table], [finding], {"op_count": 3}), stream)

    assert stream.getvalue() == (
        "## Summary\n"
        "\n"
        "- ops: 3\n"
        "\n"
        "### Kernels\n"
        "\n"
        "| Kernel | Total (us) |\n"
        "| --- | ---: |\n"
        "| a\\|b\\\\n&lt;script&gt; | 2.000 |\n"
        "\n"
        "1 of 7 rows\n"
        "\n"
        "### Findings\n"
        "\n"
        "- **problem: Title**: because (gpu 0); suggestion: do it\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("__amd_rocclr_copyBuffer", "\\_\\_amd\\_rocclr\\_copyBuffer"),
        ("![x](http://e.vil)", "!\\[x\\](http://e.vil)"),
        ("`code` *bold* ~gone~", "\\`code\\` \\*bold\\* \\~gone\\~"),
        ("&lt;b>", "&amp;lt;b&gt;"),
        ("x" * 500, "x" * 80 + "…" + "x" * 39),
    ],
)
def test_markup_in_names_is_shown_not_obeyed(text: str, expected: str) -> None:
    assert escaped(text) == expected


def test_long_evidence_is_kept_whole() -> None:
    evidence = "word " * 60
    finding = Finding("id", Severity.INFO, "T", evidence)
    stream = io.StringIO()

    write_markdown(Result("", findings=[finding]), stream)

    assert f": {' '.join(['word'] * 60)}\n" in stream.getvalue()


def test_long_names_of_a_table_stay_different() -> None:
    names = [f"k<{'int, ' * 40}{tile}, {'float, ' * 40}1>" for tile in ("128x64", "128x32")]
    columns = (ResultColumn("name", "Kernel", Unit.NAME),)
    stream = io.StringIO()

    write_markdown(
        Result("", [ResultTable("k", "K", columns, [(name,) for name in names])]), stream
    )

    first, second = stream.getvalue().splitlines()[-2:]
    assert "128x64" in first
    assert "128x32" in second
