"""The roofline in characters."""

from __future__ import annotations

import pytest

from wavescope.analyze.counters.roofline.plot import Ceiling, MemoryLevel, Roofline, RoofPoint
from wavescope.render.counters.roofline.plot import roofline_spec
from wavescope.render.counters.roofline.text import roofline_lines

HBM = MemoryLevel.HBM


def plotted(intensity: float, performance: float) -> Roofline:
    point = RoofPoint("k\x1b", 2, 1000.0, 1.0, performance, {HBM: intensity}, {HBM: 1.0})
    return Roofline(
        "gfx942",
        0,
        (
            Ceiling("HBM", HBM, "", 1000.0, True),
            Ceiling("MFMA FP16", None, "FP16", 100_000.0, True),
        ),
        (point,),
        (),
    )


def test_points_are_where_they_belong() -> None:
    lines = roofline_lines(plotted(10.0, 1_000.0), 100, HBM)

    rows = [line for line in lines if line[10:11] == "|"]
    (row,) = [at for at, line in enumerate(rows) if "A" in line]
    label = next(at for at, line in enumerate(rows) if line.startswith("      1e3"))
    axis = next(line for line in lines if "1e-1" in line)
    assert row == label
    assert abs(rows[row].index("A") - axis.index("1e1 ")) <= 1
    assert lines[-1] == "A k\\x1b: 10 FLOP/B, 1,000 GFLOP/s"


@pytest.mark.parametrize(("intensity", "performance"), [(0.0, 0.0), (1e-9, 1e-9), (1e9, 1e9)])
def test_points_far_away_do_no_harm(intensity: float, performance: float) -> None:
    assert len(roofline_lines(plotted(intensity, performance), 40, HBM)) > 20


def test_a_level_without_a_roof_says_so() -> None:
    assert roofline_lines(plotted(1, 1), 80, MemoryLevel.LDS) == [
        "no plot of LDS: its bandwidth or the peak rates are not known"
    ]


def test_the_plot_holds_points_ceilings_and_runs() -> None:
    spec = roofline_spec([("a", plotted(10, 1_000)), ("b", plotted(0, 0))], interactive=True)

    lines, _, points, numbers = (layer["data"]["values"] for layer in spec["layer"])
    assert [row["number"] for row in numbers] == [0]
    assert [(row["run"], row["intensity"], row["time_us"]) for row in points] == [("a", 10, 2.0)]
    assert [(row["intensity"], row["performance"]) for row in lines if row["line"] == "a: HBM"] == [
        (0.01, 10.0),
        (100.0, 100_000.0),
    ]
    assert spec["layer"][2]["encoding"]["shape"]["field"] == "run"


def test_lines_reach_around_all_points() -> None:
    spec = roofline_spec([("a", plotted(0.002, 10))], interactive=False)

    xs = [row["intensity"] for row in spec["layer"][0]["data"]["values"]]
    assert (min(xs), max(xs)) == (0.001, 1000.0)
    far = roofline_spec([("a", plotted(2_000, 10))], interactive=False)
    assert max(row["intensity"] for row in far["layer"][0]["data"]["values"]) == 100_000


def test_rates_that_are_near_have_one_label_and_one_unit() -> None:
    rates = (
        Ceiling("MFMA FP16", None, "FP16", 165_000.0, True),
        Ceiling("MFMA BF16", None, "BF16", 171_000.0, True),
        Ceiling("MFMA I8", None, "I8", 168_000.0, True),
        Ceiling("VALU FP32", None, "FP32", 21_000.0, True),
        Ceiling("VALU I32", None, "I32", 5_000.0, True),
    )
    run = plotted(10, 1_000)._replace(ceilings=rates)

    spec = roofline_spec([("a", run), ("b", run)], interactive=False)

    assert [row["label"] for row in spec["layer"][1]["data"]["values"]] == [
        "MFMA BF16/I8/FP16 165,000 to 171,000 GOP/s",
        "VALU FP32 21,000 GFLOP/s",
        "VALU I32 5,000 GIOP/s",
    ]


def test_a_plot_without_points_says_why_above_itself() -> None:
    run = plotted(0, 0)._replace(not_drawn="no point is drawn: 1 kernel without a duration")
    spec = roofline_spec([("a", run)], interactive=True)

    assert spec["title"]["subtitle"][1] == "no point is drawn: 1 kernel without a duration"


def test_a_picture_names_kernels_by_their_numbers() -> None:
    spec = roofline_spec([("a", plotted(10, 1_000))], interactive=False)

    assert spec["title"]["subtitle"] == ["a (gfx942)", "0  k\\x1b"]
    assert "HBM 1,000 GB/s" in spec["layer"][0]["encoding"]["color"]["legend"]["labelExpr"]
