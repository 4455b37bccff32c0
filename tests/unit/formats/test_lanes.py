"""Lanes: no two slices of a lane cross, and the reference agrees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import lanes as reference
from wavescope.formats.timeline import tracks as lanes_module
from wavescope.formats.timeline.tracks import NESTED_LANES

SLICES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 12)), max_size=60)


def in_order(slices: list[tuple[int, int, int]], *, nested: bool) -> list[tuple[int, int, int]]:
    spans = [(track, start, start + length) for track, start, length in slices]
    return sorted(spans, key=lambda s: (s[1], -s[2] if nested else s[2]))


def assigned(spans: list[tuple[int, int, int]], *, nested: bool, steps: int = 1) -> list[int]:
    lanes = lanes_module.Lanes(nested=nested)
    found: list[int] = []
    for part in np.array_split(np.array(spans, np.int64).reshape(-1, 3), steps):
        columns = np.ascontiguousarray(part.T)
        found += lanes.assign(columns[0].astype(np.int32), columns[1], columns[2]).tolist()
    return found


def assigned_by_reference(spans: list[tuple[int, int, int]], *, nested: bool) -> list[int]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lanes_module, "Lanes", reference.Lanes)
        return assigned(spans, nested=nested)


@given(SLICES, st.integers(1, 4))
def test_slices_of_a_flat_lane_follow_one_another(
    slices: list[tuple[int, int, int]], steps: int
) -> None:
    spans = in_order(slices, nested=False)

    lanes = assigned(spans, nested=False, steps=steps)

    ends: dict[tuple[int, int], int] = {}
    for (track, start, end), lane in zip(spans, lanes, strict=True):
        assert ends.get((track, lane), 0) <= start
        ends[track, lane] = end
    assert lanes == assigned_by_reference(spans, nested=False)


@given(SLICES, st.integers(1, 4))
def test_slices_of_a_nested_lane_never_cross(
    slices: list[tuple[int, int, int]], steps: int
) -> None:
    spans = in_order(slices, nested=True)

    lanes = assigned(spans, nested=True, steps=steps)

    placed: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for (track, start, end), lane in zip(spans, lanes, strict=True):
        for other_start, other_end in placed.setdefault((track, lane), []):
            assert other_end <= start or (other_start <= start and end <= other_end)
        placed[track, lane].append((start, end))
    assert lanes == assigned_by_reference(spans, nested=True)


def test_properly_nested_slices_need_one_lane() -> None:
    spans = [(0, 0, 100), (0, 0, 50), (0, 10, 20), (0, 20, 30), (0, 50, 100), (0, 100, 100)]

    assert assigned(spans, nested=True) == [0] * 6


def test_beyond_some_lanes_nothing_is_nested() -> None:
    crossing = [(0, row, 1000 + row) for row in range(NESTED_LANES + 3)]
    inside_the_last = (0, 500, 501)

    lanes = assigned([*crossing, inside_the_last], nested=True)

    assert lanes == [*range(NESTED_LANES + 3), 0]
    assert lanes == assigned_by_reference([*crossing, inside_the_last], nested=True)
