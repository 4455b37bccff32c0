"""CSV as rocprofv3 writes it: quotes unescaped, any casing, cut anywhere."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.errors import UnreadableInputError
from wavescope.formats import csv_blocks
from wavescope.formats.csv_blocks import CsvBlocks

HEADER = '"Kind","Function","Start"\n'
cells = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=15)


def rows_of(path: Path) -> tuple[list[list[str]], CsvBlocks]:
    with CsvBlocks(path, ("function",)) as file:
        return [row for block in file.rows() for row in block], file


def read(tmp_path: Path, text: str | bytes) -> tuple[list[list[str]], CsvBlocks]:
    path = tmp_path / "x.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return rows_of(path)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ('"plain"', "plain"),
        ("bare", "bare"),
        ('"with, comma"', "with, comma"),
        ('"escaped ""quote"""', 'escaped "quote"'),
        ('"raw "quote" inside"', 'raw "quote" inside'),
        ('"raw "a, b" and, comma"', 'raw "a, b" and, comma'),
        ('"two\nlines"', "two\nlines"),
        ('"raw "two\nlines" here"', 'raw "two\nlines" here'),
        ('""', ""),
    ],
)
def test_a_free_text_is_recovered(tmp_path: Path, cell: str, text: str) -> None:
    rows, file = read(tmp_path, f'{HEADER}"K",{cell},12\n"K","next",13\n')

    assert rows == [["K", text, "12"], ["K", "next", "13"]]
    assert file.skipped_rows == 0


def test_header_names_are_lower_case_without_mark_and_line_ends(tmp_path: Path) -> None:
    rows, file = read(tmp_path, "\ufeffKIND,Function,start\r\nK,f,1\r\n\r\n")

    assert file.header == ["kind", "function", "start"]
    assert file.names == ["KIND", "Function", "start"]
    assert rows == [["K", "f", "1"]]


def test_rows_of_another_width_are_skipped_and_counted(tmp_path: Path) -> None:
    rows, file = read(tmp_path, f'{HEADER}"K","f",1\n"K","f"\n"K","cut of')

    assert rows == [["K", "f", "1"]]
    assert file.skipped_rows == 2


def test_lines_that_can_begin_no_row_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = 0
    real_reader = csv.reader

    def counting_reader(rows: Iterable[str], **options: Any) -> Iterator[list[str]]:
        def counted() -> Iterator[str]:
            nonlocal lines
            for row in rows:
                lines += 1
                yield row

        return real_reader(counted(), **options)

    monkeypatch.setattr(csv_blocks.csv, "reader", counting_reader)
    broken = '"open \n' * 1000
    rows, file = read(tmp_path, f'{HEADER}"K","f",1\n{broken}"K","g",2\n')

    assert rows == [["K", "f", "1"], ["K", "g", "2"]]
    assert file.skipped_rows == 1000
    # The header, the block until it breaks the rules, its first row, each broken line with the
    # next one (where its quotes are seen to be wrong), the last row.
    assert lines == 1 + 3 + 1 + 2 * 1000 + 1


def test_gzip_is_undone_and_a_cut_one_is_told(tmp_path: Path) -> None:
    packed = gzip.compress((HEADER + '"K","f",1\n' * 5000).encode())
    whole, cut = tmp_path / "whole.csv.gz", tmp_path / "cut.csv.gz"
    whole.write_bytes(packed)
    cut.write_bytes(packed[:-20])

    assert len(rows_of(whole)[0]) == 5000
    rows, file = rows_of(cut)
    assert file.was_cut
    assert rows == [["K", "f", "1"]] * len(rows)


def test_utf16_is_refused_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="UTF-16") as raised:
        read(tmp_path, HEADER.encode("utf-16"))
    assert "iconv" in raised.value.hint


def test_a_name_of_a_million_characters_is_read(tmp_path: Path) -> None:
    name = "x" * 1_000_000

    assert read(tmp_path, f'{HEADER}"K","{name}",1\n')[0] == [["K", name, "1"]]


def test_an_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_blocks, "BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(csv_blocks, "LINE_LIMIT_BYTES", 1 << 12)

    with pytest.raises(UnreadableInputError, match="longer than"):
        read(tmp_path, HEADER + "x" * 100_000)


@given(st.lists(st.tuples(cells, st.text("ab\n,\"' ", max_size=12)), max_size=12))
def test_well_formed_csv_is_read_back_whatever_the_blocks(
    tmp_path: Path, table: list[tuple[str, str]]
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["Kind", "Function", "Start"])
    writer.writerows([kind, name, 7] for kind, name in table)
    path = tmp_path / "x.csv"
    path.write_bytes(text.getvalue().encode())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_blocks, "BLOCK_BYTES", 64)
        rows, file = rows_of(path)

    assert rows == [[kind, name, "7"] for kind, name in table]
    assert file.skipped_rows == 0


@given(st.binary(max_size=300))
def test_any_bytes_give_rows_or_a_clear_error(tmp_path: Path, data: bytes) -> None:
    try:
        rows, file = read(tmp_path, HEADER.encode() + data)
    except UnreadableInputError:
        return
    assert all(len(row) == 3 for row in rows)
    assert file.header == ["kind", "function", "start"]


def test_more_columns_than_any_table_has_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a," * csv_blocks.MOST_COLUMNS + "b\n")

    with pytest.raises(UnreadableInputError, match="100,001 columns"):
        CsvBlocks(path, ("function",))
