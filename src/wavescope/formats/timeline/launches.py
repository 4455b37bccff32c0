"""Which call launched which op, for traces of any size.

Links are dealt into buckets by call id and looked up bucket by bucket, so that memory stays small
as long as calls that are near in time have near ids.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from wavescope.arrays.coded_columns import different_values
from wavescope.arrays.partitioned_rows import PartitionedRows
from wavescope.formats.id_index import IdIndex
from wavescope.model.columns import CALLS, LINKS, OPS
from wavescope.model.source import TraceSource

Int64s = npt.NDArray[np.int64]

_BUCKETS = 256
_CACHED_BUCKETS = 4
_PAIRS_BYTES = 8 << 20
_NO_SERIES = -1


class Launches:
    """Links between existing calls and ops; with `unique` only the first of each op."""

    def __init__(self, source: TraceSource, *, unique: bool) -> None:
        self._ops = IdIndex(source, OPS)
        self._calls = IdIndex(source, CALLS)
        self._linked = np.zeros(self._ops.size, np.bool_)
        self._counted = np.zeros(self._ops.size, np.bool_)
        self._series = np.full(self._ops.size, _NO_SERIES, np.int16)
        self._buckets = _LinkBuckets(self._calls.size)
        self.further_links = 0
        """Links that `unique` leaves out."""
        for batch in source.batches(LINKS, ("call", "op")):
            self._add(batch["call"], batch["op"], unique)

    def close(self) -> None:
        """Release the temporary file."""
        self._buckets.close()

    def is_linked(self, op_ids: Int64s) -> npt.NDArray[np.bool_]:
        """Whether each op (of this trace) was launched by a known call."""
        return self._linked[self._ops.positions(op_ids)]

    def note_series(self, op_ids: Int64s, series: npt.NDArray[np.int32]) -> None:
        """Remember which counter series each op belongs to."""
        self._series[self._ops.positions(op_ids)] = series

    def ops_of(self, call_ids: Int64s) -> tuple[Int64s, Int64s]:
        """The ids of the ops that the calls launched, as offsets per call and ids."""
        counts, op_ids = self._buckets.find(self._calls.positions(call_ids))
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts))), op_ids

    def first_launches(
        self, offsets: Int64s, op_ids: Int64s, start_ns: Int64s
    ) -> tuple[npt.NDArray[np.int32], Int64s]:
        """Of what `ops_of` gave: the series of each op not returned before, and its launch time."""
        positions = self._ops.positions(op_ids)
        times = np.repeat(start_ns, np.diff(offsets))
        firsts = np.zeros(len(positions), np.bool_)
        firsts[np.unique(positions, return_index=True)[1]] = True
        firsts &= ~self._counted[positions]
        self._counted[positions] = True
        return self._series[positions[firsts]].astype(np.int32), times[firsts]

    def _add(self, calls: Int64s, ops: Int64s, unique: bool) -> None:
        call_positions, op_positions = self._calls.positions(calls), self._ops.positions(ops)
        known = (call_positions >= 0) & (op_positions >= 0)
        call_positions, op_positions, ops = call_positions[known], op_positions[known], ops[known]
        if unique:
            fresh = np.zeros(len(ops), np.bool_)
            fresh[np.unique(op_positions, return_index=True)[1]] = True
            fresh &= ~self._linked[op_positions]
            self.further_links += len(ops) - int(fresh.sum())
            call_positions, op_positions = call_positions[fresh], op_positions[fresh]
            ops = ops[fresh]
        self._linked[op_positions] = True
        self._buckets.add(call_positions, ops)


class _LinkBuckets:
    """Pairs (call position, op id) by ranges of call positions."""

    def __init__(self, call_count: int) -> None:
        self._width = call_count // _BUCKETS + 1
        self._pairs = PartitionedRows(
            [("call", np.int64), ("op", np.int64)], memory_limit_bytes=_PAIRS_BYTES
        )
        self._cache: OrderedDict[int, tuple[Int64s, Int64s]] = OrderedDict()

    def close(self) -> None:
        self._pairs.close()

    def add(self, call_positions: Int64s, op_ids: Int64s) -> None:
        self._pairs.add(call_positions // self._width, call=call_positions, op=op_ids)

    def find(self, call_positions: Int64s) -> tuple[Int64s, Int64s]:
        """How many ops each call has, and their ids call by call."""
        counts = np.zeros(len(call_positions), np.int64)
        found: list[tuple[Int64s, Int64s]] = []
        buckets = call_positions // self._width
        for bucket in different_values(buckets).tolist():
            rows = np.flatnonzero(buckets == bucket)
            calls, ops = self._bucket(bucket)
            first = np.searchsorted(calls, call_positions[rows], side="left")
            counts[rows] = np.searchsorted(calls, call_positions[rows], side="right") - first
            mine = counts[rows]
            within = np.arange(mine.sum()) - np.repeat(np.cumsum(mine) - mine, mine)
            found.append((np.repeat(rows, mine), ops[np.repeat(first, mine) + within]))
        if not found:
            return counts, np.empty(0, np.int64)
        rows_of, op_ids = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return counts, op_ids[np.argsort(rows_of, kind="stable")]

    def _bucket(self, bucket: int) -> tuple[Int64s, Int64s]:
        if bucket in self._cache:
            self._cache.move_to_end(bucket)
            return self._cache[bucket]
        pairs = self._pairs.partition(bucket)
        pairs = pairs[np.argsort(pairs["call"], kind="stable")]
        columns = np.ascontiguousarray(pairs["call"]), np.ascontiguousarray(pairs["op"])
        self._cache[bucket] = columns
        if len(self._cache) > _CACHED_BUCKETS:
            self._cache.popitem(last=False)
        return columns
