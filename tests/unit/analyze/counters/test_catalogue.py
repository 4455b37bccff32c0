"""The catalogue: what chips differ in, files of metrics of one's own, the list of metrics."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavescope.analyze.counters.catalogue import CHIPS, Catalogue, catalogue_for
from wavescope.analyze.counters.expression import FormulaError
from wavescope.analyze.counters.metrics import metric_list, with_own_metrics
from wavescope.errors import UnreadableInputError, UsageError, WavescopeError
from wavescope.formats.toml_rules import read_rules


def rows_of(catalogue: Catalogue) -> dict[str, str]:
    return {
        f"{table.id}.{at}": row.name
        for panel in catalogue.panels
        for table in panel.tables
        for at, row in enumerate(table.rows)
    }


def test_every_row_has_a_metric_and_every_chip_all_panels() -> None:
    for chip in CHIPS:
        catalogue = catalogue_for(chip)
        assert [panel.id for panel in catalogue.panels] == [
            *(2, 3, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 18),
        ]
        assert all(
            row.metric in catalogue.metrics
            for panel in catalogue.panels
            for table in panel.tables
            for row in table.rows
        )


@pytest.mark.parametrize(
    ("chip", "id_", "name"),
    [
        ("gfx942", "2.1.2", "MFMA FLOPs (F8)"),
        ("gfx90a", "2.1.2", "MFMA FLOPs (BF16)"),
        ("gfx908", "10.1.0", "LDS"),
        ("gfx950", "2.1.7", "MFMA FLOPs (F6F4)"),
        ("gfx950", "6.1.0", "Schedule-Pipe Wave Occupancy"),
        ("gfx950", "16.6.6", "UTCL2 Stall"),
        ("gfx950", "17.4.2", "Input Buffer Stalled on L2"),
        ("gfx950", "17.6.21", "Atomic Bandwidth - HBM"),
        ("gfx940", "17.6.10", "Atomic"),
        ("gfx906", "2.1.30", "L1I Fetch Latency"),
    ],
)
def test_ids_are_places_in_the_tables_of_a_chip(chip: str, id_: str, name: str) -> None:
    assert rows_of(catalogue_for(chip))[id_] == name


def test_how_many_metrics_chips_have() -> None:
    counts = {chip: len(rows_of(catalogue_for(chip))) for chip in CHIPS}

    assert counts["gfx942"] == 380
    assert counts["gfx950"] - counts["gfx942"] == 70


def test_unknown_chips_are_an_error() -> None:
    with pytest.raises(UsageError, match="there are no metrics for 'gfx1100'"):
        catalogue_for("gfx1100")


def own_file(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_metrics_of_ones_own_are_panel_100(tmp_path: Path) -> None:
    catalogue = catalogue_for("gfx942")
    path = own_file(
        tmp_path,
        'title = "Mine"\n[value]\nrequests = "TCC_HIT_sum + TCC_MISS_sum"\n'
        '[metric.l2_per_wave]\nname = "L2 per wave"\nunit = "req/wave"\n'
        'value = "requests / SQ_WAVES"\nmeaning = "Requests of a wave."\n',
    )

    once = with_own_metrics(catalogue, read_rules(path))
    twice = with_own_metrics(once, read_rules(path))

    assert rows_of(once)["100.1.0"] == "L2 per wave"
    assert [table.title for table in twice.panels[-1].tables] == ["Mine", "Mine"]
    assert "100.1.0" not in rows_of(catalogue), "the catalogue itself stays as it is"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", UsageError, "defines no metrics"),
        ("[metric.a]\nunit = '1'\n", UsageError, "needs a unit and a value"),
        ("[metric.a]\nunit = 'GB/s'\nvalue = 'SQ_WAVES'\n", FormulaError, "its unit is GB/s"),
        ("[metric.a]\nunit = '1'\nvalue = '__import__(1)'\n", FormulaError, "no function"),
        ("[metric.a]\nunit = '1'\nvalue = 'wavs'\n", FormulaError, "'wavs' is neither"),
        ("[value]\na = 1\n[metric.a]\nunit = '1'\nvalue = 'a'\n", UsageError, "not a formula"),
        (
            "[value]\nb = 'c'\nc = 'b'\n[metric.a]\nunit = '1'\nvalue = 'b'\n",
            WavescopeError,
            "circle",
        ),
        ("= broken", UnreadableInputError, "it is not TOML"),
        ("metric = 3\n", UsageError, "'metric' in .* is not a table"),
        ("[metric]\na = 3\n", UsageError, "needs a unit and a value"),
        ("value = 1\n[metric.a]\nunit = '1'\nvalue = '1'\n", UsageError, "'value' in .* is not a"),
        ("columns = 'x'\n[metric.a]\nunit = '1'\nvalue = '1'\n", UsageError, "not a kind of table"),
        ("columns = []\n[metric.a]\nunit = ['1']\nvalue = '1'\n", UsageError, "not a known unit"),
        ("[metric.a]\nunit = 'parsec'\nvalue = '1'\n", UsageError, "'parsec'"),
    ],
)
def test_wrong_files_of_metrics(
    tmp_path: Path, text: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        with_own_metrics(catalogue_for("gfx942"), read_rules(own_file(tmp_path, text)))


def test_the_list_finds_words_ids_and_counters() -> None:
    catalogue = catalogue_for("gfx942")

    def ids(search: str) -> list[object]:
        return metric_list(catalogue, search).table("metrics").column("id")

    assert ids("17.2")[:2] == ["17.2.0", "17.2.1"]
    assert ids("TCC_BUBBLE_sum read bw") == ["2.1.23", "17.1.3", "17.2.0"]
    assert "17.1.2" in ids("l2 hit")
    assert ids("xyzzy") == []
    assert len(ids("")) == 380
