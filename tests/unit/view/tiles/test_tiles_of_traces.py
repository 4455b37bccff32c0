"""Tiles of whole traces, as the page gets them, beside the rows of the trace's own tables."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.builders import a_trace
from tests.reference.lane_pixels import Drawn, pixels_of, stretches, time_in
from wavescope.model.columns import CALLS, MARKERS, OPS, Table
from wavescope.view.answers import Asked
from wavescope.view.colouring import COLOURINGS
from wavescope.view.opening import TraceView, loaded_view
from wavescope.view.tiles import tiles

ORIGIN = 1_700_000_000_000_000_000


@pytest.fixture(scope="module")
def view() -> TraceView:
    """Two queues that overlap, copies beside them, nested markers and calls."""
    trace = a_trace().with_process(1).with_marker("step", ORIGIN, ORIGIN + 4000)
    for number in range(60):
        start = ORIGIN + 61 * number
        trace = trace.with_kernel(f"gemm_{number % 3}", start, start + 50 + number, queue=0)
        trace = trace.with_kernel("softmax", start + 20, start + 30, queue=1)
        trace = trace.with_call("hipLaunchKernel", start - 5, start)
        trace = trace.with_marker("layer", start + 1, start + 41)
    return loaded_view(trace.with_copy(ORIGIN + 100, ORIGIN + 900).build())


def tile_of(view: TraceView, row_id: str, by: str = "category", **window: object) -> dict[str, Any]:
    """A row of a tile with its arrays."""
    asked = {"rows": row_id, "by": by, **{name: str(value) for name, value in window.items()}}
    body = tiles(Asked((view,), asked)).body
    (size,) = struct.unpack_from("<I", body)
    (row,) = json.loads(body[4 : 4 + size])["rows"]
    blocks = body[4 + size :]

    def array(place: int, kind: str, count: int) -> npt.NDArray[Any]:
        return np.frombuffer(blocks, kind, count, place)

    pixel_count = int(str(window["count"]))
    shape = row["planes"], len(row["classes"]), pixel_count
    boxes = row["boxes"]
    return {
        "classes": row["classes"],
        "shares": array(row["shares"], "u1", int(np.prod(shape))).reshape(shape),
        "start": array(boxes["start"], "<f8", boxes["count"]),
        "name": array(boxes["name"], "<i4", boxes["count"]),
        "row": array(boxes["row"], "<u4", boxes["count"]),
        "depth": array(boxes["depth"], "<u2", boxes["count"]),
        "class": array(boxes["class"], "u1", boxes["count"]),
    }


def test_a_gpu_is_as_busy_as_all_its_ops_together(view: TraceView) -> None:
    ops = view.trace.ops
    ranges = [
        Drawn(start, end, 0)
        for start, end in zip(ops["start_ns"].tolist(), ops["end_ns"].tolist(), strict=True)
    ]
    pixels = pixels_of(37.5, 0, 120, view.loaded.first_ns)

    shown = tile_of(view, "gpu/0", scale=37.5, first=0, count=120)

    united = list(stretches(ranges))
    exact = [255 * time_in(united, pixel) / (pixel[1] - pixel[0]) for pixel in pixels]
    busy = shown["shares"][0].astype(int).sum(axis=0)
    # Each class is rounded on its own, and is at least 1.
    assert np.all(np.abs(busy - exact) <= len(shown["classes"]))
    assert max(exact) == 255


@pytest.mark.parametrize(
    ("row_id", "table"), [("queue/0/0", OPS), ("calls/0/1", CALLS), ("markers/0/1", MARKERS)]
)
def test_boxes_are_rows_of_the_trace(view: TraceView, row_id: str, table: Table) -> None:
    shown = tile_of(view, row_id, scale=1, first=0, count=500)

    rows = shown["row"].astype(int)
    own = view.trace.table(table)
    assert len(rows) >= 8
    starts = shown["start"].astype(np.int64) + view.loaded.first_ns
    assert starts.tolist() == own["start_ns"][rows].tolist()
    assert shown["name"].tolist() == own["name"][rows].tolist()


def test_markers_are_nested(view: TraceView) -> None:
    shown = tile_of(view, "markers/0/1", scale=1, first=0, count=500)

    names = [view.trace.strings[code] for code in shown["name"].tolist()]
    assert set(zip(shown["depth"].tolist(), names, strict=True)) == {(0, "step"), (1, "layer")}
    assert len(shown["shares"]) == 2


@pytest.mark.parametrize("by", [each for each in COLOURINGS if each != "difference"])
def test_every_colouring_has_a_label_for_each_class(view: TraceView, by: str) -> None:
    labels = COLOURINGS[by].labels(view)
    for row in view.loaded.rows:
        shown = tile_of(view, row.id, by, scale=10, first=0, count=500)

        assert all(number < len(labels) for number in shown["classes"])
        assert set(shown["class"].tolist()) <= set(range(len(labels)))
