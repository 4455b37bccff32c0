"""CSV export: exact values, empty cells for the unknown, readable by any CSV reader."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_trace, random_ops
from tests.registered import exporter_called
from wavescope.formats import ExportOptions
from wavescope.model.columns import OPS

EXPORTER = exporter_called("csv")
FOLDER_EXPORTER = exporter_called("csv-folder")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_ops_are_written_with_names_and_empty_cells(tmp_path: Path) -> None:
    maker = a_trace().with_kernel('f<"a", 1>\n', 2**62, 2**62 + 5, stream=3).with_copy(7, 9)
    progress: list[tuple[int, int]] = []
    path = tmp_path / "out.csv"
    EXPORTER.write(maker.builder, path, ExportOptions(), lambda *step: progress.append(step))

    first, second = rows_of(path)
    assert tuple(first) == OPS.column_names
    assert first["name"] == 'f<"a", 1>\\n'
    assert (first["start_ns"], first["end_ns"]) == (str(2**62), str(2**62 + 5))
    assert (first["stream"], second["stream"]) == ("3", "")
    assert (second["name"], second["type"]) == ("", "CopyHostToDevice")
    assert (second["size_bytes"], second["gpu"]) == ("", "0")
    assert progress[-1] == (2, 2)


def test_a_folder_gets_a_file_per_table_that_has_rows(tmp_path: Path) -> None:
    maker = (
        a_trace()
        .with_kernel("f", 1, 2)
        .with_call("hipFree", 3, 4, args='{"a": 1}')
        .with_counter(1, "SQ_WAVES", 0.1)
        .with_process(900, host="node1")
    )
    folder = tmp_path / "out"
    folder.mkdir()
    FOLDER_EXPORTER.write(maker.builder, folder, ExportOptions(), lambda done, total: None)

    assert FOLDER_EXPORTER.is_folder
    assert sorted(path.name for path in folder.iterdir()) == [
        "calls.csv",
        "counters.csv",
        "ops.csv",
        "processes.csv",
    ]
    assert rows_of(folder / "calls.csv")[0]["args"] == '{"a": 1}'
    assert float(rows_of(folder / "counters.csv")[0]["value"]) == 0.1
    assert rows_of(folder / "processes.csv")[0]["host"] == "node1"


def test_an_empty_trace_gives_a_header(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    EXPORTER.write(a_trace().builder, path, ExportOptions(), lambda done, total: None)

    assert path.read_text() == ",".join(OPS.column_names) + "\n"


def test_gzip_and_pandas(tmp_path: Path) -> None:
    source = random_ops(70_000).builder
    path = tmp_path / "out.csv.gz"
    EXPORTER.write(source, path, ExportOptions(), lambda done, total: None)

    assert path.read_bytes()[:2] == b"\x1f\x8b"
    frame = pd.read_csv(path)
    assert len(frame) == 70_000
    starts = [int(v) for batch in source.batches(OPS, ("start_ns",)) for v in batch["start_ns"]]
    assert frame["start_ns"].tolist() == starts


@given(st.lists(st.text(st.characters(exclude_characters="\0"), max_size=10), max_size=8))
def test_any_name_is_read_back(tmp_path: Path, names: list[str]) -> None:
    maker = a_trace()
    for name in names:
        maker.with_kernel(name, 1, 2)
    path = tmp_path / "out.csv.gz"
    raw = ExportOptions(raw_text=True)
    EXPORTER.write(maker.builder, path, raw, lambda done, total: None)

    with gzip.open(path, "rt", newline="", encoding="utf-8") as file:
        read = [row["name"] for row in csv.DictReader(file)]
    assert read == [name.encode("utf-8", "replace").decode() for name in names]


def test_no_text_of_a_trace_is_a_formula(tmp_path: Path) -> None:
    maker = a_trace().with_kernel("=1+1", 1, 2).with_kernel("gemm\x1b[2J", 3, 4)
    maker.with_call("@SUM(A1)", 5, 6, args="-cmd").with_kernel("=1+1", 7, 8)
    folder = tmp_path / "out"
    folder.mkdir()
    FOLDER_EXPORTER.write(maker.builder, folder, ExportOptions(), lambda done, total: None)

    assert [row["name"] for row in rows_of(folder / "ops.csv")] == [
        "'=1+1",
        "gemm\\x1b[2J",
        "'=1+1",
    ]
    (call,) = rows_of(folder / "calls.csv")
    assert (call["name"], call["args"]) == ("'@SUM(A1)", "'-cmd")
