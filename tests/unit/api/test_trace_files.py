"""Traces as files from Python: converted, trimmed, merged, queried."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

import wavescope
from tests.builders import a_trace
from wavescope.errors import OutputExistsError, UnreadableInputError, UsageError
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.selection import Selection

OPS = "SELECT start, end FROM rocpd_op WHERE gpuId >= 0 ORDER BY start"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "rank1.db"
    maker = a_trace().with_kernel("gemm", 10, 20).with_kernel("add", 30, 35, gpu=1)
    write_trace([maker.builder], path)
    return path


def a_chrome_file(folder: Path) -> Path:
    """One kernel, and an event whose time is no number."""
    event = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1, "dur": 2}
    event |= {"args": {"device": 0, "stream": 7}}
    path = folder / "trace.json"
    path.write_text(json.dumps({"traceEvents": [event, {**event, "ts": "soon"}]}))
    return path


def rows_of(path: Path) -> list[tuple[object, ...]]:
    with wavescope.query(path, OPS) as rows:
        return list(rows)


def test_a_part_is_a_trace_file(trace: Path, tmp_path: Path) -> None:
    target = tmp_path / "part"

    assert wavescope.trim(trace, target, Selection(gpus=(1,))) == target
    assert rows_of(target) == [(30, 35)]


def test_everything_is_no_part(trace: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no filter was given"):
        wavescope.trim(trace, tmp_path / "part.db", Selection())


def test_what_a_conversion_has_to_tell_is_told(trace: Path, tmp_path: Path) -> None:
    told: list[str] = []
    counts: list[tuple[int, int]] = []

    wavescope.convert(trace, tmp_path / "none.db", selection=Selection(gpus=(9,)), tell=told.append)
    wavescope.convert(
        a_chrome_file(tmp_path),
        tmp_path / "chrome.db",
        progress=lambda done, total: counts.append((done, total)),
        tell=told.append,
    )

    assert told[0].startswith("no GPU op passes the filters")
    with wavescope.open(tmp_path / "trace.json") as source:
        assert told[1:] == [f"{sentence}: {count}" for sentence, count in source.notes]
    assert len(told) > 1
    assert counts


@pytest.mark.parametrize("shortened", [True, False])
def test_names_are_shortened_on_request(tmp_path: Path, shortened: bool) -> None:
    path, target = tmp_path / "trace.db", tmp_path / "trace.json"
    name = "void at::native::vectorized_elementwise_kernel<4, add>(int, float)"
    write_trace([a_trace().with_kernel(name, 0, 10).builder], path)

    wavescope.convert(path, target, short_names=shortened)

    names = {event["name"] for event in json.loads(target.read_text())["traceEvents"]}
    assert (name in names) is not shortened


def test_a_format_is_told_by_name_or_suffix() -> None:
    assert wavescope.export_format("a.pftrace").name == "perfetto"
    assert wavescope.export_format("a.pftrace", "CSV-folder").is_folder
    with pytest.raises(UsageError, match="does not say which format to write"):
        wavescope.export_format("a.xyz")


def test_ranks_of_merged_traces_come_from_their_names(trace: Path, tmp_path: Path) -> None:
    target = tmp_path / "all.db"

    wavescope.merge([trace], target, rank_from=wavescope.RankFrom.NAME)

    with wavescope.open(target) as merged:
        assert merged.processes["rank"].tolist() == [1]


def test_rows_come_with_their_names(trace: Path) -> None:
    with wavescope.query(trace, OPS) as rows:
        assert rows.columns == ["start", "end"]
        assert list(rows) == [(10, 20), (30, 35)]


def test_a_query_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path = a_chrome_file(tmp_path)

    rows = wavescope.query(path, OPS)
    assert len(list((tmp_path / "temporary").iterdir())) == 1
    rows.close()
    assert list((tmp_path / "temporary").iterdir()) == []
    with pytest.raises(UsageError, match="only reading is allowed here"):
        wavescope.query(path, "DELETE FROM rocpd_op")
    assert list((tmp_path / "temporary").iterdir()) == []


def test_only_databases_are_queried_as_they_are(trace: Path, tmp_path: Path) -> None:
    with wavescope.query(trace, "SELECT 7 AS x", raw=True) as rows:
        assert list(rows) == [(7,)]
    with pytest.raises(UnreadableInputError, match="it is not an SQLite database"):
        wavescope.query(a_chrome_file(tmp_path), "SELECT 7", raw=True)


def test_nothing_is_overwritten_unasked(trace: Path, tmp_path: Path) -> None:
    target = tmp_path / "part.db"
    target.write_bytes(b"mine")

    with pytest.raises(OutputExistsError):
        wavescope.trim(trace, target, Selection(gpus=(1,)))
    assert target.read_bytes() == b"mine"
    with pytest.raises(UsageError, match="is also an input"):
        wavescope.trim(trace, trace, Selection(gpus=(1,)), force=True)
