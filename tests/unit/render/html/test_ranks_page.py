"""The page of a job of ranks: every table once, values that are those of the maps, no foreign markup."""

from __future__ import annotations

import base64
import re
import shlex
import zlib
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.unit.analyze.ranks.maps.hand_made_jobs import PlayedJob, digest, fast_bins, job, times
from tests.unit.analyze.ranks.maps.hand_made_reports import (
    page_text,
    played_report,
    played_result,
)
from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.maps import rank_step_map, rank_time_map
from wavescope.analyze.ranks.stragglers import (
    PathKind,
    PathPart,
    StepAccount,
    StragglerReport,
    Verdict,
)
from wavescope.model.result import Result, ResultColumn, ResultTable
from wavescope.render.html.ranks_charts import clocks_html, distribution, stages_html
from wavescope.render.html.ranks_map_data import (
    Measure,
    caused_delays,
    colour_range,
    maps_data,
    open_command,
    step_map,
    time_map,
)
from wavescope.render.html.ranks_page import ranks_page
from wavescope.render.html.ranks_path import pieces_of
from wavescope.render.html.ranks_story import waterfall_steps

SLOW = PlayedJob(rank_count=16, step_count=12, slow={3: 1.25}, offsets_ns={2: 7_000_000})
NOTHING = StragglerReport(Verdict.INCONCLUSIVE, "there is nothing to compare")


@pytest.fixture(scope="module")
def played() -> Job:
    return SLOW.built()


@pytest.fixture(scope="module")
def report(played: Job) -> StragglerReport:
    return played_report(played)


@pytest.fixture(scope="module")
def result(played: Job, report: StragglerReport) -> Result:
    return played_result(played, report)


def unpacked(column: dict[str, Any]) -> np.ndarray:
    planes = np.frombuffer(zlib.decompress(base64.b64decode(column["data"])), np.uint8)
    planes = planes.reshape(column["bytes"], column["length"]).astype(np.int64)
    return sum(plane << (8 * place) for place, plane in enumerate(planes))  # type: ignore[return-value]


def carried(found: Job, told: StragglerReport) -> dict[str, Any]:
    steps, time = rank_step_map(found), rank_time_map(found)
    return maps_data(found, time, told, [time_map(time, steps), step_map(found, steps, told, time)])


def values_of(measure: dict[str, Any]) -> np.ndarray:
    codes = unpacked(measure["data"])
    values = (codes - 1) / (measure["codes"] - 1) * measure["largest"]
    return np.where(codes == 0, np.nan, values)


def named(data: dict[str, Any], kind: str, title: str) -> dict[str, Any]:
    return next(each for each in data["maps"][kind]["measures"] if each["title"] == title)


def test_every_table_that_has_rows_is_there_once(
    played: Job, report: StragglerReport, result: Result
) -> None:
    text = page_text(played, report, result)

    for table in result.tables:
        caption = f'<caption class="unseen">{table.title}</caption>'
        assert text.count(caption) == (1 if table.rows else 0), table.name
        assert f"{table.title}: none." not in text


def test_a_table_that_no_section_knows_is_shown_too(played: Job, report: StragglerReport) -> None:
    table = ResultTable("novel", "Something new", (ResultColumn("a", "A"),), [("b",)])

    text = page_text(played, report, Result("Ranks", [table]))

    assert text.count('<caption class="unseen">Something new</caption>') == 1


def test_what_made_room_has_a_column_of_its_own(played: Job, report: StragglerReport) -> None:
    first, *others = played.ranks
    shortened = replace(played, ranks=(replace(first, older_ops=4_321), *others))

    text = page_text(shortened, report, played_result(shortened, report))

    assert ">4,321<" in text
    assert [name in text for name in ("Made room", ">Lost<")] == [True, False]
    assert "Made room" not in page_text(played, report, played_result(played, report))


def test_it_begins_with_the_verdict_and_figures(
    played: Job, report: StragglerReport, result: Result
) -> None:
    text = page_text(played, report, result)

    assert str(result.facts["headline"]) in text
    assert re.search(r"<dt>Ranks</dt><dd class=\"value\">16</dd>", text)
    assert re.search(r"<dt>Steps</dt><dd class=\"value\">12</dd>", text)
    assert "slower compute" in text
    assert "1 file not read" in text


def test_cells_are_the_values_of_the_maps(played: Job, report: StragglerReport) -> None:
    data = carried(played, report)
    time, steps = rank_time_map(played), rank_step_map(played)

    busy = values_of(named(data, "time", "Busy")).reshape(time.busy.shape)
    skew = values_of(named(data, "step", "Arrival skew")).reshape(steps.lateness_ns.shape)
    assert busy == pytest.approx(time.busy, abs=0.5 / 254, nan_ok=True)
    largest = np.nanmax(steps.lateness_ns)
    assert skew == pytest.approx(steps.lateness_ns, abs=0.51 * largest / 65_534, nan_ok=True)


def test_cells_lead_back_to_each_ranks_own_time(played: Job, report: StragglerReport) -> None:
    data = carried(played, report)
    steps = data["maps"]["step"]
    starts = unpacked(steps["starts"]).reshape(16, 12)
    lengths = unpacked(steps["lengths"]).reshape(16, 12)

    for place, rank in enumerate(data["ranks"]):
        own = int(rank["left"]) + 1_000 * starts[place]
        digest_steps = played.ranks[place].steps
        assert (own <= digest_steps.start_ns).all()
        assert (digest_steps.start_ns - own < 1_000).all()
        assert (own + 1_000 * lengths[place] >= digest_steps.end_ns).all()
        assert (own + 1_000 * lengths[place] - digest_steps.end_ns < 2_000).all()
    assert data["ranks"][2]["left"] == str(SLOW.epoch_ns + 7_000_000)


def test_ranks_that_others_wait_for_are_marked(played: Job, report: StragglerReport) -> None:
    ranks = carried(played, report)["ranks"]

    assert [rank["number"] for rank in ranks if rank["isLate"]] == ["3"]


def test_a_clock_of_its_own_is_marked() -> None:
    found = replace(SLOW, unknown_clocks=frozenset({5})).built()
    ranks = carried(found, played_report(found))["ranks"]

    assert [rank["number"] for rank in ranks if rank["clock"]] == ["5*"]
    assert "nothing ties it to the others" in ranks[5]["clock"]


def test_very_many_steps_share_columns() -> None:
    found = PlayedJob(rank_count=2_000, step_count=130, bin_count=4).built()
    data = carried(found, NOTHING)
    steps = data["maps"]["step"]

    assert steps["columns"] == 44
    assert steps["labels"][:2] == ["0 to 2", "3 to 5"]
    assert steps["labels"][-1] == "129"
    compute = values_of(named(data, "step", "Compute")).reshape(2_000, 44)
    truth = rank_step_map(found).compute_ns
    largest = truth.max() / 65_534
    assert compute[7, 0] == pytest.approx(truth[7, :3].max(), abs=largest)
    assert compute[7, 43] == pytest.approx(truth[7, 129], abs=largest)
    own = int(data["ranks"][7]["left"]) + 1_000 * unpacked(steps["starts"]).reshape(2_000, 44)[7]
    assert abs(own[1] - found.ranks[7].steps.start_ns[3]) < 1_000


def test_one_slow_rank_of_a_thousand_stands_out_and_noise_does_not() -> None:
    calm = np.random.default_rng(1).uniform(0, 100_000, (1_000, 50))
    slow = calm.copy()
    slow[17] = 5_000_000
    wild = calm.copy()
    wild[17, 3] = 1e12

    assert colour_range(Measure("", "", slow)) == (0, 5_000_000)
    assert colour_range(Measure("", "", wild))[1] < 110_000
    assert colour_range(Measure("", "", calm, notable=400_000)) == (0, 400_000)
    even = np.full((8, 8), 1e6)
    assert colour_range(Measure("", "", even, from_zero=False)) == (970_000, 1_030_000)
    assert colour_range(Measure("", "", np.full((2, 2), np.nan))) == (0, 1)
    shares = np.array([[0.31, 0.34], [0.33, 0.36]])
    assert colour_range(Measure("", "", shares, is_share=True)) == pytest.approx((0.3, 0.5))


def test_the_waterfall_ends_at_the_actual_time(played: Job, report: StragglerReport) -> None:
    steps = waterfall_steps(played, report.steps)

    assert steps[0].after_ns == sum(account.ideal_ns for account in report.steps)
    for before, after in pairwise(steps[:-1]):
        assert before.after_ns == after.before_ns
    assert steps[-2].after_ns == steps[-1].after_ns
    assert steps[-1].after_ns == sum(account.actual_ns for account in report.steps)
    assert steps[1].label == "rank 3 (node000): own work"


def test_the_waterfall_sums_up_small_parts(played: Job) -> None:
    parts = tuple(
        PathPart(PathKind.LOCAL, place, 0, 0, 100 * place, 100 * (place + 1), 100 - place)
        for place in range(16)
    )
    account = StepAccount(0, 1_600, 1_600 - sum(range(16)), parts)

    steps = waterfall_steps(played, [account])

    assert len(steps) == 12
    assert steps[-2].label == "7 others together"
    assert steps[-2].after_ns - steps[-2].before_ns == sum(range(7))
    assert steps[-2].after_ns == 1_600


def test_pieces_of_the_path_are_joined() -> None:
    parts = [
        PathPart(PathKind.LOCAL, 1, 0, 0, 0, 10, 8),
        PathPart(PathKind.LOCAL, 1, 0, 1, 10, 30, 15),
        PathPart(PathKind.TRANSFER, 1, 0, 1, 30, 40, 12),
        PathPart(PathKind.LOCAL, 2, 0, 2, 40, 50, 10),
    ]

    assert pieces_of(parts) == [
        (PathKind.LOCAL, 1, 0, 30, 7),
        (PathKind.TRANSFER, 1, 30, 40, -2),
        (PathKind.LOCAL, 2, 40, 50, 0),
    ]


def test_delays_are_summed_by_rank_and_step() -> None:
    accounts = (
        StepAccount(
            1,
            50,
            38,
            (
                PathPart(PathKind.LOCAL, 0, 0, 0, 0, 10, 4),
                PathPart(PathKind.LOCAL, 0, 0, 0, 10, 20, 4),
                PathPart(PathKind.TRANSFER, 1, 0, 0, 20, 30, 1),
                PathPart(PathKind.LOCAL, 1, 0, 0, 30, 50, 29),
                PathPart(PathKind.LOCAL, 99, 0, 0, 30, 50, 29),
            ),
        ),
    )

    found = caused_delays(StragglerReport(Verdict.NOBODY, "", (), accounts), (2, 2))

    assert np.isnan(found[:, 0]).all()
    assert found[:, 1].tolist() == [12, 0]


@pytest.mark.parametrize(
    ("path", "rank", "command"),
    [
        ("run/rank3.db", None, ("wavescope view run/rank3.db", "")),
        ("all.json", 7, ("wavescope view all.json", " --rank=7")),
        ("-o.db", None, ("wavescope view ./-o.db", "")),
        ("a --start=0 --end=0 b", 1, ("wavescope view 'a --start=0 --end=0 b'", " --rank=1")),
        ("", None, ("", "")),
        ("a\nrm -rf .", None, ("", "")),
        ("a\u202egpj.db", None, ("", "")),
        ("x" * 700, None, ("", "")),
    ],
)
def test_commands_open_a_ranks_trace(path: str, rank: int | None, command: tuple[str, str]) -> None:
    assert open_command(path, rank) == command


@pytest.mark.parametrize(
    "path", ["a; rm -rf ~", "$(reboot)", "`x`", "a'b\"c", "two words", "a&b|c"]
)
def test_commands_hold_any_path_as_one_word(path: str) -> None:
    assert shlex.split(open_command(path, None)[0]) == ["wavescope", "view", path]


def test_names_are_text(played: Job) -> None:
    evil = "</script><img src=x onerror=alert(1)>" + "x" * 5_000
    rank = replace(
        played.ranks[3],
        path=f"run/{evil}.db",
        identity=replace(played.ranks[3].identity, host=evil, gpu_model=evil),
    )
    found = replace(played, ranks=(*played.ranks[:3], rank, *played.ranks[4:]))
    report = played_report(found, evil)

    text = page_text(found, report, played_result(found, report), evil)

    assert "<img" not in text
    assert text.count("</script>") == text.count("<script")
    assert len(text) < 1_000_000


@pytest.mark.parametrize(
    "found",
    [
        job([]),
        job([digest(0, 0, 0, fast_bins(times(0), times(0), times(0), 1))]),
        replace(SLOW, rank_count=1).built(),
        replace(SLOW.built(), steps=np.empty((16, 0), np.int32)),
        replace(SLOW.built(), groups=()),
    ],
    ids=["no ranks", "empty rank", "one rank", "no steps", "no groups"],
)
def test_it_is_made_of_whatever_there_is(found: Job) -> None:
    page = ranks_page(found, NOTHING, Result("Ranks"), "run")

    assert [section.id for section in page.sections][:2] == ["figures", "stragglers"]
    assert NOTHING.reason in page_text(found, NOTHING, Result("Ranks"))


def test_the_distribution_counts_every_step() -> None:
    values = np.array([10.0, 10.0, 20.0, 100.0])
    edges, counts = distribution(values)

    assert sum(counts) == 4
    assert counts[0] == 2
    assert counts[-1] == 1
    assert (edges[0], edges[-1]) == pytest.approx((10, 100))
    assert sum(distribution(np.full(5, 7.0))[1]) == 5


def test_clocks_are_drawn_with_their_intervals(played: Job) -> None:
    text = clocks_html(played)

    # 900 ns below and 700 ns above the fitted offset: the scale is 900 ns to each side.
    assert "M0.5 11.1V100.0M1.5 11.1V100.0" in text
    assert "16 clocks" in text
    assert "1.600 us wide in the median" in text
    assert clocks_html(replace(SLOW, rank_count=1).built()) == ""


def test_stages_are_bars_of_compute_and_bubble() -> None:
    names = ("stage", "compute_ns", "bubble_ns", "bubble_percent")
    columns = tuple(ResultColumn(name, name) for name in names)
    table = ResultTable("stages", "Stages", columns, [(0, 300, 100, 20.0), (1, 100, None, None)])

    text = stages_html(Result("Ranks", [table]))

    assert "compute 60.0 %, bubble 20.0 %, other 20.0 %" in text
    assert "compute 100.0 %" in text
    assert stages_html(Result("Ranks")) == ""


def test_a_page_of_512_ranks_is_small() -> None:
    found = PlayedJob(rank_count=512, step_count=100, slow={3: 1.25}).built()
    report = played_report(found)

    assert len(page_text(found, report, played_result(found, report))) < 2_000_000
