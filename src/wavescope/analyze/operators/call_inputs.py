"""What a call was given, as PyTorch's profiler records it with `record_shapes`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from wavescope.model.trace import Trace

Dims = tuple[int, ...]
"""The sizes of a tensor along its axes; empty for a number or nothing."""

_PARTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
_LARGEST = 1 << 62


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


NOTHING_RECORDED = RecordedInputs()


def recorded_inputs(trace: Trace, call_rows: npt.ArrayLike) -> list[RecordedInputs]:
    """The arguments of the calls in these rows; equal ones are one object."""
    known: dict[bytes, RecordedInputs] = {}
    documents, place = call_arguments(trace, call_rows)
    found = [_inputs_of(document, known) for document in documents]
    return [found[index] for index in place]


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


def _inputs_of(document: dict[str, Any], known: dict[bytes, RecordedInputs]) -> RecordedInputs:
    parts = [document.get(name) for name in _PARTS]
    if parts == [None] * len(_PARTS):
        return NOTHING_RECORDED
    # Ids of the call aside, few calls differ: each combination is looked at once.
    key = orjson.dumps(parts)
    if key not in known:
        dims, types, strides, scalars = (part if isinstance(part, list) else [] for part in parts)
        known[key] = RecordedInputs(
            tuple(map(_dims, dims)),
            tuple(map(_text, types)),
            tuple(map(_dims, strides)),
            tuple(map(_text, scalars)),
        )
    return known[key]


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
