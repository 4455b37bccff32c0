"""What each format carries: every column of a trace through every format that is read again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import wavescope
from tests.every_fact import every_fact, facts, filled_columns, unknown
from tests.sample_files import write_as
from wavescope.formats import exporters
from wavescope.model.columns import METADATA, PROCESSES, SLICES, TABLES

READ_AGAIN = {
    "wavescope": "t.db",
    "rpd": "t.rpd",
    "perfetto": "t.pftrace",
    "chrome-json": "t.json",
    "rocprofv3": "t_results.json",
}
LEAVES_OUT = {exporter.name: exporter.leaves_out() for exporter in exporters()}
NUMBERED_ANEW = {"rocprofv3": ("sequence", "correlation", "local_index")}
"""Numbers that the file's own records have instead."""
PAGE = Path(__file__).parents[2] / "docs" / "formats.md"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_as(every_fact(), tmp_path_factory.mktemp("original") / "trace.db")


def test_the_trace_knows_something_of_every_column() -> None:
    declared = {
        (table.name, name) for table in TABLES for name in table.column_names if name != "id"
    }

    assert filled_columns() == declared


@pytest.mark.parametrize("format_name", READ_AGAIN)
def test_a_format_carries_every_column_but_those_it_says(
    original: Path, tmp_path: Path, format_name: str
) -> None:
    target = wavescope.convert(original, tmp_path / READ_AGAIN[format_name])

    with wavescope.open(original) as before, wavescope.open(target) as after:
        for table in TABLES:
            left_out = LEAVES_OUT[format_name].get(table)
            expected = {} if left_out == () else facts(before, table)
            found = facts(after, table)
            if table is METADATA:
                assert found.keys() >= {("command",)}
                continue
            assert found.keys() == expected.keys(), table.name
            for key, row in expected.items():
                for name in left_out or ():
                    row[name] = unknown(table, name)
                for name in NUMBERED_ANEW.get(format_name, ()):
                    if name in row:
                        row[name] = found[key][name]
                assert found[key] == row, (table.name, key)


@pytest.mark.parametrize("format_name", READ_AGAIN)
def test_what_a_format_leaves_out_is_told_and_noted_in_the_file(
    original: Path, tmp_path: Path, format_name: str
) -> None:
    told: list[str] = []

    target = wavescope.convert(original, tmp_path / READ_AGAIN[format_name], tell=told.append)

    with wavescope.open(target) as trace:
        assert told == trace.notes.sentences()
    assert (
        told
        == {
            "wavescope": [],
            "rpd": [],
            "perfetto": [
                (
                    "rows of launches, copies and counters are not in perfetto files, but in .db and .rpd "
                    "files: 6"
                )
            ],
            "chrome-json": [
                (
                    "rows of launches, copies and counters are not in chrome-json files, but in .db and "
                    ".rpd files: 6"
                )
            ],
            "rocprofv3": [
                "rows of launches and copies are not in rocprofv3 files, but in .db and .rpd files: 4",
                (
                    "sequence, hardware_queue, graph, graph_node and marker of ops are not in rocprofv3 "
                    "files, but in .db and .rpd files: 6"
                ),
            ],
        }[format_name]
    )


def test_a_table_of_ops_says_that_all_else_and_the_slices_are_missing(
    original: Path, tmp_path: Path
) -> None:
    told: list[str] = []

    wavescope.convert(original, tmp_path / "t.csv", tell=told.append)

    assert told == [
        (
            "rows of markers, calls, links, launches, copies, processes, threads, agents, queues, "
            "kernels, counters, monitors, coverage, slices and metadata are not in csv files, but in "
            ".db and .rpd files: 42"
        ),
        "slices were recorded, which are not in csv files: what lies between them is not idle: 4",
    ]


def test_notes_of_a_reader_stay_with_the_trace_over_every_format(tmp_path: Path) -> None:
    maker = every_fact()
    maker.builder.notes.add("events were not understood", 3)
    path = write_as(maker, tmp_path / "first.db")

    for name in READ_AGAIN.values():
        path = wavescope.convert(path, tmp_path / name, force=True)
        with wavescope.open(path) as trace:
            assert "events were not understood: 3" in trace.notes.sentences(), name
            if trace.format == "wavescope":
                continue
            assert not any(tag.startswith("note: ") for tag in trace.metadata) or name == "t.rpd"


@pytest.mark.parametrize("name", READ_AGAIN.values())
def test_a_sampled_trace_never_looks_unsampled(original: Path, tmp_path: Path, name: str) -> None:
    target = wavescope.convert(original, tmp_path / name)

    with wavescope.open(original) as before, wavescope.open(target) as after:
        assert facts(after, SLICES) == facts(before, SLICES)
        gpus = wavescope.summary(before).table("gpus")
        assert wavescope.summary(after).table("gpus").rows == gpus.rows
        assert len(facts(after, PROCESSES)) == 2


def carried_table() -> list[str]:
    """The table of docs/formats.md, derived from what exporters say they leave out."""
    names = [*READ_AGAIN, "csv"]
    lines = ["| | " + " | ".join(f"`{name}`" for name in names) + " |"]
    lines.append("|---" * (len(names) + 1) + "|")
    for table in TABLES:
        cells = []
        for name in names:
            left_out = LEAVES_OUT[name].get(table)
            is_whole = "yes" if left_out is None else "no"
            columns = ", ".join(f"`{column}`" for column in left_out or ())
            cells.append(f"all but {columns}" if columns else is_whole)
        lines.append(f"| {table.name} | " + " | ".join(cells) + " |")
    return lines


def test_the_page_on_formats_has_the_table_of_what_each_carries() -> None:
    page = PAGE.read_text()

    assert "\n".join(carried_table()) in page
    assert re.search(r"^`csv`, `parquet` and `arrow` .* ops", page, re.MULTILINE)
