"""The timeline of a page: strips drawn on a canvas from data that the page carries.

The component in `static/timeline` zooms and pans; the tables say in numbers what the strips show.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_labels import NO_NAME
from wavescope.analyze.timeline import OpNames, Strip, Timeline, shares
from wavescope.model.strings import StringTable
from wavescope.render.html.charts import legend, series_of
from wavescope.render.html.markup import Html, bounded, element
from wavescope.units import count_text, duration_text

LARGEST_BYTES = 1_800_000
"""Of a timeline's strips in a page; bins are made coarser until they fit."""

_LONGEST_NAME = 240
_KEYS = (
    "Drag to pan, Ctrl + wheel or double-click to zoom, Shift + drag to zoom into a range. "
    "Keys: W and S or + and - zoom, A and D or arrows pan, Home shows everything, comma and full "
    "stop go from box to box, J and K from row to row, F zooms to the box."
)


class TimelineWords(NamedTuple):
    """What a timeline shows, as its page calls it."""

    what: str = "GPU work"
    pieces: str = "ops"
    lanes: str = "queues"
    unit: str = "ns"
    """`cycles` where the times are such."""

    def length(self, value: int) -> str:
        """A length of time."""
        return duration_text(value) if self.unit == "ns" else f"{count_text(value)} {self.unit}"


_OPS = TimelineWords()


def timeline_html(source_id: str, drawn: Timeline, words: TimelineWords = _OPS) -> Html:
    """The place of a timeline whose data is in the element `source_id`; nothing of no strips."""
    if not drawn.strips:
        return Html("")
    choices = [
        element("option", bounded(colouring.title, 60), value=str(number))
        for number, colouring in enumerate(drawn.colourings)
    ]
    legends = [
        element("div", legend(colouring.labels), data_colouring=str(number), hidden=number > 0)
        for number, colouring in enumerate(drawn.colourings)
    ]
    finding = f"Find {words.pieces} (Enter: next)"
    tools = element(
        "div",
        element("button", "+", type="button", data_act="in", title="Zoom in", aria_label="Zoom in"),
        element(
            "button",
            "\N{MINUS SIGN}",
            type="button",
            data_act="out",
            title="Zoom out",
            aria_label="Zoom out",
        ),
        element("button", "Reset", type="button", data_act="all", title="Show everything"),
        element("label", "Colour by ", element("select", *choices, name="colour"))
        if len(choices) > 1
        else None,
        element(
            "label",
            element("input", type="checkbox", name="queues", checked=True),
            f" {words.lanes}",
        )
        if any(strip.queue is not None for strip in drawn.strips)
        else None,
        element("output", aria_live="polite", class_="window"),
        element(
            "span",
            element("output", aria_live="polite", class_="matches"),
            element(
                "input",
                type="search",
                name="find",
                placeholder=finding,
                aria_label=f"Find {words.pieces}",
                size=len(finding),
            ),
            class_="search",
        ),
        class_="tools",
    )
    canvas = element(
        "canvas",
        tabindex="0",
        role="application",
        aria_label=f"Timeline of {words.what}, {_KEYS}",
    )
    return element(
        "figure",
        tools,
        element("div", canvas, element("div", class_="tip", hidden=True), class_="stage"),
        *legends,
        element("figcaption", _KEYS, " ", detail_sentence(drawn, words)),
        class_="timeline",
        data_source=source_id,
        data_unit=words.unit if words.unit != "ns" else None,
    )


def detail_sentence(drawn: Timeline, words: TimelineWords = _OPS) -> str:
    """What of the trace the timeline shows op by op, and what as shares."""
    ops = drawn.ops
    parts = []
    if ops.left_out_count:
        parts.append(
            f"Single {words.pieces}: the {count_text(len(ops.rows))} longest, all above "
            f"{words.length(ops.longest_left_out_ns)}; {count_text(ops.left_out_count)} shorter "
            f"ones are in the shares of bins of {words.length(drawn.grid.bin_ns)}."
        )
    else:
        parts.append(
            f"All {count_text(len(ops.rows))} {words.pieces} are shown one by one when zoomed in."
        )
    if any(strip.recorded is not None for strip in drawn.strips):
        parts.append(
            "Hatched time lies outside of the slices that were recorded: it is unknown, not idle; "
            "busy shares are those of the slices."
        )
    if drawn.markers.left_out_count:
        parts.append(f"{count_text(drawn.markers.left_out_count)} marker ranges are not drawn.")
    if drawn.left_out_strips:
        parts.append(f"{count_text(drawn.left_out_strips)} further GPUs and queues have no strip.")
    return " ".join(parts)


def timeline_data(
    drawn: Timeline,
    names: OpNames,
    strings: StringTable,
    largest_bytes: int = LARGEST_BYTES,
    labels: Sequence[str] = (),
) -> tuple[Timeline, dict[str, Any]]:
    """What the script reads, and the timeline with bins as coarse as they had to be made.

    `labels` name the strips that are no GPUs and queues.
    """
    fitting, packed_shares = _fitting(drawn, largest_bytes)
    return fitting, {
        "origin": str(fitting.grid.origin_ns),
        "span": fitting.span_ns,
        "bin": fitting.grid.bin_ns,
        "bins": fitting.grid.bin_count,
        "colourings": [
            {"labels": [bounded(text, 60) for text in by.labels], "series": series_of(by.labels)}
            for by in fitting.colourings
        ],
        "shares": packed_shares,
        "strips": [
            _strip_data(strip, fitting, label)
            for strip, label in zip(fitting.strips, labels or repeat(""), strict=False)
        ],
        "ops": _ops_data(fitting, names),
        "markers": _marker_data(fitting, strings),
    }


def _fitting(drawn: Timeline, largest_bytes: int) -> tuple[Timeline, list[dict[str, Any]]]:
    while True:
        found = [_packed_shares(drawn, number) for number in range(len(drawn.colourings))]
        size = sum(len(part["data"]) for part in found)
        if size <= largest_bytes or drawn.grid.bin_count <= 1024:
            return drawn, found
        drawn = drawn.coarser()


def _packed_shares(drawn: Timeline, colouring: int) -> dict[str, Any]:
    """All strips of one colouring: strip by strip, class by class, bin by bin."""
    planes = [shares(strip.times[colouring], drawn.grid).ravel() for strip in drawn.strips]
    return packed(np.concatenate(planes) if planes else np.empty(0, np.uint8))


def _strip_data(strip: Strip, drawn: Timeline, label: str) -> dict[str, Any]:
    busy: float | None = 100 * strip.busy_ns / drawn.span_ns
    if strip.recorded is not None:
        busy = strip.busy_percent
    return {
        **({"label": bounded(label, 60)} if label else {}),
        "gpu": strip.gpu,
        "queue": strip.queue,
        "name": bounded(strip.name, 60),
        "ops": strip.op_count,
        "busy": None if busy is None else round(busy, 1),
        **_recorded_data(strip, drawn.grid.origin_ns),
    }


def _recorded_data(strip: Strip, origin_ns: int) -> dict[str, Any]:
    """Of a sampled trace the slices, as starts and ends from the timeline's first nanosecond on."""
    if strip.recorded is None:
        return {}
    slices = strip.recorded
    return {
        "recorded": {
            "start": (slices.starts - origin_ns).tolist(),
            "end": (slices.ends - origin_ns).tolist(),
        }
    }


def _ops_data(drawn: Timeline, names: OpNames) -> dict[str, Any]:
    ops = drawn.ops
    return {
        "names": [bounded(name, _LONGEST_NAME) for name in names.names],
        "strip": packed(ops.strip),
        "start": packed_steps(ops.start_ns, restarts=_changes(ops.strip)),
        "duration": packed(ops.duration_ns.view(np.uint64)),
        "name": packed(names.of_op),
        "classes": [packed(by.of_op[ops.rows]) for by in drawn.colourings],
    }


def _marker_data(drawn: Timeline, strings: StringTable) -> dict[str, Any]:
    markers = drawn.markers
    codes, name = np.unique(markers.name, return_inverse=True)
    return {
        "lanes": [lane._asdict() for lane in markers.lanes],
        "names": [bounded(strings[code] or NO_NAME, _LONGEST_NAME) for code in codes.tolist()],
        "lane": packed(markers.lane),
        "depth": packed(markers.depth),
        "start": packed_steps(markers.start_ns, restarts=_changes(markers.lane)),
        "duration": packed(markers.duration_ns.view(np.uint64)),
        "name": packed(name.astype(np.uint32)),
    }


def _changes(values: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.bool_]:
    """Where a value differs from the one before; the first always does."""
    return np.concatenate((np.ones(min(1, len(values)), np.bool_), values[1:] != values[:-1]))


_LEVEL = 6


def packed(array: npt.NDArray[np.unsignedinteger]) -> dict[str, Any]:
    """The values of a one-dimensional column, in the narrowest type that holds them."""
    narrow = array.astype(_narrowest(int(array.max(initial=0))))
    by_place = narrow.astype(narrow.dtype.newbyteorder("<")).view(np.uint8)
    by_place = by_place.reshape(-1, narrow.itemsize).T
    compressed = zlib.compress(by_place.tobytes(), _LEVEL)
    return {
        "bytes": narrow.itemsize,
        "length": len(narrow),
        "data": base64.b64encode(compressed).decode(),
    }


def packed_steps(
    array: npt.NDArray[np.int64], *, restarts: npt.NDArray[np.bool_]
) -> dict[str, Any]:
    """Values that never decrease but at `restarts`, as the steps between them."""
    steps = np.diff(array, prepend=0)
    steps[restarts] = array[restarts]
    return packed(steps.view(np.uint64))


def _narrowest(largest: int) -> type[np.unsignedinteger]:
    kinds = (np.uint8, np.uint16, np.uint32)
    return next((kind for kind in kinds if largest <= np.iinfo(kind).max), np.uint64)
