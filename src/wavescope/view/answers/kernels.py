"""Kernels of a whole trace with histograms of their durations, and every instance of one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_labels import NamedOps, named_ops
from wavescope.analyze.page import DurationHistograms, duration_histograms
from wavescope.analyze.summary import KernelSummaryOptions, OpChoice, kernel_summary, listed_rows
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import distinct, index_type, looked_up
from wavescope.errors import UsageError
from wavescope.model.op_kinds import OpKind
from wavescope.render.results.json_text import json_bytes
from wavescope.view.answers.question import Answer, Asked, meant_name
from wavescope.view.opening import TraceView
from wavescope.view.rows import op_row_id

MOST_HISTOGRAMS = 500
"""Kernels of the table, by time, that have a histogram in it."""
MOST_INSTANCES = 5_000
MARK_BINS = 2_000
"""Parts of the span for which instances are counted."""


def kernels(asked: Asked) -> Answer:
    """The table of `wavescope summary --all-ops`, and histograms of the first of them."""
    view = asked.view
    view.require_whole()
    return Answer(view.derived(_kernels))


def kernel(asked: Asked) -> Answer:
    """Instances of the kernel `name`: in order of time, or with `order=longest` the longest first.

    At most `MOST_INSTANCES`, from the number `from` on.
    """
    view, name = asked.view, asked.text("name")
    view.require_whole()
    first, order = asked.integer("from", 0), asked.text("order", "first")
    if order not in {"first", "longest"} or first < 0:
        raise UsageError("instances are in the order first or longest, from 0 on")
    with view.turn:
        listed = view.derived(_listed_ops)
        name = meant_name(name, listed.named.names)
        if name not in listed.named.names:
            raise UsageError("there is no such kernel")
        return Answer(json_bytes(_instances(view, listed, name, first, order)))


class _ListedOps(NamedTuple):
    """The ops that the table counts: their rows (None: all), and what each is called."""

    rows: Array | None
    named: NamedOps

    def durations_ns(self, view: TraceView) -> Array:
        lengths = view.trace.op_length_ns
        return lengths if self.rows is None else lengths[self.rows]

    def of_name(self, name: str) -> npt.NDArray[np.intp]:
        """The rows of the ops of one name."""
        found = np.flatnonzero(self.named.of_op == self.named.names.index(name))
        return found if self.rows is None else self.rows[found]


def _listed_ops(view: TraceView) -> _ListedOps:
    rows, named = listed_rows(view.trace, OpChoice.ALL), named_ops(view.trace)
    if rows is not None:
        named = named._replace(of_op=named.of_op[rows])
    return _ListedOps(rows, named)


def _kernels(view: TraceView) -> bytes:
    result = kernel_summary(view.trace, KernelSummaryOptions(ops=OpChoice.ALL))
    listed = view.derived(_listed_ops)
    names = [str(name) for name in result.table("kernels").column("name")[:MOST_HISTOGRAMS]]
    place = {name: number for number, name in enumerate(names)}
    count = len(names) + 1
    of_name = np.array(
        [place.get(name, len(names)) for name in listed.named.names], index_type(count)
    )
    groups = looked_up(of_name, listed.named.of_op) if len(of_name) else of_name
    found = duration_histograms(groups, listed.durations_ns(view), count)
    shown = _histogram(found._replace(counts=found.counts[:-1]))
    return json_bytes({**result.to_json(), "histograms": {"names": names, **shown}})


def _histogram(found: DurationHistograms) -> dict[str, Any]:
    return {"edges_ns": found.edges_ns(), "counts": found.counts.tolist()}


def _instances(
    view: TraceView, listed: _ListedOps, name: str, first: int, order: str
) -> dict[str, Any]:
    trace, loaded = view.trace, view.loaded
    rows = listed.of_name(name)
    starts, lengths = trace.ops["start_ns"][rows], trace.op_length_ns[rows]
    by_time = np.argsort(starts, kind="stable")
    if order == "longest":
        ordered = by_time[np.argsort(-lengths[by_time].astype(np.int64), kind="stable")]
    else:
        ordered = by_time
    shown = ordered[first : first + MOST_INSTANCES]
    offsets = starts - loaded.first_ns
    bins = np.minimum(offsets.astype(np.float64) * (MARK_BINS / loaded.span_ns), MARK_BINS - 1)
    histogram = duration_histograms(np.zeros(len(rows), np.uint16), lengths, 1)
    return {
        "name": name,
        "total": len(rows),
        "total_ns": sum(lengths.tolist()),
        "from": first,
        "order": order,
        "rows": rows[shown].tolist(),
        "start": offsets[shown].tolist(),
        "duration": lengths[shown].tolist(),
        "rowId": _row_ids(view, rows[shown]),
        "histogram": _histogram(histogram),
        "bins": np.bincount(bins.astype(np.int64), minlength=MARK_BINS).tolist(),
        "codes": _drawn_codes(view, rows),
    }


def _drawn_codes(view: TraceView, rows: Array) -> list[int]:
    """The codes by which lanes know these ops: of their names, or of the types of those without."""
    trace = view.trace
    names, types = trace.ops["name"][rows], trace.ops["type"][rows]
    codes = distinct(names)[0]
    unnamed = [code for code in codes if not trace.strings[code]]
    of_types = distinct(types[np.isin(names, unnamed)])[0] if unnamed else []
    return sorted({*(code for code in codes if code not in unnamed), *of_types})


def _row_ids(view: TraceView, rows: Array) -> list[str]:
    ops, kinds = view.trace.ops, view.trace.op_kind
    return [
        op_row_id(gpu, queue, OpKind(kind))
        for gpu, queue, kind in zip(
            ops["gpu"][rows].tolist(),
            ops["queue"][rows].tolist(),
            kinds[rows].tolist(),
            strict=True,
        )
    ]
