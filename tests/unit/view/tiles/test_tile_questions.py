"""Tiles and names as the page asks for them, and what it must not ask."""

from __future__ import annotations

import gc
import json
import struct
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from tests.builders import a_trace
from tests.lanes import ByRowNumber, a_lane, a_random_lane, a_view
from wavescope.errors import UsageError
from wavescope.view.answers import BINARY, Asked
from wavescope.view.lanes import Lane
from wavescope.view.opening import TraceView
from wavescope.view.rows import Row, RowKind, Series
from wavescope.view.tiles import lane_sums, names, question, tiles
from wavescope.view.tiles.drawing import Drawing, RowLane
from wavescope.view.tiles.encoding import encoded
from wavescope.view.tiles.pixels import Pixels
from wavescope.view.tiles.row_tile import row_tile

ASKED = {"rows": "queue/0/0", "scale": "10", "first": "0", "count": "4", "by": "row number"}


@pytest.fixture(autouse=True)
def _colouring(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(colouring_id: str) -> ByRowNumber:
        assert colouring_id == "row number"
        return ByRowNumber()

    monkeypatch.setattr(question, "colouring_of", found)


class Decoded(NamedTuple):
    header: dict[str, Any]
    blocks: bytes

    def array(self, place: int, kind: str, count: int) -> npt.NDArray[Any]:
        assert place % 8 == 0
        return np.frombuffer(self.blocks, kind, count, place)


def decoded(body: bytes) -> Decoded:
    (size,) = struct.unpack_from("<I", body)
    assert (4 + size) % 8 == 0
    return Decoded(json.loads(body[4 : 4 + size]), body[4 + size :])


def a_queue() -> Row:
    lane = a_lane([(100, 105), (110, 140)], first_row=3)
    return Row("queue/0/0", RowKind.QUEUE, "queue", table="ops", lanes=(lane,))


def asked(view: TraceView, **parameters: str) -> Asked:
    return Asked((view,), {**ASKED, **parameters})


def test_of_a_trace_that_was_moved_the_pixels_of_the_axis_are_drawn() -> None:
    found = decoded(tiles(asked(a_view(a_queue(), first_ns=100), offset="5")).body)

    (row,) = found.header["rows"]
    assert found.array(row["shares"], "u1", 8).tolist() == [128, 0, 0, 0, 0, 128, 255, 255]
    assert found.array(row["boxes"]["start"], "<f8", 1).tolist() == [15.0]


def test_a_tile_is_encoded_for_typed_arrays() -> None:
    answer = tiles(asked(a_view(a_queue(), first_ns=100)))

    found = decoded(answer.body)
    (row,) = found.header["rows"]
    boxes = row["boxes"]
    assert answer.content_type == BINARY
    assert found.header["version"] == 7
    assert (row["id"], row["classes"], row["planes"]) == ("queue/0/0", [3, 4], 1)
    assert found.array(row["shares"], "u1", 8).tolist() == [128, 0, 0, 0, 0, 255, 255, 255]
    assert boxes["count"] == 1
    assert found.array(boxes["depth"], "<u2", 1).tolist() == [0]
    assert found.array(boxes["start"], "<f8", 1).tolist() == [10.0]
    assert found.array(boxes["duration"], "<f8", 1).tolist() == [30.0]
    assert found.array(boxes["name"], "<i4", 1).tolist() == [1004]
    assert found.array(boxes["row"], "<u4", 1).tolist() == [4]
    assert found.array(boxes["class"], "u1", 1).tolist() == [4]
    assert row["means"] is None


def test_a_series_is_encoded_as_means() -> None:
    series = Series("W", np.array([0, 20], np.int64), np.array([1.0, 5.0]))
    row = Row("series/power/0", RowKind.SERIES, "power", series=series)

    found = decoded(tiles(asked(a_view(row, end_ns=40), rows=row.id, scale="15")).body)

    (described,) = found.header["rows"]
    means = found.array(described["means"], "<f4", 4).tolist()
    assert means[:3] == pytest.approx([1.0, 11 / 3, 5.0])
    assert means[3] != means[3]
    assert described["classes"] == []


def test_rows_come_in_the_order_asked() -> None:
    rows = [Row(f"process/{number}", RowKind.GROUP, "process") for number in range(3)]

    found = decoded(tiles(asked(a_view(*rows), rows="process/2,process/0")).body)

    assert [row["id"] for row in found.header["rows"]] == ["process/2", "process/0"]


def test_no_rows_are_an_empty_tile() -> None:
    assert decoded(tiles(asked(a_view(a_queue()), rows="")).body).header["rows"] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"scale": "0"},
        {"scale": "-1"},
        {"scale": "nan"},
        {"scale": "inf"},
        {"scale": "1e300"},
        {"scale": "x"},
        {"count": "0"},
        {"count": "-5"},
        {"count": "4097"},
        {"count": "9" * 30},
        {"count": "1.5"},
        {"first": "9" * 18},
        {"first": "-" + "9" * 18},
        {"first": ""},
        {"rows": "queue/0/0,nothing"},
        {"rows": ",".join(["queue/0/0"] * 257)},
        {"trace": "1"},
    ],
)
def test_what_must_not_be_asked(wrong: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        tiles(asked(a_view(a_queue()), **wrong))


@pytest.mark.parametrize("first_ns", [0, -(2**63), 2**63 - 2, 2**62])
@pytest.mark.parametrize("scale", ["5e-324", "1e-9", "1", "9007199254740992"])
@pytest.mark.parametrize("first", [-(2**53), 0, 2**53])
def test_windows_far_from_everything_are_empty_or_right(
    first_ns: int, scale: str, first: int
) -> None:
    view = a_view(a_queue(), first_ns=first_ns, end_ns=2**63 - 1)

    found = decoded(tiles(asked(view, scale=scale, first=str(first), count="4096")).body)

    pixels = Pixels.of(float(scale), first, 4096, first_ns)
    (row,) = found.header["rows"]
    assert np.all(np.diff(pixels.edges) > 0)
    is_seen = pixels.first_ns < 140 and pixels.end_ns > 100
    assert (row["classes"] != []) == is_seen


def test_the_most_pixels_and_rows() -> None:
    view = a_view(a_queue(), first_ns=100)

    found = decoded(tiles(asked(view, rows=",".join(["queue/0/0"] * 256), count="4096")).body)

    assert len(found.header["rows"]) == 256


def test_sums_are_made_once_for_a_lane_and_go_with_it() -> None:
    made = []

    class Counting(ByRowNumber):
        def classes(self, view: TraceView, row: Row, lane: Lane) -> npt.NDArray[np.uint8]:
            made.append(row.id)
            return super().classes(view, row, lane)

    view = a_view(a_queue())
    drawing = Drawing(view, view.loaded, Counting(), Pixels.of(1.0, 0, 9, 0))
    queue = view.loaded.rows[0]
    kept = len(lane_sums._kept)
    for _ in range(3):
        drawing.class_sums(RowLane(queue, queue.lanes[0]))
    more = len(lane_sums._kept)
    del view, drawing, queue
    gc.collect()

    assert made == ["queue/0/0"]
    assert more == kept + 1
    assert len(lane_sums._kept) <= kept


def test_a_lane_keeps_the_colourings_that_were_used_last() -> None:
    made = []

    class Counting(ByRowNumber):
        def classes(self, view: TraceView, row: Row, lane: Lane) -> npt.NDArray[np.uint8]:
            made.append(self.id)
            return super().classes(view, row, lane)

    view = a_view(a_queue())
    member = RowLane(view.loaded.rows[0], view.loaded.rows[0].lanes[0])
    for number in "a", "b", "a", "c", "a", "b":
        Drawing(view, view.loaded, Counting(number), Pixels.of(1.0, 0, 9, 0)).class_sums(member)

    assert made == ["a", "b", "c", "b"]


def test_a_colouring_with_other_labels_is_asked_again() -> None:
    view = a_view(a_queue())
    member = RowLane(view.loaded.rows[0], view.loaded.rows[0].lanes[0])
    found = [
        Drawing(view, view.loaded, ByRowNumber(class_count=count), Pixels.of(1.0, 0, 9, 0))
        .class_sums(member)
        .occurring.tolist()
        for count in (5, 4)
    ]

    assert found == [[3, 4], [0, 3]]


def test_answers_are_the_same_however_many_ask_at_once() -> None:
    made = []

    class Counting(ByRowNumber):
        def classes(self, view: TraceView, row: Row, lane: Lane) -> npt.NDArray[np.uint8]:
            made.append(row.id)
            return super().classes(view, row, lane)

    lanes = tuple(a_random_lane(seed, 3000, 10, seed) for seed in range(3))
    queue = Row("queue/0/0", RowKind.QUEUE, "queue", lanes=lanes)
    gpu = Row("gpu/0", RowKind.GPU, "GPU", members=(queue.id,))
    view = a_view(gpu, queue)

    def answer(_: int) -> bytes:
        drawing = Drawing(view, view.loaded, Counting(), Pixels.of(97.0, 0, 512, 0), (gpu, queue))
        return encoded(1, [row_tile(drawing, row) for row in (gpu, queue)])

    with ThreadPoolExecutor(8) as threads:
        answers = set(threads.map(answer, range(32)))

    assert len(answers) == 1
    assert made == ["queue/0/0"] * 3


def named_view(*texts: str) -> TraceView:
    trace = a_trace()
    for text in texts:
        trace = trace.with_kernel(text, 0, 1)
    return TraceView(0, "test", trace.build())


def test_names_are_told_short_and_whole() -> None:
    whole = "_ZN2at6native29vectorized_elementwise_kernelILi4EEEvv"
    view = named_view(whole, "<script>")
    codes = [view.trace.strings.find(text) for text in (whole, "<script>")]

    answer = names(Asked((view,), {"codes": f"{codes[0]},{codes[1]},-1"}))

    told = json.loads(answer.body)["names"]
    assert told[str(codes[0])]["whole"] == whole
    assert "vectorized_elementwise" in told[str(codes[0])]["short"]
    assert "_ZN" not in told[str(codes[0])]["short"]
    assert told[str(codes[1])] == {"short": "<script>", "whole": "<script>"}
    assert told["-1"] == {"short": "", "whole": ""}


def test_ranges_of_the_host_keep_their_names() -> None:
    text = "void load<int>(batch)"
    view = named_view(text)
    code = str(view.trace.strings.find(text))

    short = {
        table: json.loads(names(Asked((view,), {"codes": code, "table": table})).body)["names"]
        for table in ("ops", "markers")
    }

    assert short["ops"][code]["short"] != text
    assert short["markers"][code]["short"] == text


def test_an_endless_name_is_cut() -> None:
    view = named_view("k" * 100_000)
    code = str(view.trace.strings.find("k" * 100_000))

    told = json.loads(names(Asked((view,), {"codes": code})).body)["names"][code]

    assert told["whole"] == "k" * 4096 + "…"


@pytest.mark.parametrize("codes", ["", "x", "1,", "999999", "-2", ",".join(["-1"] * 2001)])
def test_names_that_must_not_be_asked_for(codes: str) -> None:
    with pytest.raises(UsageError):
        names(Asked((named_view("a", "b"),), {"codes": codes}))
