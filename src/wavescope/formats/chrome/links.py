"""Which call caused which op, for files of any size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays.partitioned_rows import PartitionedRows
from wavescope.closing import Closing
from wavescope.model.columns import UNKNOWN

_PREFERENCE_BITS = 2
_KEY_LIMIT = 1 << (62 - _PREFERENCE_BITS)
_JOIN_PARTITIONS = 64
_OPS_PER_PARTITION_BITS = 18
LINKS_BYTES = 4 << 20
CAUSE_COLUMNS: list[tuple[str, type[np.generic]]] = [
    ("call", np.int32),
    ("name", np.int32),
    ("process", np.int32),
    ("thread", np.int64),
]

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


class OpCauses(NamedTuple):
    """Of each op of a batch the call that caused it, and what the op takes over from that call."""

    call: Int32s
    """UNKNOWN where no call is known; the other columns then mean nothing."""
    name: Int32s
    process: Int32s
    thread: Int64s


class Links(Closing):
    """Pairs of call and op ids, with what the op takes over from the call."""

    def __init__(self) -> None:
        self._rows = PartitionedRows(
            [("op", np.int32), *CAUSE_COLUMNS], memory_limit_bytes=LINKS_BYTES
        )

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, op: Int32s, causes: OpCauses) -> None:
        """Ops, each at most once, with their causes."""
        self._rows.add(op_partition(op), op=op, **causes._asdict())

    def of_ops(self, ids: Int64s) -> OpCauses:
        """The causes of the ops `ids`, which are in order."""
        first, last = (int(each) >> _OPS_PER_PARTITION_BITS for each in (ids[0], ids[-1]))
        near = np.concatenate([self._rows.partition(each) for each in range(first, last + 1)])
        if not len(near):
            unknown = np.full(len(ids), UNKNOWN, np.int32)
            return OpCauses(unknown, unknown, unknown, unknown.astype(np.int64))
        near = near[np.argsort(near["op"], kind="stable")]
        place = np.searchsorted(near["op"], ids.astype(np.int32))
        place[place == len(near)] = 0
        found = near[place]
        call = np.where(found["op"] == ids, found["call"], UNKNOWN)
        return OpCauses(call, found["name"], found["process"], found["thread"])

    def close(self) -> None:
        self._rows.close()


class KeyedLinks(Closing):
    """Collects calls and ops by a number that both carry; joins them once all are there."""

    def __init__(self) -> None:
        self._calls = PartitionedRows(
            [("key", np.int64), *CAUSE_COLUMNS], memory_limit_bytes=LINKS_BYTES
        )
        self._ops = PartitionedRows(
            [("key", np.int64), ("op", np.int32)], memory_limit_bytes=LINKS_BYTES
        )

    def add_calls(self, key: Int64s, preference: npt.NDArray[np.int8], causes: OpCauses) -> None:
        """Calls; of several with one key that of the smallest preference counts.

        Name, process and thread are codes of the file's own tables.
        """
        usable = has_key(key)
        key, preference = key[usable], preference[usable]
        columns = {name: values[usable] for name, values in causes._asdict().items()}
        self._calls.add(key % _JOIN_PARTITIONS, key=key << _PREFERENCE_BITS | preference, **columns)

    def add_ops(self, key: Int64s, op: Int64s) -> None:
        """Ops, each at most once."""
        usable = has_key(key)
        self._ops.add(key[usable] % _JOIN_PARTITIONS, key=key[usable], op=op[usable])

    def join(self, links: Links, texts: Int32s, processes: Int32s, threads: Int64s) -> None:
        """Add every op with the call that caused it; the arrays say what the calls' codes mean."""
        for number in self._ops.numbers():
            calls, ops = self._calls.partition(number), self._ops.partition(number)
            if not len(calls):
                continue
            calls = calls[np.argsort(calls["key"], kind="stable")]
            place = np.searchsorted(calls["key"], ops["key"] << _PREFERENCE_BITS)
            place[place == len(calls)] = 0
            found = calls["key"][place] >> _PREFERENCE_BITS == ops["key"]
            chosen = calls[place[found]]
            causes = OpCauses(
                chosen["call"],
                texts[chosen["name"]],
                processes[chosen["process"]],
                threads[chosen["thread"]],
            )
            links.add(ops["op"][found], causes)

    def close(self) -> None:
        self._calls.close()
        self._ops.close()


def op_partition(op: Int32s) -> Int32s:
    """The partition that an op is in: ops of near ids are together."""
    return op >> _OPS_PER_PARTITION_BITS


def has_key(key: Int64s) -> npt.NDArray[np.bool_]:
    """Rows with a usable number: profilers count from 1."""
    usable: npt.NDArray[np.bool_] = (key > 0) & (key < _KEY_LIMIT)
    return usable
