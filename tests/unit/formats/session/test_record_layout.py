"""The records as Python reads them are those that native/format/chunk_format.h declares."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wavescope.formats.session import layout
from wavescope.formats.session.layout import CALLS, COUNTERS, MARKERS, OPS, Stream

HEADER = (Path(__file__).parents[4] / "native/format/chunk_format.h").read_text()
NUMBERS = {
    name: int(value, 0)
    for name, value in re.findall(r"(WAVESCOPE_\w+)(?: = | )(0x[0-9a-f]+|\d+)\b", HEADER)
}
SIZES = {
    name: int(size) for name, size in re.findall(r"sizeof\(Wavescope(\w+)\) == (\d+),", HEADER)
}
BITS = re.compile(r"\bu?int(\d+)_t (\w+)(?:\[(\w+)\])?;")


def offsets(record: str) -> dict[str, int]:
    """Where the members of a record of the header are; all are aligned to their own size."""
    found = re.search(rf"struct Wavescope{record} {{(.*?)\n}}", HEADER, re.DOTALL)
    assert found is not None
    at, members = 0, {}
    for bits, name, count in BITS.findall(found.group(1)):
        size = int(bits) // 8
        at = -(-at // size) * size
        members[name] = at
        at += size * (NUMBERS.get(count) or int(count or 1))
    return members


@pytest.mark.parametrize(
    ("stream", "record"),
    [
        (OPS, "OpRecord"),
        (CALLS, "CallRecord"),
        (MARKERS, "MarkerRecord"),
        (COUNTERS, "CounterRecord"),
    ],
)
def test_members_are_where_the_collectors_put_them(stream: Stream, record: str) -> None:
    fields = stream.record_of(SIZES[record]).fields
    assert fields is not None
    found = {name: field[1] for name, field in fields.items()}

    expected = offsets(record)
    assert {name: at for name, at in found.items() if not name.startswith("spare")} == {
        name: at for name, at in expected.items() if not name.startswith("spare")
    }


def test_longer_op_records_end_with_node_and_graph() -> None:
    fields = OPS.record_of(SIZES["GraphOpRecord"]).fields
    assert fields is not None
    at = offsets("GraphOpRecord")

    assert SIZES["OpRecord"] == OPS.record.itemsize
    assert {name: fields[name][1] - OPS.record.itemsize for name in at} == at


def test_what_was_dropped_is_where_the_collectors_count_it() -> None:
    fields = layout.DROPPED.fields
    assert fields is not None
    assert {name: fields[name][1] for name in ("records", "entries")} == offsets("Dropped")
    ops = layout.DROPPED["ops"]
    assert ops.shape == (NUMBERS["WAVESCOPE_DROPPED_OPS"],)
    assert ops.base.fields is not None
    assert {name: field[1] for name, field in ops.base.fields.items()} == offsets("DroppedOps")
    assert NUMBERS["WAVESCOPE_ANY_GPU"] == layout.ANY_GPU


def test_the_control_page_is_what_the_collectors_map() -> None:
    members = {name: len(layout.MAGIC) + at for name, at in offsets("ControlPage").items()}
    assert members["still_until_ns"] == layout.STILL_UNTIL_OFFSET
    assert members["dropping"] == layout.DROPPING_OFFSET


def test_numbers_are_those_of_the_header() -> None:
    for members in (layout.OpRecordKind, layout.OpFlag):
        for member in members:
            assert NUMBERS[f"WAVESCOPE_OP_{member.name}"] == member.value
    for member in layout.MarkerFlag:
        assert NUMBERS[f"WAVESCOPE_MARKER_{member.name}"] == member.value
    assert NUMBERS["WAVESCOPE_ALL_QUEUES"] == layout.ALL_QUEUES
    assert NUMBERS["WAVESCOPE_COPY_QUEUE"] == layout.COPY_QUEUE
    assert NUMBERS["WAVESCOPE_SKIP_PAUSED"] == layout.SKIP_PAUSED
    assert NUMBERS["WAVESCOPE_SKIP_FILTER"] == layout.SKIP_FILTER
    assert NUMBERS["WAVESCOPE_SKIP_OUTSIDE_SLICES"] == layout.SKIP_OUTSIDE_SLICES
    assert NUMBERS["WAVESCOPE_SKIP_REASONS"] == len(layout.SKIP_REASONS)
    assert len(layout.SKIP_REASONS) == len(layout.SKIP_REASONS_OF_CUDA)
    assert NUMBERS["WAVESCOPE_LOSS_REASONS"] == len(layout.LOSS_REASONS)
    assert NUMBERS["WAVESCOPE_PAGE_BYTES"] == layout.PAGE_BYTES
