"""What our own exports say beyond their format is a claim of the file: damage is noted, no crash."""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import wavescope
from tests.every_fact import every_fact, facts
from tests.sample_files import write_as
from wavescope.errors import UnreadableInputError
from wavescope.formats.chrome import events
from wavescope.formats.perfetto.protobuf import WAVESCOPE_DETAILS
from wavescope.formats.perfetto.writer import packet
from wavescope.formats.protobuf_wire import message
from wavescope.model.columns import OPS, SLICES, TABLES

HUGE = 1 << 90
DAMAGED_TABLES = "carried tables are damaged: left out"
DAMAGED_VALUES = "values of carried tables are damaged: taken as unknown"
DAMAGED_TIMES = "rows of carried tables have no usable times: left out"
PIECES: list[tuple[Any, str]] = [
    (7, DAMAGED_TABLES),
    (None, DAMAGED_TABLES),
    ([], DAMAGED_TABLES),
    ({"slices": 7}, DAMAGED_TABLES),
    ({"slices": {"start_ns": 1, "end_ns": 2}}, DAMAGED_TABLES),
    ({"slices": {"process": [0], "start_ns": [1, 2], "end_ns": [3]}}, DAMAGED_TABLES),
    ({"slices": {"process": [0], "start_ns": ["<script>"], "end_ns": [2]}}, DAMAGED_VALUES),
    ({"slices": {"process": [HUGE], "start_ns": [1], "end_ns": [2]}}, DAMAGED_VALUES),
    ({"slices": {"process": [0], "start_ns": [5], "end_ns": [4]}}, DAMAGED_TIMES),
    ({"slices": {"process": [0], "start_ns": [-(1 << 63) + 1], "end_ns": [4]}}, DAMAGED_TIMES),
    ({"slices": {"process": [True], "start_ns": [1.5], "end_ns": [None]}}, DAMAGED_VALUES),
    ({"coverage": {"seen": [HUGE, -HUGE], "mode": [{"a": 1}, "\x00"]}}, DAMAGED_VALUES),
    ({"kernels": {"id": ["a"], "name": [["x"]]}}, DAMAGED_VALUES),
    ({"agents": {"gpu": [1 << 40], "model": ["'; DROP TABLE ops"]}}, DAMAGED_VALUES),
    ({"metadata": {"tag": ["note: a", "note: b"], "value": ["x", str(HUGE)]}}, ""),
    ({"metadata": {"tag": [1], "value": ["x"]}}, DAMAGED_VALUES),
    ({"monitors": {"start_ns": [9], "value": ["1"]}}, DAMAGED_TIMES),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exports")
    original = write_as(every_fact(), folder / "trace.db")
    for name in ("t.json", "t.pftrace", "t_results.json", "t.rpd"):
        wavescope.convert(original, folder / name)
    return folder


def said_of(path: Path) -> list[str]:
    """The notes of a trace, after commands have read what they read."""
    with wavescope.open(path) as trace:
        wavescope.summary(trace)
        wavescope.findings(trace)
        wavescope.phases(trace)
        assert len(trace.ops) == 6
        return [sentence for sentence, _ in trace.notes]


def in_chrome_json(folder: Path, target: Path, piece: Any) -> Path:
    document = json.loads((folder / "t.json").read_bytes())
    document["wavescope"]["tables"].append(piece)
    target.write_text(json.dumps(document))
    return target


def in_rocprofv3(folder: Path, target: Path, piece: Any) -> Path:
    document = json.loads((folder / "t_results.json").read_bytes())
    document["wavescope"]["tables"].append(piece)
    target.write_text(json.dumps(document))
    return target


def in_perfetto(folder: Path, target: Path, piece: Any) -> Path:
    details = message(WAVESCOPE_DETAILS, json.dumps({"tables": piece}).encode())
    target.write_bytes((folder / "t.pftrace").read_bytes() + packet(details))
    return target


@pytest.mark.parametrize("write", [in_chrome_json, in_perfetto, in_rocprofv3])
@pytest.mark.parametrize(("piece", "note"), PIECES)
def test_damaged_tables_are_left_out_and_noted(
    folder: Path,
    tmp_path: Path,
    write: Callable[[Path, Path, Any], Path],
    piece: Any,
    note: str,
) -> None:
    notes = said_of(write(folder, tmp_path / "damaged", piece))

    # Kernels and agents have entries of their own in rocprofv3 JSON.
    is_read = write is not in_rocprofv3 or not str(piece).startswith(("{'kernels", "{'agents"))
    assert not (note and is_read) or note in notes


@pytest.mark.parametrize("member", [None, 7, [], "x", {}, {"tables": 7}, {"tables": {}}])
@pytest.mark.parametrize("name", ["t.json", "t_results.json"])
def test_a_member_that_is_no_such_member_is_noted(
    folder: Path, tmp_path: Path, name: str, member: Any
) -> None:
    document = json.loads((folder / name).read_bytes())
    document["wavescope"] = member
    target = tmp_path / name
    target.write_text(json.dumps(document))

    notes = said_of(target)

    if member is not None or name == "t.json":
        assert DAMAGED_TABLES in notes


@pytest.mark.parametrize(
    "details",
    [7, {}, {"track": "queue", "gpu": HUGE, "queue": "x"}, {"track": 5, "process": -HUGE},
     {"track": "thread", "process": 10**9, "thread": [1], "pid": {}}],
)  # fmt: skip
def test_tracks_that_stand_for_nothing_do_no_harm(
    folder: Path, tmp_path: Path, details: Any
) -> None:
    document = json.loads((folder / "t.json").read_bytes())
    for event in document["traceEvents"]:
        if event["name"] == "thread_name":
            event["args"]["wavescope"] = details
    target = tmp_path / "t.json"
    target.write_text(json.dumps(document))

    with wavescope.open(target) as trace:
        wavescope.summary(trace)
        assert len(trace.ops) + len(trace.calls) + len(trace.markers) == 16


def test_markers_with_ids_that_cannot_be_get_others(folder: Path, tmp_path: Path) -> None:
    document = json.loads((folder / "t.json").read_bytes())
    for event in document["traceEvents"]:
        if event["name"] == "decode <b>":
            event["args"] |= {"marker": 1, "payload": "nan", "unclosed": "yes", "domain": 5}
    target = tmp_path / "t.json"
    target.write_text(json.dumps(document))

    assert "ids of markers are damaged: given anew" in said_of(target)
    with wavescope.open(target) as trace:
        assert sorted(trace.markers["id"].tolist()) == [1, 2, 3, 4]


SQL = [
    ("UPDATE wavescope_process SET id = id + 5", "carried processes are damaged: left out"),
    ("UPDATE wavescope_slice SET start = 'x'", "slices have no start or end: skipped"),
    ("UPDATE wavescope_slice SET process_id = 1 << 40, end = start - 9", ""),
    ("UPDATE wavescope_op SET process_id = 99, kernel_id = -7, marker_id = 'x'", ""),
    ("UPDATE wavescope_marker SET category_id = 12345, payload = 'x', flags = 1 << 50", ""),
    ("DELETE FROM wavescope_marker", ""),
    ("DROP TABLE wavescope_op", ""),
    ("DROP TABLE wavescope_process", ""),
    ("UPDATE wavescope_coverage SET seen = -5, reason_id = 999999", ""),
    ("INSERT INTO rocpd_metadata (tag, value) VALUES ('note: <b>', -1), (5, 'note: ')", ""),
]


@pytest.mark.parametrize(("statement", "note"), SQL)
def test_damaged_tables_of_rpd_are_noted_or_read_as_unknown(
    folder: Path, tmp_path: Path, statement: str, note: str
) -> None:
    target = tmp_path / "t.rpd"
    target.write_bytes((folder / "t.rpd").read_bytes())
    with closing(sqlite3.connect(target)) as connection:
        connection.execute(statement)
        connection.commit()

    notes = said_of(target)

    if note:
        assert note in notes


def test_a_view_in_place_of_a_carried_table_is_refused(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "t.rpd"
    target.write_bytes((folder / "t.rpd").read_bytes())
    with closing(sqlite3.connect(target)) as connection:
        connection.execute("DROP TABLE wavescope_slice")
        connection.execute("CREATE VIEW wavescope_slice AS SELECT 1 AS id")
        connection.commit()

    with pytest.raises(UnreadableInputError, match="wavescope_slice is a view"):
        said_of(target)


@pytest.mark.parametrize("table", ["wavescope_process", "rocpd_metadata"])
def test_a_table_that_cannot_be_read_is_told_by_whoever_asks_first(
    folder: Path, tmp_path: Path, table: str
) -> None:
    target = tmp_path / "t.rpd"
    target.write_bytes((folder / "t.rpd").read_bytes())
    page_bytes = int.from_bytes(target.read_bytes()[16:18], "big")
    with closing(sqlite3.connect(target)) as connection:
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)
        ).fetchone()
    with target.open("r+b") as file:
        file.seek((page - 1) * page_bytes)
        file.write(b"\x99")  # no kind of page

    with (
        pytest.raises(UnreadableInputError, match="the database is damaged"),
        wavescope.open(target) as trace,
    ):
        for spec in TABLES:
            len(trace.table(spec))


@pytest.mark.parametrize(("batch", "slices"), [(7, 0), (1 << 16, 4)])
def test_tables_behind_the_events_may_come_too_late(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, slices: int
) -> None:
    document = json.loads((folder / "t.json").read_bytes())
    document["wavescope"] = document.pop("wavescope")
    target = tmp_path / "t.json"
    target.write_text(json.dumps(document))
    monkeypatch.setattr(
        events, "event_batches", functools.partial(events.event_batches, capacity=batch)
    )

    with wavescope.open(target) as trace:
        assert len(facts(trace, OPS)) == 6
        assert len(facts(trace, SLICES)) == slices
        assert (
            "tables of wavescope that came after the first events were left out"
            in dict(trace.notes)
        ) == (batch == 7)
