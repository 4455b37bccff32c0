"""Values by key."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wavescope.formats.sqlite.lookup import ValueByKey


@given(
    pairs=st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 99))),
    asked=st.lists(st.integers(-12, 12)),
)
def test_the_first_of_equal_keys_counts(pairs: list[tuple[int, int]], asked: list[int]) -> None:
    keys, values = (np.array([pair[place] for pair in pairs], np.int64) for place in (0, 1))
    expected: dict[int, int] = {}
    for key, value in pairs:
        expected.setdefault(key, value)
    lookup = ValueByKey(keys, values)
    assert len(lookup) == len(expected)
    assert lookup.find(np.array(asked, np.int64)).tolist() == [expected.get(k, -1) for k in asked]
    all_keys = [key for key, _ in pairs]
    assert set(lookup.repeated.tolist()) == {key for key in all_keys if all_keys.count(key) > 1}
