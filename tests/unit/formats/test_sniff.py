"""Formats are told by content; what cannot be read is named clearly."""

from __future__ import annotations

import gzip
import os
import sqlite3
from pathlib import Path

import pytest

from tests.builders import a_trace
from wavescope.errors import UnknownFormatError, UnreadableInputError
from wavescope.formats import importers, open_source
from wavescope.formats.sniff import probe
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.columns import OPS
from wavescope.model.trace import Trace


def trace_file(path: Path) -> Path:
    write_trace([a_trace().with_kernel("k", 0, 1).builder], path)
    return path


def test_the_suffix_does_not_matter(tmp_path: Path) -> None:
    path = trace_file(tmp_path / "trace.json")

    assert open_source(path).format == "wavescope"


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="there is no such file"):
        open_source(tmp_path / "no.db")


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()

    with pytest.raises(UnreadableInputError, match="the file is empty"):
        open_source(tmp_path / "empty.db")


def test_a_fifo_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(UnreadableInputError, match="not a regular file"):
        open_source(tmp_path / "pipe")


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trace_file(tmp_path / "t.db")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)

    with pytest.raises(UnreadableInputError, match="no permission to read it"):
        open_source(path)


@pytest.mark.parametrize("content", [b"hello", b"\x00\x01\x02", b"PK\x03\x04zip", b"%PDF-1.7"])
def test_something_else(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)

    with pytest.raises(UnknownFormatError, match="no known trace format") as caught:
        open_source(tmp_path / "x")

    assert caught.value.exit_code == 3


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError):
        open_source(tmp_path)


def test_damaged_gzip(tmp_path: Path) -> None:
    whole = gzip.compress(bytes(range(256)) * 16)
    (tmp_path / "x.json.gz").write_bytes(whole[:100])

    with pytest.raises(UnreadableInputError, match="gzip data is damaged"):
        open_source(tmp_path / "x.json.gz")


def test_zeros_without_end_after_gzip_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json.gz"
    text = b'{"traceEvents": []}'
    parts = (gzip.compress(text[:9]), bytes(1000), gzip.compress(text[9:]))
    path.write_bytes(b"".join(parts))
    os.truncate(path, 1 << 40)

    found = probe(path)

    assert (found.head, found.is_gzip, found.is_cut) == (text, True, False)
    assert open_source(path).format == "Chrome JSON"


def test_a_gzipped_database_is_unpacked(tmp_path: Path) -> None:
    whole = trace_file(tmp_path / "t.db").read_bytes()
    (tmp_path / "packed").mkdir()
    packed = tmp_path / "packed" / "t.db.gz"
    packed.write_bytes(gzip.compress(whole))

    source = open_source(packed)

    assert source.format == "wavescope"
    assert source.path == str(packed)
    assert Trace(source).ops.strings("name") == ["k"]
    assert [path.name for path in packed.parent.iterdir()] == ["t.db.gz"]


def test_a_gzipped_database_cut_short(tmp_path: Path) -> None:
    whole = gzip.compress(trace_file(tmp_path / "t.db").read_bytes())
    (tmp_path / "cut.db.gz").write_bytes(whole[:-200])

    with pytest.raises(UnreadableInputError, match="gzip data is damaged"):
        open_source(tmp_path / "cut.db.gz")


def test_a_database_of_another_program(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()

    with pytest.raises(UnknownFormatError):
        open_source(tmp_path / "other.db")


@pytest.mark.parametrize("size", [7, 16, 50, 99, 100, 512, 4095, 4096, 5000, 12_000])
def test_a_truncated_database(tmp_path: Path, size: int) -> None:
    whole = trace_file(tmp_path / "t.db").read_bytes()
    (tmp_path / "cut.db").write_bytes(whole[:size])

    with pytest.raises(UnreadableInputError) as caught:
        source = open_source(tmp_path / "cut.db")
        Trace(source).ops.load("start_ns", "name", "stream")

    assert caught.value.exit_code == 3


def test_a_probe_of_gzip_shows_the_content(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(b'{"traceEvents": []}'))

    seen = probe(tmp_path / "x")

    assert seen.is_gzip
    assert seen.head == b'{"traceEvents": []}'


def test_opening_changes_nothing(tmp_path: Path) -> None:
    path = trace_file(tmp_path / "t.db")
    before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir()))

    source = open_source(path)
    list(source.batches(OPS))
    source.close()

    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir())) == before


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="null byte"):
        open_source(tmp_path / "a\0b")


def test_only_formats_that_may_match_are_asked(tmp_path: Path) -> None:
    every = {importer.name for importer in importers()}
    databases = {importer.name for importer in importers(probe(trace_file(tmp_path / "t.db")))}
    (tmp_path / "x").write_bytes(b'{"traceEvents": []}')
    others = {importer.name for importer in importers(probe(tmp_path / "x"))}
    folders = {importer.name for importer in importers(probe(tmp_path))}

    assert databases == {"wavescope", "rocm-trace-lite", "rocmProfileData", "rocpd"}
    assert others == {
        "rocprofv3 CSV",
        "rocprof timestamps",
        "rocprofv3 JSON",
        "xplane",
        "Perfetto",
        "Chrome JSON",
    }
    assert databases | others | folders == every
    assert not databases & (others | folders)
