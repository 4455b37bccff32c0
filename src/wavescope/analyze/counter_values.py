"""What hardware counters of a trace counted, kernel by kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_labels import NO_NAME
from wavescope.analyze.ops.op_links import rows_of_ids
from wavescope.arrays.coded_columns import DistinctRows
from wavescope.model.counters import counter_name
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of
from wavescope.model.trace import Trace

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Counted:
    """The values of a counter, one for each launch of a kernel that was counted."""

    kernel: str
    counter: str
    values: Values

    @property
    def total(self) -> float:
        return float(self.values.sum())


def counter_tables(trace: Trace) -> list[ResultTable]:
    """Each counter by kernel; where instances of a block are apart, first how even they are."""
    counted = _counted(trace)
    instances = _instances(counted)
    tables = [table_of("counters", "Counters", _COLUMNS, counted)]
    if instances:
        title = "Hardware instances"
        tables.insert(0, table_of("counter_instances", title, _INSTANCE_COLUMNS, instances))
    return tables


_COLUMNS: tuple[ColumnOf[Counted], ...] = (
    ResultColumn("kernel", "Kernel", Unit.NAME, "whole demangled name").of(lambda row: row.kernel),
    ResultColumn("counter", "Counter", Unit.NAME, "what was counted").of(lambda row: row.counter),
    ResultColumn("launches", "Launches", Unit.COUNT, "launches it was counted in").of(
        lambda row: len(row.values)
    ),
    ResultColumn("total", "Total", meaning="sum over these launches").of(lambda row: row.total),
    ResultColumn("mean", "Mean", meaning="of a launch").of(lambda row: float(row.values.mean())),
    ResultColumn("least", "Least", meaning="of a launch").of(lambda row: float(row.values.min())),
    ResultColumn("most", "Most", meaning="of a launch").of(lambda row: float(row.values.max())),
)


@dataclass(frozen=True)
class Instances:
    """How much each instance of a hardware block counted, over all launches of a kernel."""

    kernel: str
    counter: str
    totals: Mapping[str, float]

    @property
    def mean(self) -> float:
        return sum(self.totals.values()) / len(self.totals)

    @property
    def busiest(self) -> str:
        """The instance with most."""
        return max(self.totals, key=lambda name: self.totals[name])

    @property
    def most(self) -> float:
        return self.totals[self.busiest]


_INSTANCE_COLUMNS: tuple[ColumnOf[Instances], ...] = (
    ResultColumn("kernel", "Kernel", Unit.NAME, "whole demangled name").of(lambda row: row.kernel),
    ResultColumn("counter", "Counter", Unit.NAME, "what was counted").of(lambda row: row.counter),
    ResultColumn("instances", "Instances", Unit.COUNT, "instances of the block that counted").of(
        lambda row: len(row.totals)
    ),
    ResultColumn("total", "Total", meaning="of all instances and launches").of(
        lambda row: sum(row.totals.values())
    ),
    ResultColumn("mean", "Mean", meaning="of an instance, all launches").of(lambda row: row.mean),
    ResultColumn("least", "Least", meaning="of an instance, all launches").of(
        lambda row: min(row.totals.values())
    ),
    ResultColumn("most", "Most", meaning="of an instance, all launches").of(lambda row: row.most),
    ResultColumn("most_of_mean", "Most/mean", meaning="1 where all instances counted the same").of(
        lambda row: row.most / row.mean if row.mean else None
    ),
    ResultColumn("busiest", "Busiest", Unit.NAME, "the instance that counted most").of(
        lambda row: row.busiest if row.most > row.mean else None
    ),
)


def _counted(trace: Trace) -> list[Counted]:
    """What was counted, the kernels with most time first, their counters in the file's order."""
    table = trace.counters
    if not len(table):
        return []
    table.load("op", "name", "value")
    trace.ops.load("id", "name", "start_ns", "end_ns")
    rows, is_known = rows_of_ids(trace.ops["id"], table["op"])
    counters, values = table["name"][is_known], table["value"][is_known]
    rows = rows[is_known]
    kernels = trace.ops["name"][rows]
    pairs, firsts = DistinctRows(2).number((kernels, counters))
    order = np.argsort(pairs, kind="stable")
    ends = np.cumsum(np.bincount(pairs, minlength=len(firsts)))
    parts = np.split(values[order], ends[:-1])
    time_of_kernel: dict[int, int] = {}
    ops = np.unique(rows)
    lengths = trace.ops.duration_ns[ops].tolist()
    for code, length in zip(trace.ops["name"][ops].tolist(), lengths, strict=True):
        time_of_kernel[code] = time_of_kernel.get(code, 0) + length
    found = list(zip(kernels[firsts].tolist(), counters[firsts].tolist(), parts, strict=True))
    found.sort(key=lambda each: (-time_of_kernel[each[0]], each[0]))
    return [
        Counted(trace.strings[kernel] or NO_NAME, trace.strings[counter], values)
        for kernel, counter, values in found
    ]


def _instances(counted: Iterable[Counted]) -> list[Instances]:
    """Counters of several instances: `TCC_HIT[0]`, `TCC_HIT[1]`, ... of a kernel together."""
    totals: dict[tuple[str, str], dict[str, float]] = {}
    for each in counted:
        name = counter_name(each.counter)
        if name is not None and name.is_part:
            base = each.counter.rpartition("[")[0]
            totals.setdefault((each.kernel, base), {})[each.counter] = each.total
    return [Instances(*key, of_instance) for key, of_instance in totals.items()]
