"""Strings fetched by id when rows name them."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.formats.sqlite.lookup import RowsById, StringCodes, Texts, texts_of
from wavescope.model.strings import StringTable


def strings_of(strings: dict[int, str | None], key: str = "INTEGER PRIMARY KEY") -> Texts:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE rocpd_string (id {key}, string TEXT)")
    connection.executemany("INSERT INTO rocpd_string VALUES (?, ?)", strings.items())
    return Texts(connection, "rocpd_string")


def decoded(texts: Texts | None, ids: list[int]) -> tuple[list[str], int]:
    table = StringTable()
    codes, dangling = StringCodes(texts, table).codes(np.array(ids, np.int64))
    return table.decode(codes), dangling


def test_ids_become_codes() -> None:
    assert decoded(strings_of({1: "a", 2: "b", 7: "a"}), [2, 7, 1, 2]) == (["b", "a", "a", "b"], 0)


def test_null_is_no_string_and_does_not_dangle() -> None:
    assert decoded(strings_of({1: "a"}), [-1, 1, -1]) == (["", "a", ""], 0)


def test_ids_without_a_string_dangle() -> None:
    assert decoded(strings_of({1: "a", 3: None}), [0, 1, 2, 3, -5]) == (["", "a", "", "", ""], 4)
    assert decoded(None, [1, -1]) == (["", ""], 1)


def test_only_strings_that_are_asked_for_enter_the_table() -> None:
    table = StringTable()
    codes = StringCodes(strings_of({index: f"s{index}" for index in range(1000)}), table)
    codes.codes(np.array([5, 700, 5], np.int64))
    codes.codes(np.array([5, 6], np.int64))
    assert list(table) == ["s5", "s700", "s6"]


@pytest.mark.parametrize("key", ["INTEGER PRIMARY KEY", "BIGINT"])
@given(
    strings=st.dictionaries(
        st.one_of(st.integers(0, 50), st.integers(2**32, 2**32 + 50), st.integers(1, 2**63 - 1)),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    ),
    batches=st.lists(st.lists(st.integers(-1, 60), max_size=20), max_size=3),
    shift=st.sampled_from([0, 2**32]),
)
def test_any_ids_in_any_batches(
    key: str, strings: dict[int, str], batches: list[list[int]], shift: int
) -> None:
    table = StringTable()
    codes = StringCodes(strings_of(dict(strings), key), table)
    for batch in batches:
        ids = [number if number < 0 else number + shift for number in batch] + sorted(strings)
        found, dangling = codes.codes(np.array(ids, np.int64))
        assert table.decode(found) == [strings.get(number, "") for number in ids]
        assert dangling == sum(number not in strings and number != -1 for number in ids)


@given(ids=st.sets(st.integers(0, 3000)), asked=st.sets(st.integers(0, 3000)))
def test_rows_are_found_by_id(ids: set[int], asked: set[int]) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(number, number * 2) for number in ids])
    wanted = np.array(sorted(asked), np.int64)
    found = dict(RowsById(connection, "t").fetch(wanted, ("v",)))
    assert {number: value for number, value in found.items() if number in asked} == {
        number: number * 2 for number in ids & asked
    }


def test_texts_of_handles() -> None:
    texts = strings_of({1: "one", 2**40: "far"})
    found, dangling = texts_of(texts, np.array([2**40, -1, 1, 9, 1]))
    assert found == ["far", "", "one", "", "one"]
    assert dangling.tolist() == [9]
