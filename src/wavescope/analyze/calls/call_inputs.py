"""What a call was given, as PyTorch's profiler records it with `record_shapes`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from wavescope.arrays.coded_columns import different_rows
from wavescope.model.trace import Trace

Dims = tuple[int, ...]
"""The sizes of a tensor along its axes; empty for a number or nothing."""

_PARTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
_HIERARCHY = "Module Hierarchy"
_LARGEST = 1 << 62
_WHOLE_NUMBER = re.compile(r'": ?(?:0|[1-9][0-9]{0,18})')
"""A member of an object that is a number, as ids are and inputs never; where no text is escaped."""
_READ_AT_ONCE = 1 << 15


@dataclass(frozen=True)
class RecordedInputs:
    """The arguments of one call in order; each part is empty where the trace does not have it."""

    dims: tuple[Dims | tuple[Dims, ...], ...] = ()
    """Per argument the sizes of the tensor, or of each tensor of a list."""
    types: tuple[str, ...] = ()
    strides: tuple[Dims | tuple[Dims, ...], ...] = ()
    """As `dims`, in elements."""
    scalars: tuple[str, ...] = ()
    """The values of numbers and lists of numbers as text."""


class CallRecord(NamedTuple):
    """What is recorded with a call beside its ids."""

    inputs: RecordedInputs
    module_hierarchy: str


def recorded_inputs(trace: Trace, call_rows: npt.ArrayLike) -> list[RecordedInputs]:
    """The arguments of the calls in these rows; equal ones are one object."""
    records, place = call_records(trace, call_rows)
    return [records[number].inputs for number in place.tolist()]


def call_records(
    trace: Trace, call_rows: npt.ArrayLike
) -> tuple[Sequence[CallRecord], npt.NDArray[np.int32]]:
    """The different records of calls that were asked for so far, and for each row its place."""
    known = trace.derived(_KnownRecords)
    return known.records, known.places(np.asarray(call_rows, np.int64))


class _KnownRecords:
    """What is recorded with calls, read when it is first asked for: several analyses ask."""

    def __init__(self, trace: Trace) -> None:
        self.records: list[CallRecord] = []
        self._calls = trace.calls
        self._place_of_call = np.full(len(trace.calls), -1, np.int32)
        self._place_of_text: dict[str, int] = {}
        self._place_of_record: dict[CallRecord, int] = {}
        self._inputs: dict[RecordedInputs, RecordedInputs] = {}

    def places(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """The places among the records of these calls."""
        unread = rows[self._place_of_call[rows] < 0]
        unread = different_rows(unread, len(self._place_of_call))
        for first in range(0, len(unread), _READ_AT_ONCE):
            part = unread[first : first + _READ_AT_ONCE]
            texts = self._calls.take(part).strings("args")
            self._place_of_call[part] = [self._place(text) for text in texts]
        return self._place_of_call[rows]

    def _place(self, text: str) -> int:
        # Ids of the call aside, few calls differ: each combination is looked at once.
        without_ids = text if "\\" in text else _WHOLE_NUMBER.sub("", text)
        place = self._place_of_text.get(without_ids)
        if place is None:
            record = self._record(_json_object(text))
            place = self._place_of_record.setdefault(record, len(self.records))
            self._place_of_text[without_ids] = place
            if place == len(self.records):
                self.records.append(record)
        return place

    def _record(self, document: dict[str, Any]) -> CallRecord:
        inputs = _inputs_of(document)
        return CallRecord(self._inputs.setdefault(inputs, inputs), _text(document.get(_HIERARCHY)))


def call_arguments(
    trace: Trace, call_rows: npt.ArrayLike
) -> tuple[list[dict[str, Any]], Sequence[int]]:
    """The JSON arguments of the distinct calls, and for each row the place of its own.

    Arguments that are no JSON object count as none.
    """
    rows = np.asarray(call_rows, np.int64)
    if not len(rows):
        return [], []
    distinct_rows, place = np.unique(rows, return_inverse=True)
    texts = trace.calls.take(distinct_rows).strings("args")
    return [_json_object(text) for text in texts], place.tolist()


def _json_object(text: str) -> dict[str, Any]:
    try:
        document = orjson.loads(text) if text else {}
    except orjson.JSONDecodeError:
        return {}
    return document if isinstance(document, dict) else {}


def _inputs_of(document: dict[str, Any]) -> RecordedInputs:
    parts = [document.get(name) for name in _PARTS]
    dims, types, strides, scalars = (part if isinstance(part, list) else [] for part in parts)
    return RecordedInputs(
        tuple(map(_dims, dims)),
        tuple(map(_text, types)),
        tuple(map(_dims, strides)),
        tuple(map(_text, scalars)),
    )


def _dims(value: object) -> Dims | tuple[Dims, ...]:
    """Sizes, or a list of sizes; empty when it is anything else."""
    if not isinstance(value, list):
        return ()
    if value and all(isinstance(each, list) for each in value):
        return tuple(_sizes(each) for each in value)
    return _sizes(value)


def _sizes(value: list[object]) -> Dims:
    sizes = tuple(each for each in value if type(each) is int and 0 <= each < _LARGEST)
    return sizes if len(sizes) == len(value) else ()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
