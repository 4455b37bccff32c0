"""The reader of Chrome trace events: values, and against the reference."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import chrome_events as reference
from tests.reference.chrome_events import parse_decimal
from wavescope.errors import UnreadableInputError
from wavescope.formats.chrome.event_batch import (
    ARGUMENTS,
    COLUMN_TYPES,
    HAS_START,
    ID_NUMBER,
    ID_TEXT,
    EventBatch,
    EventTables,
    MalformedEventsError,
)
from wavescope.formats.chrome.events import EventFile, event_batches

Rows = list[dict[str, Any]]
Reader = Callable[..., Iterator[EventBatch]]


READERS = [
    pytest.param(event_batches, id="native"),
    pytest.param(reference.event_batches, id="reference"),
]


def read(
    reader: Reader,
    data: bytes,
    *,
    block: int = 1 << 20,
    capacity: int = 5,
    dropped: tuple[str, ...] = (),
) -> tuple[Rows, EventTables]:
    """All events as dictionaries with texts in place of codes, and the tables."""
    tables = EventTables()
    blocks = [data[at : at + block] for at in range(0, len(data), block)]
    rows: Rows = []
    for batch in reader(blocks, tables, dropped, capacity):
        columns = {name: batch[name].tolist() for name in (*COLUMN_TYPES, *ARGUMENTS)}
        starts = [0, *columns["args_end"]]
        for row in range(batch.rows):
            event = {name: values[row] for name, values in columns.items()}
            text = batch.args[starts[row] : event.pop("args_end")]
            event["args"] = json.loads(text) if text else None
            for name in ("name", "category", "kind"):
                event[name] = tables.texts[event[name]] if event[name] >= 0 else None
            for name in ("process", "thread"):
                event[name] = tables.keys[event[name]] if event[name] >= 0 else None
            rows.append(event)
    return rows, tables


def one(reader: Reader, event: str) -> dict[str, Any]:
    rows, _ = read(reader, f"[{event}]".encode())
    assert len(rows) == 1
    return rows[0]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("6520618853487.683", 6520618853487683),
        ('"6520618853487.683"', 6520618853487683),
        ("1751410836000000.001", 1751410836000000001),
        ("12", 12_000),
        ("1.5e3", 1_500_000),
        ("-2.5", -2_500),
        ("0.0005", 1),
        ("-0.0005", -1),
        ("0.00049999999999999", 0),
        ("9223372036854775.807", (1 << 63) - 1),
        ("9223372036854775.808", None),
        ("1e300", None),
        ("1e-300", 0),
        ("NaN", None),
        ('"soon"', None),
        ("null", None),
    ],
)
def test_times_are_read_from_decimal_text(
    reader: Reader, text: str, expected_ns: int | None
) -> None:
    event = one(reader, f'{{"ts": {text}}}')

    assert event["flags"] == (0 if expected_ns is None else HAS_START)
    assert event["start_ns"] == (expected_ns or 0)


@pytest.mark.parametrize("reader", READERS)
def test_numbers_and_strings_stay_distinct_keys(reader: Reader) -> None:
    rows, tables = read(reader, b'[{"pid":7,"tid":"7"},{"pid":"7","tid":18446744073709551615}]')

    assert [(row["process"], row["thread"]) for row in rows] == [
        ("n7", "s7"),
        ("s7", "n18446744073709551615"),
    ]
    assert tables.keys == ["n7", "s7", "n18446744073709551615"]


@pytest.mark.parametrize("reader", READERS)
def test_args_are_kept_as_json_except_for_dropped_categories(reader: Reader) -> None:
    data = b'[{"cat":"a","args":{"x": [1, 2.50], "y":"\\u00e9"}},{"cat":"b","args":{"device":3}}]'

    rows, _ = read(reader, data, dropped=("b",))

    assert [row["args"] for row in rows] == [{"x": [1, 2.5], "y": "é"}, None]
    assert [row["device"] for row in rows] == [-1, 3]


@pytest.mark.parametrize("reader", READERS)
def test_top_level_members_come_as_json_text(reader: Reader) -> None:
    data = b'{"schemaVersion": 1, "traceEvents": [{"ph":"X"}], "distributedInfo": {"rank": 3}}'

    _, tables = read(reader, data)

    assert tables.metadata == {"schemaVersion": "1", "distributedInfo": '{"rank":3}'}
    assert tables.counts.has_events
    assert not tables.counts.is_array


@pytest.mark.parametrize("reader", READERS)
def test_invalid_text_is_replaced_and_counted(reader: Reader) -> None:
    data = b'[{"name":"a\xffb"},{"name":"\\ud800"},{"name":"\\ud83d\\ude00"}]'

    rows, tables = read(reader, data)

    assert [row["name"] for row in rows] == ["a\ufffdb", "\ufffd", "😀"]
    assert tables.counts.replaced_texts == 2


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("data", "events", "truncated"),
    [
        (b'[{"ph":"X"}', 1, False),
        (b'[{"ph":"X"},\n', 1, False),
        (b'[{"ph":"X"},{"ph":"X', 1, True),
        (b'{"traceEvents":[{"ph":"X"}', 1, True),
        (b'{"traceEvents":[{"ph":"X"}],"a":[1', 1, True),
        (b'{"traceEvents":[{"ph":"X"},]}', 1, False),
    ],
)
def test_files_cut_short_give_what_is_there(
    reader: Reader, data: bytes, events: int, truncated: bool
) -> None:
    rows, tables = read(reader, data)

    assert len(rows) == events
    assert tables.counts.truncated is truncated


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" \n ",
        b"hello",
        b'[{"a":1} {"b":2}]',
        b'[{"a":01}]',
        b'{"traceEvents": 5}',
        b"[{}] trailing",
        b"[" * 300,
        b'[{"args":' + b"[" * 100_000,
    ],
)
def test_what_is_no_json_of_events_is_an_error(reader: Reader, data: bytes) -> None:
    with pytest.raises(MalformedEventsError):
        read(reader, data)


@pytest.mark.parametrize("reader", READERS)
def test_errors_name_the_byte(reader: Reader) -> None:
    with pytest.raises(MalformedEventsError) as raised:
        read(reader, '[{"name":"é"} {}]'.encode())

    assert raised.value.offset == 15


@pytest.mark.parametrize("reader", READERS)
def test_a_name_of_a_million_characters_is_kept_whole(reader: Reader) -> None:
    name = "n" * 1_000_000

    rows, _ = read(reader, json.dumps([{"name": name}]).encode(), block=4096)

    assert rows[0]["name"] == name


numbers = st.one_of(
    st.integers(-(1 << 70), 1 << 70),
    st.floats(),
    st.decimals(allow_nan=False, allow_infinity=False, places=5).map(float),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=12))
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
argument_keys = st.sampled_from(
    [
        "correlation",
        "External id",
        "device",
        "grid",
        "block",
        "workgroup",
        "kind",
        "bytes",
        "other",
        "full_name",
    ]
)
argument_values = values | st.lists(numbers, max_size=4) | st.sampled_from(["1,2,3", "4x5", "7"])
events = st.dictionaries(
    st.sampled_from(["ph", "ts", "dur", "name", "cat", "pid", "tid", "id", "bp", "args", "else"]),
    values | st.dictionaries(argument_keys, argument_values, max_size=5) | st.sampled_from("XBEie"),
)
documents = st.one_of(
    st.lists(events | scalars, max_size=6),
    st.fixed_dictionaries({"traceEvents": st.lists(events, max_size=6)}, optional={"a": values}),
)


def outcome(reader: Reader, data: bytes, block: int) -> Any:
    """What the reader makes of `data`: rows and tables, or the fact that it is an error."""
    try:
        rows, tables = read(reader, data, block=block)
    except MalformedEventsError:
        return "malformed"
    metadata = {name: json.loads(text) for name, text in tables.metadata.items()}
    return rows, tables.texts, tables.keys, metadata, tables.counts


def both(data: bytes, block: int) -> list[Any]:
    """The outcomes of both readers, which may spell the same JSON text differently."""
    return [outcome(reader, data, block) for reader in (event_batches, reference.event_batches)]


@settings(max_examples=150)
@given(documents, st.booleans(), st.integers(1, 64))
def test_native_and_reference_agree_on_json(document: Any, ascii_only: bool, block: int) -> None:
    data = json.dumps(document, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")

    native_result, python_result = both(data, block)

    assert native_result == python_result


@settings(max_examples=150)
@given(documents, st.data())
def test_native_and_reference_agree_on_cut_json(document: Any, data: st.DataObject) -> None:
    text = json.dumps(document).encode()
    cut = text[: data.draw(st.integers(0, len(text)))]

    native_result, python_result = both(cut, 7)

    assert native_result == python_result


@pytest.mark.parametrize("reader", READERS)
def test_ids_as_texts_are_the_same_number_for_equal_texts_only(reader: Reader) -> None:
    texts = [
        "7",
        "07",
        "0x7",
        "0x07",
        "0X7",
        "x",
        "\u0031",
        "1",
        "x",
        "0xfffffffffffffff",
        "9" * 15,
        "9" * 16,
    ]
    events = ",".join(f'{{"id":"{text}"}}' for text in texts)

    rows, _ = read(reader, f'[{events},{{"id":7}},{{"id":7.5}}]'.encode())

    largest, hexadecimal = (1 << 62) + (1 << 60) - 1, (1 << 62) + 7
    assert [(row["id_kind"], row["id"]) for row in rows] == [
        *((ID_TEXT, number) for number in (7, -1, hexadecimal, -2, -3, -4, 1, 1, -4, largest)),
        *((ID_TEXT, 999_999_999_999_999), (ID_TEXT, -5), (ID_NUMBER, 7), (ID_TEXT, -6)),
    ]


@settings(max_examples=200)
@given(st.from_regex(r"-?[0-9]{0,22}(\.[0-9]{0,8})?([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_both_decimal_parsers_agree(text: str) -> None:
    (rows, *_), _ = both(json.dumps([{"ts": text}]).encode(), 64)

    expected_ns = parse_decimal(text, 3)
    assert rows[0]["start_ns"] == (expected_ns or 0)
    assert (rows[0]["flags"] == HAS_START) == (expected_ns is not None)


def test_gzip_is_told_by_content_and_may_be_cut(tmp_path: Path) -> None:
    data = json.dumps([{"ph": "X", "ts": index} for index in range(50_000)]).encode()
    whole, cut = tmp_path / "trace.txt", tmp_path / "cut.json"
    compressed = gzip.compress(data)
    whole.write_bytes(compressed)
    cut.write_bytes(compressed[: len(compressed) // 2])

    whole_file, cut_file = EventFile(whole), EventFile(cut)
    whole_rows = sum(batch.rows for batch in whole_file.batches())
    cut_rows = sum(batch.rows for batch in cut_file.batches())

    assert whole_rows == 50_000
    assert 0 < cut_rows < 50_000
    assert not whole_file.tables.counts.truncated
    assert cut_file.tables.counts.truncated


def test_a_malformed_file_is_an_unreadable_input_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(b'[{"ph" "X"}]')

    with pytest.raises(UnreadableInputError, match=r"not a valid JSON trace.*byte 7") as raised:
        list(EventFile(path).batches())

    assert raised.value.hint
