"""Attention that is computed in parts: a batched product, a softmax, a batched product.

The parts follow each other on a queue with only elementwise kernels and copies between them. A
softmax after which something is chosen (a router's, a sampler's) is none of it, nor is one of
logarithms, or one that the host or an optimizer parts from the next product: these end a model.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.findings.kernel_order import KernelOrder, kernel_order
from wavescope.analyze.work import uses_of_operators
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import ATTENTION, COPY_FILL, ELEMENTWISE, GEMM, MOE, SAMPLING

Rows = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

_SOFTMAX = "softmax"
_MOST_BETWEEN = 8
"""Kernels between the products: scale, mask, cast, dropout, layout."""
_UNBATCHED = frozenset(
    ("aten::mm", "aten::addmm", "aten::linear", "aten::_addmm_activation", "aten::mv")
)
"""Products with a matrix of weights: what is between such is no attention."""
_LONGEST_MATCHED = 4_096
_OF_LOGARITHMS = re.compile(
    r"log_?softmax|softmax_warp_(?:forward|backward)<[^<>]*, \d+, true, ", re.IGNORECASE
)
_OPTIMIZER = re.compile(
    r"multi_?tensor_?apply|optimizer|adam|adagrad|lamb(?!da)|sgd", re.IGNORECASE
)
_HOST_COPIES = ("CopyHostToDevice", "CopyDeviceToHost")


@dataclass(frozen=True)
class AttentionParts:
    """Which ops are parts of attentions, and what the parts take."""

    is_part: Marks
    """For each op of the trace."""
    product_rows: Rows
    count: int
    softmax_ns: int
    products_ns: int
    between_ns: int
    longest: tuple[int, int] | None = None
    """First and last op of the attention that took longest."""

    @property
    def time_ns(self) -> int:
        return self.softmax_ns + self.products_ns + self.between_ns


def attention_parts(trace: Trace) -> AttentionParts:
    """The parts of all attentions of `trace`; kept by `trace.derived`."""
    softmax = _softmax_kernels(trace)
    if softmax is None:
        nothing = np.zeros(len(trace.ops), np.bool_)
        return AttentionParts(nothing, np.empty(0, np.int64), 0, 0, 0, 0)
    order = trace.derived(kernel_order)
    is_softmax = softmax[order.rows]
    before, after = _products_around(trace, order, is_softmax)
    inside = _covered(len(order.rows), before, after)
    is_product = np.zeros(len(order.rows), np.bool_)
    is_product[before], is_product[after] = True, True
    is_part = np.zeros(len(trace.ops), np.bool_)
    is_part[order.rows[inside]] = True
    softmax_ns = int(order.time_ns[inside & is_softmax].sum(dtype=np.int64))
    products_ns = int(order.time_ns[is_product].sum(dtype=np.int64))
    between_ns = int(order.time_ns[inside].sum(dtype=np.int64)) - softmax_ns - products_ns
    return AttentionParts(
        is_part,
        order.rows[is_product],
        len(before),
        softmax_ns,
        products_ns,
        between_ns,
        _longest(trace, order.rows[before], order.rows[after]),
    )


def _longest(trace: Trace, firsts: Rows, lasts: Rows) -> tuple[int, int] | None:
    if not len(firsts):
        return None
    place = int(np.argmax(trace.ops["end_ns"][lasts] - trace.ops["start_ns"][firsts]))
    return int(firsts[place]), int(lasts[place])


def _softmax_kernels(trace: Trace) -> Marks | None:
    """For each op whether it is a softmax by its name; None where none is."""
    return _named(
        trace, lambda name: _SOFTMAX in name.casefold() and not _OF_LOGARITHMS.search(name)
    )


def _named(trace: Trace, wanted: Callable[[str], object]) -> Marks | None:
    """For each op whether its name is wanted; None where none is."""
    codes = [
        code
        for code in trace.ops.code_counts("name").codes.tolist()
        if code >= 0 and wanted(trace.strings[code][:_LONGEST_MATCHED])
    ]
    return np.isin(trace.ops["name"], codes) if codes else None


def _ends_a_model(trace: Trace) -> Marks:
    """For each op whether it moves data from or to the host, or belongs to an optimizer."""
    types = [trace.strings.find(name) for name in _HOST_COPIES]
    ends: Marks = np.isin(trace.ops["type"], [code for code in types if code >= 0])
    optimizer = _named(trace, _OPTIMIZER.search)
    return ends if optimizer is None else ends | optimizer


def _products_around(trace: Trace, order: KernelOrder, is_softmax: Marks) -> tuple[Rows, Rows]:
    """For each softmax of an attention the places of the products before and after it."""
    is_softmax = is_softmax & ~order.is_category(ATTENTION, MOE, SAMPLING)
    is_between = order.is_category(ELEMENTWISE, COPY_FILL) & ~is_softmax
    is_between &= ~_ends_a_model(trace)[order.rows]
    is_product = order.is_category(GEMM) & ~is_softmax & ~_is_unbatched(trace, order.rows)
    places = np.arange(len(order.rows))
    stops = np.where(is_between, -1, places)
    last_stop = np.maximum.accumulate(stops)
    stops_after = np.where(is_between, len(places), places)
    next_stop = np.minimum.accumulate(stops_after[::-1])[::-1]
    softmax = np.flatnonzero(is_softmax)
    softmax = softmax[(softmax > 0) & (softmax < len(places) - 1)]
    before, after = last_stop[softmax - 1], next_stop[softmax + 1]
    fits = (before >= 0) & (after < len(places))
    softmax, before, after = softmax[fits], before[fits], after[fits]
    fits = is_product[before] & is_product[after] & (after - before - 2 <= _MOST_BETWEEN)
    fits &= order.lane[before] == order.lane[after]
    return before[fits], after[fits]


def _is_unbatched(trace: Trace, rows: Rows) -> Marks:
    found = trace.derived(uses_of_operators)
    unbatched = [place for place, use in enumerate(found.uses) if use.operator in _UNBATCHED]
    return np.isin(found.use_of_op[rows], unbatched)


def _covered(count: int, first: Rows, last: Rows) -> Marks:
    """The places from any `first` to its `last`."""
    steps = np.zeros(count + 1, np.int64)
    np.add.at(steps, first, 1)
    np.add.at(steps, last + 1, -1)
    return np.cumsum(steps[:-1]) > 0
