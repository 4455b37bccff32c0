"""Parquet and Arrow export: typed, null where unknown, streamed, explained."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.builders import a_trace, random_ops
from tests.registered import exporter_called
from wavescope.errors import MachineError
from wavescope.formats import Exporter, ExportOptions
from wavescope.model.columns import OPS
from wavescope.model.source import BATCH_ROWS
from wavescope.model.trace import Trace

EXPORTER = exporter_called("parquet")
FOLDER_EXPORTER = exporter_called("parquet-folder")
ARROW_EXPORTER = exporter_called("arrow")
ARROW_FOLDER_EXPORTER = exporter_called("arrow-folder")

BOTH = pytest.mark.parametrize("exporter", [EXPORTER, ARROW_EXPORTER], ids=lambda e: e.name)


def read(path: Path) -> Any:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def write(exporter: Exporter, source: Any, folder: Path) -> Path:
    path = folder / f"out{exporter.suffixes[0]}"
    exporter.write(source, path, ExportOptions(), lambda done, total: None)
    return path


@BOTH
def test_values_names_and_nulls(exporter: Exporter, tmp_path: Path) -> None:
    maker = a_trace().with_kernel("f\ud800", 2**62, 2**62 + 5, stream=3).with_copy(7, 9)
    table = read(write(exporter, maker.builder, tmp_path))

    assert table.column_names == list(OPS.column_names)
    assert table["start_ns"].to_pylist() == [2**62, 7]
    assert table["name"].to_pylist() == ["f?", ""]
    assert table["stream"].to_pylist() == [3, None]
    assert table["graph"].to_pylist() == [None, None]
    assert table["sequence"].to_pylist() == [0, 0]
    assert pa.types.is_dictionary(table.schema.field("name").type)
    assert table.schema.field("gpu").type == pa.int32()


@BOTH
def test_fields_say_their_unit_and_meaning(exporter: Exporter, tmp_path: Path) -> None:
    schema = read(write(exporter, a_trace().builder, tmp_path)).schema

    assert schema.field("start_ns").metadata == {
        b"unit": b"ns",
        b"meaning": b"when the op began on the GPU",
    }
    assert schema.metadata[b"table"] == b"ops"


@BOTH
def test_many_batches_with_growing_names(exporter: Exporter, tmp_path: Path) -> None:
    maker = random_ops(BATCH_ROWS + 1000)
    for number in range(5):
        maker.with_kernel(f"late {number}", number, number + 1)
    maker.with_copy(1, 2)
    path = write(exporter, maker.builder, tmp_path)

    ops = Trace(maker.builder).ops
    table = read(path)
    assert table["start_ns"].to_pylist() == ops["start_ns"].tolist()
    assert table["name"].to_pylist() == ops.strings("name")
    assert table["type"].to_pylist() == ops.strings("type")


def test_parquet_streams_row_groups_with_fitting_encodings(tmp_path: Path) -> None:
    path = write(EXPORTER, random_ops(BATCH_ROWS + 1000).builder, tmp_path)

    metadata = pq.ParquetFile(path).metadata
    assert metadata.num_row_groups == 2
    columns = {
        metadata.row_group(0).column(index).path_in_schema: metadata.row_group(0).column(index)
        for index in range(metadata.num_columns)
    }
    assert "DELTA_BINARY_PACKED" in columns["start_ns"].encodings
    assert "RLE_DICTIONARY" in columns["name"].encodings
    assert columns["start_ns"].compression == "ZSTD"


@pytest.mark.parametrize("exporter", [FOLDER_EXPORTER, ARROW_FOLDER_EXPORTER], ids=lambda e: e.name)
def test_a_folder_gets_every_table_that_has_rows(exporter: Exporter, tmp_path: Path) -> None:
    maker = a_trace().with_kernel("f", 1, 2).with_call("hipFree", 3, 4, args="x")
    maker.with_call("hipFree", 5, 6).with_counter(1, "SQ_WAVES", 0.1)
    exporter.write(maker.builder, tmp_path, ExportOptions(), lambda done, total: None)

    tables = {path.stem: read(path) for path in tmp_path.iterdir()}
    assert sorted(tables) == ["calls", "counters", "ops"]
    assert tables["calls"]["args"].to_pylist() == ["x", None]
    assert tables["counters"]["value"].to_pylist() == [0.1]


def test_without_pyarrow_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_import = builtins.__import__

    def no_pyarrow(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real_import(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", no_pyarrow)
    with pytest.raises(MachineError) as raised:
        write(EXPORTER, a_trace().builder, tmp_path)
    assert raised.value.hint == "pip install 'wavescope[arrow]'"
