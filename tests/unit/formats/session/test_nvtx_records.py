"""Markers of NVTX keep their domain and their payload."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pytest

from tests.chunks import a_process
from wavescope.formats import open_trace
from wavescope.formats.session import layout
from wavescope.formats.session.reading import open_session
from wavescope.formats.session.record_file import RecordFile
from wavescope.formats.session.spent_records import forget_finished
from wavescope.formats.wavescope.writing import write_trace

NVTX = 4


@pytest.mark.parametrize("through_a_file", [False, True])
def test_domains_and_payloads_are_columns(tmp_path: Path, *, through_a_file: bool) -> None:
    process = a_process(tmp_path / "s").with_records("markers", 64)
    payloads = [
        (b"", 0),
        (struct.pack("<Q", 1 << 63), 1),
        (struct.pack("<q", -5), 2),
        (struct.pack("<d", 0.25), 3),
        (struct.pack("<I", 4_000_000_000), 4),
        (struct.pack("<i", -7), 5),
        (struct.pack("<f", 1.5), 6),
        (struct.pack("<Q", 9), 7),
    ]
    for number, (payload, kind) in enumerate(payloads, 1):
        domain = "NCCL" if number % 2 else ""
        process.with_marker(
            "step",
            number,
            number + 1,
            id=number,
            flags=NVTX,
            domain=domain,
            payload=payload,
            payload_kind=kind,
        )
    path = process.write()
    if through_a_file:
        path = tmp_path / "trace.db"
        with open_session(process.folder) as source:
            write_trace([source], path)
    with open_trace(path) as trace:
        found = trace.markers["payload"].tolist()
        assert found[1:7] == [2.0**63, -5.0, 0.25, 4e9, -7.0, 1.5]
        assert math.isnan(found[0])
        assert math.isnan(found[7])
        assert trace.markers.strings("domain") == ["NCCL", ""] * 4
        assert trace.markers.strings("name") == ["step"] * 8
        assert trace.markers["start_ns"].tolist() == list(range(1, 9))


@pytest.mark.parametrize("through_a_file", [False, True])
def test_categories_are_named_within_their_domain(tmp_path: Path, *, through_a_file: bool) -> None:
    process = (
        a_process(tmp_path / "s")
        .with_records("markers", 64)
        .with_fact("category", domain="NCCL", category=1, name="send")
        .with_fact("category", category=1, name="of no domain")
        .with_fact("category", domain="NCCL", category="2", name="no number")
        .with_fact("category", domain="NCCL", category=2)
        .with_marker("a", 1, 2, id=1, domain="NCCL", category=1)
        .with_marker("b", 1, 2, id=2, category=1)
        .with_marker("c", 1, 2, id=3, domain="NCCL", category=2)
        .with_marker("d", 1, 2, id=4, domain="NCCL")
        .with_marker("e", 1, 2, id=5, domain="other", category=65535)
    )
    path = process.write()
    if through_a_file:
        path = tmp_path / "trace.db"
        with open_session(process.folder) as source:
            write_trace([source], path)
    with open_trace(path) as trace:
        assert trace.markers.strings("subcategory") == ["send", "of no domain", "2", "", "65535"]
        assert trace.markers.strings("domain") == ["NCCL", "", "NCCL", "NCCL", "other"]
        assert not list(trace.notes)


@pytest.mark.parametrize("kind", [*range(8), 255])
def test_payloads_of_any_bits_are_read(tmp_path: Path, kind: int) -> None:
    process = a_process(tmp_path / "s").with_records("markers", 64)
    for number, word in enumerate((0x7F800001, 0x7FC00000, 0xFFFFFFFF, 0x7F800000, 0), 1):
        bits = struct.pack("<II", word, word)
        process.with_marker("m", 1, 2, id=number, payload=bits, payload_kind=kind)
    with open_trace(process.write()) as trace:
        assert math.isnan(trace.markers["payload"][4]) == (kind == 0 or kind > 6)
        assert len(trace.markers["payload"]) == 5


@pytest.mark.parametrize("marker_bytes", [48, 56])
def test_shorter_records_have_neither(tmp_path: Path, marker_bytes: int) -> None:
    process = a_process(tmp_path / "s").with_records("markers", marker_bytes)
    process.with_marker("a", 1, 2, id=1, domain="NCCL", payload=b"\1" * 8, payload_kind=1)
    process.with_marker("b", 3, 4, id=2)
    with open_trace(process.write()) as trace:
        assert trace.markers.strings("name") == ["a", "b"]
        assert trace.markers.strings("domain") == ["", ""]
        assert all(math.isnan(value) for value in trace.markers["payload"].tolist())


def test_blocks_of_longer_markers_are_forgotten_as_a_whole(tmp_path: Path) -> None:
    process = a_process(tmp_path).with_records("markers", 64)
    for number in range(1, 192 * 3 + 11):  # a block has 192
        end = 0 if number == 200 else number + 1
        process.with_marker("range", number, end, id=number, kind=3 if end == 0 else 1)
    process.write()
    forget_finished(tmp_path, process.base, 10_000)
    file = RecordFile(process.path("markers"), layout.MARKERS)
    kept = [place for block in file.blocks() for place in block.places.tolist()]
    assert kept == [*range(192, 384), *range(576, 586)]
