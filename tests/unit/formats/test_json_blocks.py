"""The block-wise JSON walker gives what a whole parse would give."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.formats.rocprofv3 import json_blocks
from wavescope.formats.rocprofv3.json_blocks import CutJsonError, JsonBlocks, JsonError

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(texts, values, max_size=4)


def cursor(text: str | bytes, block_bytes: int = 7) -> JsonBlocks:
    data = text if isinstance(text, bytes) else text.encode()
    return JsonBlocks(io.BytesIO(data).read, block_bytes)


@given(values, st.integers(1, 40), st.sampled_from([None, 1]))
def test_a_value_is_parsed_whole_however_it_is_cut(value: Any, block: int, indent: int) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent)

    assert cursor(text, block).value() == value


@given(st.lists(objects, max_size=8), st.integers(1, 40))
def test_blocks_of_an_array_are_all_of_its_objects(elements: list[Any], block: int) -> None:
    walk = cursor(json.dumps(elements), block)

    assert [item for part in walk.blocks() for item in part] == elements


@given(st.dictionaries(texts, values, max_size=5), st.integers(1, 40))
def test_members_are_keys_in_order_and_values_may_be_skipped(
    value: dict[str, Any], block: int
) -> None:
    walk = cursor(json.dumps(value), block)
    read: dict[str, Any] = {}
    for number, key in enumerate(walk.members()):
        if number % 2:
            walk.skip()
        else:
            read[key] = walk.value()

    assert read == {key: value[key] for key in list(value)[::2]}


@given(objects, st.integers(1, 40), st.data())
def test_a_cut_text_is_told_from_a_wrong_one(value: Any, block: int, data: Any) -> None:
    text = json.dumps(value).encode()
    cut = data.draw(st.integers(0, len(text) - 1))

    with pytest.raises(CutJsonError):
        cursor(text[:cut], block).value()


def test_quotes_and_brackets_inside_strings_do_not_count() -> None:
    elements = [{"name": 'a"}],{[\\'}, {"name": "\\\\"}, {"name": 'x\\"'}]

    for block in range(1, 30):
        walk = cursor(json.dumps(elements), block)
        assert [item for part in walk.blocks() for item in part] == elements


def test_invalid_utf8_is_replaced_and_counted() -> None:
    walk = cursor(b'[{"name":"a\xffb"},{"name":"c"}]', 1000)

    assert list(walk.blocks()) == [[{"name": "a\ufffdb"}, {"name": "c"}]]
    assert walk.replaced_blocks == 1


def test_lone_surrogates_and_raw_newlines_are_read() -> None:
    walk = cursor(b'[{"name":"a\\ud800b"},{"name":"c\nd"}]', 1000)

    assert list(walk.blocks()) == [[{"name": "a?b"}, {"name": "c\nd"}]]


def test_an_element_that_is_no_json_is_left_out_and_counted() -> None:
    walk = cursor(b'[{"a":1},{"a":tru},{"a":3}]', 1000)

    assert list(walk.blocks()) == [[{"a": 1}, {"a": 3}]]
    assert walk.bad_elements == 1


def test_deep_nesting_is_an_error_and_no_crash() -> None:
    with pytest.raises(JsonError):
        cursor(b"[" * 100_000 + b"]" * 100_000, 1 << 16).value()


def test_elements_that_are_no_objects_are_counted_and_passed_over() -> None:
    walk = cursor(b'{"a":[1,2,"x"],"b":5}')
    read = {key: list(walk.blocks()) if key == "a" else walk.value() for key in walk.members()}

    assert read == {"a": [], "b": 5}
    assert walk.bad_elements == 3


def test_many_small_values_in_a_large_block_are_passed_by_quickly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each is looked at alone, not with everything that was read after it."""
    looked: list[int] = []
    whole = json_blocks._brackets
    monkeypatch.setattr(
        json_blocks, "_brackets", lambda text, *more: looked.append(len(text)) or whole(text, *more)
    )
    text = json.dumps([[1]] * 5_000)
    walk = cursor(text, block_bytes=1 << 20)

    for _ in walk.elements():
        walk.skip()

    assert len(looked) == 5_000
    assert max(looked) == 1024
