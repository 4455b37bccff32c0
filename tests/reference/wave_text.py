"""A wave file read with Python's JSON; see native/thread_trace/wave_reader.cpp."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from wavescope.formats.captures.wave_columns import Status, WaveColumns, WaveFacts

_FACTS = ("begin", "end", "cu", "id", "simd", "slot")
_ABSENT = -(2**63)
_LARGEST = 2**31 - 1
_MOST_TIME = 2**53
_WHOLE, _CUT, _MALFORMED, _NOT_A_WAVE = range(4)
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{},]|[^\s\[\]{},"]+', re.DOTALL)
_KEPT_DEPTH = 3
"""Elements of a wave's lists lie in three containers; only whole ones are kept of a cut file."""

Table = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WaveText:
    """The lists of one wave file; `status` is numbered as the native reader's."""

    status: int
    facts: tuple[int, int, int, int, int, int]
    unusable: int
    events: Table
    wait_line: Table
    producer_end: Table
    producer_line: Table


def wave_text(data: bytes) -> WaveText:
    """What the bytes of a wave file hold, as far as they are whole."""
    status = _WHOLE
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        document, is_cut = _whole_part(data, error.pos)
        status = _CUT if is_cut else _MALFORMED
    wave = document.get("wave") if isinstance(document, dict) else None
    if not isinstance(wave, dict):
        wave = {}
        status = status or (_NOT_A_WAVE if isinstance(document, dict) else _MALFORMED)
    return _of_wave(wave, status)


def add_wave_text(columns: WaveColumns, data: bytes) -> tuple[Status, WaveFacts]:
    """What `WaveColumns.add` does."""
    wave, raw = wave_text(data), columns._raw
    ends = columns.producer_count + wave.producer_end
    counts = {"event": len(wave.events), "list": len(ends), "producer": len(wave.producer_line)}
    facts = WaveFacts(*wave.facts, wave.unusable)
    for kind, count in counts.items():
        if getattr(raw, f"{kind}_count") + count > getattr(raw, f"{kind}_capacity"):
            return Status.FULL, facts
    filled = {kind: getattr(raw, f"{kind}_count") for kind in counts}
    places = {kind: slice(filled[kind], filled[kind] + counts[kind]) for kind in counts}
    for index, name in enumerate(("time", "category", "stall", "duration", "line")):
        getattr(columns, name)[places["event"]] = wave.events[:, index]
    columns.wait_line[places["list"]] = wave.wait_line
    columns.producer_end[places["list"]] = ends
    columns.producer_line[places["producer"]] = wave.producer_line
    for kind, count in counts.items():
        setattr(raw, f"{kind}_count", filled[kind] + count)
    return Status(wave.status), facts


def _of_wave(wave: dict[str, Any], status: int) -> WaveText:
    begin, end, cu, number, simd, slot = (_fact(wave.get(name)) for name in _FACTS)
    events, bad_events = _tuples(wave.get("instructions"), (None, 255, _LARGEST, _LARGEST, None))
    is_time = np.abs(events[:, 0]) < _MOST_TIME
    events, bad_events = events[is_time], bad_events + int((~is_time).sum())
    events[:, 4] = np.where((events[:, 4] >= 0) & (events[:, 4] <= _LARGEST), events[:, 4], -1)
    waits: list[int] = []
    ends: list[int] = []
    producers: list[int] = []
    bad_lists = 0
    for entry in _list(wave.get("waitcnt")):
        usable = isinstance(entry, list) and len(entry) > 1 and isinstance(entry[1], list)
        if not usable or (wait := _integer(entry[0], None)) is None:
            bad_lists += 1
            continue
        lines, bad = _tuples(entry[1], (None,))
        bad_lists += bad
        producers += lines[:, 0].tolist()
        waits.append(wait)
        ends.append(len(producers))
    return WaveText(
        status,
        (begin, end, cu, number, simd, slot),
        bad_events + bad_lists,
        events,
        _lines(waits),
        np.array(ends, np.int64),
        _lines(producers),
    )


def _fact(value: object) -> int:
    number = _integer(value, _ABSENT)
    return number if abs(number) < _MOST_TIME else _ABSENT


def _lines(values: list[int]) -> Table:
    return np.array([value if 0 <= value <= _LARGEST else -1 for value in values], np.int64)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _integer(value: object, otherwise: Any) -> Any:
    usable = type(value) is int and -(2**63) < value < 2**63
    return value if usable else otherwise


def _tuples(value: object, limits: tuple[int | None, ...]) -> tuple[Table, int]:
    """Tuples of integers from 0 to each limit (any where it is None), and how many others."""
    width = len(limits)
    kept = []
    entries = _list(value)
    for entry in entries:
        if not isinstance(entry, list) or len(entry) < width:
            continue
        numbers = entry[:width]
        if all(
            _integer(number, None) is not None and (limit is None or 0 <= number <= limit)
            for number, limit in zip(numbers, limits, strict=True)
        ):
            kept.append(numbers)
    table = np.array(kept, np.int64).reshape(len(kept), width)
    return table, len(entries) - len(kept)


def _whole_part(data: bytes, error_at: int) -> tuple[Any, bool]:
    """The document made of the elements that are whole, and whether it only ends too early."""
    stack: list[bytes] = []
    good: tuple[int, tuple[bytes, ...]] | None = None
    for token in _TOKEN.finditer(data):
        symbol, end = token.group(), token.end()
        if symbol in {b"[", b"{"}:
            stack.append(b"]" if symbol == b"[" else b"}")
        elif symbol in {b"]", b"}"}:
            if not stack or stack.pop() != symbol:
                return _closed(data, good), False
        elif symbol == b",":
            end = token.start()
        else:
            continue
        if len(stack) <= _KEPT_DEPTH and end <= error_at and symbol not in {b"[", b"{"}:
            good = end, tuple(stack)
    return _closed(data, good), bool(stack) or not data.strip()


def _closed(data: bytes, good: tuple[int, tuple[bytes, ...]] | None) -> Any:
    """The value of `data` up to a good place, with everything closed that is open there."""
    if good is None:
        return {}
    end, open_containers = good
    try:
        return orjson.loads(data[:end] + b"".join(reversed(open_containers)))
    except orjson.JSONDecodeError:
        return {}
