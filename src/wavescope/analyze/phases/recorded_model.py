"""What recorded shapes show of a model: a head over the vocabulary that it embeds, after attention
that looks back only. Encoders lack the one or the other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.calls.call_inputs import RecordedInputs, recorded_inputs
from wavescope.model.trace import Trace

EMBEDDING = "aten::embedding"
PRODUCTS = ("aten::linear", "aten::mm", "aten::addmm", "aten::matmul")
ATTENTION = "aten::scaled_dot_product_attention"
CAUSAL_ARGUMENT = 5
"""Where attention is told that tokens see only those before them."""
MOST_LOOKED_AT = 4_096
"""Calls of one operator whose inputs are read, spread over all of them."""
FEWEST_WORDS = 1_000
MATRIX_AXES = 2


def is_causal_language_model(trace: Trace) -> bool:
    """Whether tokens are embedded, attended causally and turned into logits, by recorded shapes."""
    vocabularies = {
        sizes
        for inputs in _inputs(trace, EMBEDDING)
        for sizes in _matrices(inputs)[:1]
        if sizes[0] >= FEWEST_WORDS
    }
    if not vocabularies or not any(_is_causal(inputs) for inputs in _inputs(trace, ATTENTION)):
        return False
    heads = {sizes for rows, width in vocabularies for sizes in ((rows, width), (width, rows))}
    return any(
        heads.intersection(_matrices(inputs))
        for product in PRODUCTS
        for inputs in _inputs(trace, product)
    )


def _inputs(trace: Trace, operator: str) -> list[RecordedInputs]:
    """The inputs of the calls of an operator; of many calls of some of them."""
    code = trace.strings.find(operator)
    rows: npt.NDArray[np.int64] = np.flatnonzero(trace.calls["name"] == code)
    if code < 0 or not rows.size:
        return []
    return recorded_inputs(trace, rows[:: rows.size // MOST_LOOKED_AT + 1])


def _matrices(inputs: RecordedInputs) -> list[tuple[int, int]]:
    """The sizes of those arguments that are matrices."""
    found = []
    for sizes in inputs.dims:
        numbers = [size for size in sizes if isinstance(size, int)]
        if len(numbers) == len(sizes) == MATRIX_AXES:
            found.append((numbers[0], numbers[1]))
    return found


def _is_causal(inputs: RecordedInputs) -> bool:
    return inputs.scalars[CAUSAL_ARGUMENT : CAUSAL_ARGUMENT + 1] == ("True",)
