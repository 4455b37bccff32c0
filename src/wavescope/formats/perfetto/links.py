"""Links from flows: a flow id that a call and an op share says that the call launched the op."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import LINKS

Int64s = npt.NDArray[np.int64]

_ALWAYS_DENSE = 1 << 20
_LARGEST_INT32 = (1 << 31) - 1


class FlowLinks:
    """Adds links to a trace as soon as both of their ends are known."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self._ops = _OpsByFlow()
        self._waiting: list[tuple[Int64s, Int64s]] = []

    def add_ops(self, flows: Int64s, op_ids: Int64s) -> None:
        """Ops at which flows arrive."""
        self._ops.add(flows, op_ids)

    def add_calls(self, flows: Int64s, call_ids: Int64s) -> None:
        """Calls at which flows start; our own files have them behind the ops."""
        missing = self._link(flows, call_ids)
        if len(missing):
            self._waiting.append((flows[missing], call_ids[missing]))

    def finish(self) -> None:
        """Link calls whose ops came later; flows that lead to no op are no links."""
        for flows, call_ids in self._waiting:
            self._link(flows, call_ids)

    def _link(self, flows: Int64s, call_ids: Int64s) -> npt.NDArray[np.intp]:
        op_ids = self._ops.find(flows)
        found = np.flatnonzero(op_ids)
        if len(found):
            self._builder.add(LINKS, {"call": call_ids[found], "op": op_ids[found]})
        return np.flatnonzero(op_ids == 0)


class _OpsByFlow:
    """Op ids by flow id: an array where flow ids are nearly consecutive, else a sorted list."""

    def __init__(self) -> None:
        self._count = 0
        self._dense = np.zeros(0, np.int32)
        self._sparse: list[tuple[Int64s, Int64s]] = []

    def add(self, flows: Int64s, op_ids: Int64s) -> None:
        if not len(flows):
            return
        self._count += len(flows)
        largest = int(flows.max())
        limit = min(4 * self._count + _ALWAYS_DENSE, _LARGEST_INT32)
        if int(flows.min()) < 0 or largest > limit or int(op_ids[-1]) > _LARGEST_INT32:
            self._sparse.append((flows, op_ids))
            return
        if largest >= len(self._dense):
            grown = np.zeros(max(largest + 1, len(self._dense) * 5 // 4), np.int32)
            grown[: len(self._dense)] = self._dense
            self._dense = grown
        self._dense[flows] = op_ids

    def find(self, flows: Int64s) -> Int64s:
        """The op of each flow, 0 where none is known."""
        op_ids = np.zeros(len(flows), np.int64)
        inside = np.flatnonzero((flows >= 0) & (flows < len(self._dense)))
        op_ids[inside] = self._dense[flows[inside]]
        if self._sparse:
            known, ops = self._sorted()
            at = np.minimum(np.searchsorted(known, flows), len(known) - 1)
            op_ids = np.where((op_ids == 0) & (known[at] == flows), ops[at], op_ids)
        return op_ids

    def _sorted(self) -> tuple[Int64s, Int64s]:
        if len(self._sparse) > 1:
            flows, ops = (np.concatenate(parts) for parts in zip(*self._sparse, strict=True))
            order = np.argsort(flows, kind="stable")
            self._sparse = [(flows[order], ops[order])]
        return self._sparse[0]
