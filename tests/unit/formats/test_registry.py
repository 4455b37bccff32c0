"""Formats are loaded when they are chosen, and plug-ins are formats like any other."""

from __future__ import annotations

import gzip
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path

import pytest

from tests.builders import a_trace
from tests.imported_modules import modules_of
from tests.registered import exporter_called, importer_called
from wavescope.errors import OutputExistsError, UnknownFormatError, UsageError
from wavescope.formats import (
    Exporter,
    exporter_for,
    exporters,
    importers,
    open_source,
    write_source,
)
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.trace import Trace

PLUGIN = """
from wavescope import Exporter, Importer
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import OPS

def open_lines(path):
    builder = TraceBuilder(str(path), "lines")
    for number, line in enumerate(path.read_text().splitlines()[1:]):
        builder.add_row(OPS, gpu=0, queue=0, start_ns=number, end_ns=number + 1, name=line)
    return builder

def write_lines(source, path, options, progress):
    path.write_text("lines\\n" + "\\n".join(source.strings))

IMPORTER = Importer("lines", lambda probe: probe.head.startswith(b"lines\\n"), open_lines)
EXPORTER = Exporter("lines", (".lines.json",), "names, one in a line", write_lines)
"""
KINETO = """{"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1, "dur": 2,
 "args": {"device": 0, "stream": 7}}]}"""


def formats_in(modules: set[str]) -> set[str]:
    """The formats that have a module among `modules`."""
    parts = (name.split(".") for name in modules if name.startswith("wavescope.formats."))
    folders = Path(__file__).parents[3] / "src" / "wavescope" / "formats"
    return {name[2] for name in parts if (folders / name[2]).is_dir()} - {"files"}


@pytest.mark.parametrize("before", ["", "\n ", "\r\n"], ids=["plain", "as PyTorch", "Windows"])
def test_a_summary_of_kineto_loads_no_other_format(tmp_path: Path, before: str) -> None:
    (tmp_path / "trace.json").write_text(before + KINETO)

    loaded = modules_of("summary", str(tmp_path / "trace.json"), "-q")

    assert formats_in(loaded) == {"chrome"}
    assert "wavescope.formats.protobuf_wire" not in loaded
    assert len(loaded) < 95
    assert "wavescope.formats.chrome.writer" not in loaded


def test_a_conversion_loads_one_reader_and_one_writer(tmp_path: Path) -> None:
    write_trace([a_trace().with_kernel("k", 0, 1).builder], tmp_path / "a.db")

    loaded = modules_of("convert", str(tmp_path / "a.db"), "-o", str(tmp_path / "b.pftrace"), "-q")

    assert formats_in(loaded) == {"wavescope", "sqlite", "perfetto", "timeline"}
    assert "wavescope.formats.wavescope.writing" not in loaded
    assert "wavescope.formats.perfetto.reader" not in loaded
    assert len(loaded) < 90


@pytest.mark.parametrize("exporter", list(exporters()), ids=lambda exporter: exporter.name)
def test_every_writer_is_where_the_registry_says(tmp_path: Path, exporter: Exporter) -> None:
    target = tmp_path / f"out{exporter.suffixes[0] if exporter.suffixes else ''}"

    write_source(a_trace().with_kernel("k", 0, 1).builder, target, exporter, inputs=[])

    assert target.exists()
    assert target.is_dir() == exporter.is_folder


@pytest.mark.parametrize(
    ("written_as", "read_as"),
    [
        ("wavescope", "wavescope"),
        ("perfetto", "Perfetto"),
        ("chrome-json", "Chrome JSON"),
        ("rocprofv3", "rocprofv3 JSON"),
        ("rpd", "rocmProfileData"),
    ],
)
def test_what_is_written_is_read_by_the_reader_beside_it(
    tmp_path: Path, written_as: str, read_as: str
) -> None:
    exporter = exporter_called(written_as)
    target = tmp_path / f"out{exporter.suffixes[0]}"
    write_source(a_trace().with_kernel("k", 0, 1).builder, target, exporter, inputs=[])

    with Trace(open_source(target)) as trace:
        assert trace.format == importer_called(read_as).name
        assert trace.ops.strings("name") == ["k"]


def test_a_name_that_ends_in_gz_is_written_compressed(tmp_path: Path) -> None:
    source = a_trace().with_kernel("k", 0, 1).builder
    plain, packed, folder = (tmp_path / name for name in ("t.csv", "u.csv.gz", "v.gz"))

    write_source(source, plain, exporter_called("csv"), inputs=[])
    write_source(source, packed, exporter_called("csv"), inputs=[])
    write_source(source, folder, exporter_called("csv-folder"), inputs=[])

    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert gzip.decompress((folder / "ops.csv.gz").read_bytes()) == plain.read_bytes()


def test_nothing_is_written_over_an_input_or_by_half(tmp_path: Path) -> None:
    source, target = a_trace().with_kernel("k", 0, 1).builder, tmp_path / "t.csv"
    target.write_text("as it was")

    def fail(*_: object) -> None:
        raise RuntimeError("in the middle")

    with pytest.raises(UsageError, match="is also an input"):
        write_source(source, target, exporter_called("csv"), inputs=[target], force=True)
    with pytest.raises(OutputExistsError):
        write_source(source, target, exporter_called("csv"), inputs=[])
    with pytest.raises(RuntimeError, match="in the middle"):
        write_source(source, target, exporter_called("csv"), inputs=[], force=True, progress=fail)

    assert target.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [target]


@pytest.fixture
def _plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that registers a format of lines."""
    site = tmp_path / "site"
    about = site / "lines-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "lines_format.py").write_text(PLUGIN)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lines\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[wavescope.importers]\nlines = lines_format:IMPORTER\n"
        "[wavescope.exporters]\nlines = lines_format:EXPORTER\n"
    )
    monkeypatch.syspath_prepend(site)


@pytest.mark.usefixtures("_plugin")
def test_a_plugin_reads_and_writes_a_format_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "t.lines.json"

    write_source(a_trace().with_kernel("gemm", 0, 1).builder, path, exporter_for(path), inputs=[])

    assert [importer.name for importer in importers()][-1] == "lines"
    assert [exporter.name for exporter in exporters()][-1] == "lines"
    with Trace(open_source(path)) as trace:
        assert trace.format == "lines"
        assert "gemm" in trace.ops.strings("name")


@pytest.mark.usefixtures("_plugin")
def test_installed_packages_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []

    def counted(*, group: str) -> EntryPoints:
        searched.append(group)
        return entry_points(group=group)

    monkeypatch.setattr("importlib.metadata.entry_points", counted)

    names = [[importer.name for importer in importers()][-1] for _ in range(3)]

    assert names == ["lines", "lines", "lines"]
    assert searched == ["wavescope.importers"]


def test_without_the_plugin_its_files_are_unknown(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("lines\ngemm\n")

    with pytest.raises(UnknownFormatError):
        open_source(tmp_path / "t")
