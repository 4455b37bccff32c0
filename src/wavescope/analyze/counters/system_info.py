"""Panel 1: the machine and the chip of a workload."""

from __future__ import annotations

from wavescope.model.counters import CounterTable
from wavescope.model.result import ResultColumn, ResultTable, Unit

_COLUMNS = (
    ResultColumn("name", "name", Unit.NAME),
    ResultColumn("value", "value", Unit.NONE),
    ResultColumn("source", "source", Unit.NONE, "read from the workload, or assumed for the chip"),
)


def system_info(table: CounterTable) -> ResultTable:
    """All that was noted of the machine, then what was assumed."""
    result = ResultTable("1.1", "1.1 System Info", _COLUMNS)
    for name, text in table.system.items():
        result.rows.append((name, text if text.strip() else "unknown", "sysinfo.csv"))
    for name, value in table.facts.items():
        if not table.system.get(name, "").strip():
            result.rows.append((name, f"{value:g}", "assumed"))
    return result
