"""Which process launched the ops of each GPU, in files that hold several.

Each process numbers its launches from 1, so that the numbers of several say nothing by themselves.
A GPU's ops are of the process that launched nearly all of them before they began, if no other
process could have launched half of them; else it is not known which process it was.
"""

from __future__ import annotations

from collections import Counter
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
_MOST_PROCESSES = 1_024
"""Of more, as no machine has, it is not asked which launched what."""


class ProcessOfOps:
    """The process that launched each op, as far as it is known."""

    def __init__(self, builder: TraceBuilder, ops: TraceBuilder) -> None:
        gpus = [batch["gpu"] for batch in ops.batches(OPS, ("gpu",))]
        self._gpus, self._place_of_op = np.unique(
            np.concatenate([np.empty(0, np.int32), *gpus]), return_inverse=True
        )
        with _launches(builder) as launches, _numbered_ops(ops) as numbered:
            self.shared_count = sum(
                _shared_count(launches.partition(number)) for number in launches.numbers()
            )
            chosen = _process_of_gpu(launches, numbered) if self.shared_count else {}
        self._process_of_place = np.array(
            [chosen.get(gpu, UNKNOWN) for gpu in self._gpus.tolist()], np.int32
        )

    def divided(
        self, calls: Records, ops: Records, processes: Array
    ) -> Iterator[tuple[Records, Records]]:
        """Calls and ops of one process after the other; `processes` says what the calls' mean."""
        if not self.shared_count:
            yield calls, ops
            return
        of_call = processes[calls["process"]]
        of_op = self._process_of_place[self._place_of_op[ops["op"] - 1]]
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


def _process_of_gpu(launches: PartitionedRows, ops: PartitionedRows) -> dict[int, int]:
    """The process of each GPU of which it is known."""
    totals: Counter[int] = Counter()
    fits: dict[int, Counter[int]] = {}
    processes: set[int] = set()
    for number in ops.numbers():
        calls, some = launches.partition(number), ops.partition(number)
        totals.update(_counts(some["gpu"]))
        here = np.unique(calls["process"]).tolist()
        processes.update(here)
        if len(processes) > _MOST_PROCESSES:
            return {}
        for process in here:
            fitting = _may_launch(calls[calls["process"] == process], some)
            for gpu, count in _counts(some["gpu"][fitting]).items():
                fits.setdefault(gpu, Counter())[process] += count
    return {
        gpu: found.most_common(1)[0][0]
        for gpu, found in fits.items()
        if _is_one(found, totals[gpu])
    }


def _is_one(fits: Counter[int], total: int) -> bool:
    """Whether one process launched nearly all ops of a GPU, and no other can have half of them."""
    counts = sorted(fits.values(), reverse=True)
    return counts[0] >= _NEARLY_ALL * total and (len(counts) == 1 or counts[1] < _HALF * total)


def _counts(values: Array) -> dict[int, int]:
    found, counts = np.unique(values, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


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
