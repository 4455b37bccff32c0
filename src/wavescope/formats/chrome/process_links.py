"""Which process launched the ops of each GPU, in files that hold several.

Each process numbers its launches from 1, so that the numbers of several say nothing by themselves.
A GPU's ops are of the process that launched nearly all of them before they began, if no other
process could have launched half of them; else it is not known which process it was.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.partitioned_rows import PartitionedRows, Records
from wavescope.formats.chrome.categories import ROLES, Role
from wavescope.formats.chrome.links import LINKS_BYTES, has_key
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import CALLS, OPS, UNKNOWN

SHARED_NUMBERS = "launches have the same numbers as those of another process"
_PARTITIONS = 64
_NEARLY_ALL, _HALF = 0.9, 0.5


class ProcessOfOps:
    """The process that launched each op, as far as it is known."""

    def __init__(self, builder: TraceBuilder, ops: TraceBuilder) -> None:
        self._gpu_of_op = np.concatenate(
            [np.empty(0, np.int32), *(batch["gpu"] for batch in ops.batches(OPS, ("gpu",)))]
        )
        with _launches(builder) as launches, _numbered_ops(ops) as numbered:
            self.shared_count, self._process_of_gpu = _chosen(launches, numbered)

    def divided(
        self, calls: Records, ops: Records, processes: Array
    ) -> Iterator[tuple[Records, Records]]:
        """Calls and ops of one process after the other; `processes` says what the calls' mean."""
        if not self.shared_count:
            yield calls, ops
            return
        of_call = processes[calls["process"]]
        of_op = self._process_of_gpu[self._gpu_of_op[ops["op"] - 1]]
        for process in np.unique(of_op[of_op != UNKNOWN]).tolist():
            yield calls[of_call == process], ops[of_op == process]


def _launches(builder: TraceBuilder) -> PartitionedRows:
    rows = PartitionedRows(
        [("key", np.int64), ("start_ns", np.int64), ("process", np.int32)], LINKS_BYTES
    )
    strings = builder.strings
    codes = [strings.find(name) for name, role in ROLES.items() if role is Role.LAUNCH_CALL]
    for batch in builder.batches(CALLS, ("correlation", "start_ns", "process", "category")):
        key = batch["correlation"]
        usable = has_key(key) & np.isin(batch["category"], codes) & (batch["process"] != UNKNOWN)
        columns = {name: batch[name][usable] for name in ("start_ns", "process")}
        rows.add(key[usable] % _PARTITIONS, key=key[usable], **columns)
    return rows


def _numbered_ops(ops: TraceBuilder) -> PartitionedRows:
    rows = PartitionedRows(
        [("key", np.int64), ("start_ns", np.int64), ("gpu", np.int32)], LINKS_BYTES
    )
    for batch in ops.batches(OPS, ("correlation", "start_ns", "gpu")):
        usable = has_key(batch["correlation"])
        key, start_ns, gpu = (batch[name][usable] for name in ("correlation", "start_ns", "gpu"))
        rows.add(key % _PARTITIONS, key=key, start_ns=start_ns, gpu=gpu)
    return rows


def _chosen(launches: PartitionedRows, ops: PartitionedRows) -> tuple[int, npt.NDArray[np.int32]]:
    """How many launches share their number with another process, and by GPU its process; the last
    is that of ops without a GPU."""
    shared, fits, totals = 0, dict[tuple[int, int], int](), dict[int, int]()
    for number in ops.numbers():
        calls, some = launches.partition(number), ops.partition(number)
        shared += _shared_count(calls)
        _count(totals, some["gpu"])
        for process in np.unique(calls["process"]).tolist():
            fitting = some["gpu"][_may_launch(calls[calls["process"] == process], some)]
            for gpu, count in zip(*np.unique(fitting, return_counts=True), strict=True):
                fits[int(gpu), process] = fits.get((int(gpu), process), 0) + int(count)
    chosen = np.full(max(totals, default=-1) + 2, UNKNOWN, np.int32)
    for gpu, total in totals.items():
        found = sorted((n, process) for (of, process), n in fits.items() if of == gpu)[::-1]
        if found and found[0][0] >= _NEARLY_ALL * total:
            is_alone = len(found) == 1 or found[1][0] < _HALF * total
            chosen[gpu] = found[0][1] if is_alone else UNKNOWN
    return shared, chosen


def _count(totals: dict[int, int], gpus: Array) -> None:
    for gpu, count in zip(*np.unique(gpus, return_counts=True), strict=True):
        totals[int(gpu)] = totals.get(int(gpu), 0) + int(count)


def _shared_count(calls: Records) -> int:
    different = np.unique(calls[["key", "process"]])
    _, counts = np.unique(different["key"], return_counts=True)
    return int(counts[counts > 1].sum())


def _may_launch(calls: Records, ops: Records) -> npt.NDArray[np.bool_]:
    """Which ops have a number of the calls, the first of which began before them."""
    calls = calls[np.lexsort((calls["start_ns"], calls["key"]))]
    place = np.minimum(np.searchsorted(calls["key"], ops["key"]), len(calls) - 1)
    same = calls["key"][place] == ops["key"]
    may: npt.NDArray[np.bool_] = same & (calls["start_ns"][place] <= ops["start_ns"])
    return may
