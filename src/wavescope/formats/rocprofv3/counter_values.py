"""Counter values of a trace as rocprofv3 JSON lists them: per dispatch, all its counters.

The values are held in memory, 20 bytes each, since they may come in any order.
"""

from __future__ import annotations

import numpy as np

from wavescope.formats.rocprofv3.symbols import json_text
from wavescope.model.columns import COUNTERS
from wavescope.model.source import Batch, TraceSource, read_columns

_RECORD = (
    '{"thread_id":%d,"dispatch_data":{"size":136,"correlation_id":{"internal":%d,"external":0},'
    '"start_timestamp":%d,"end_timestamp":%d,"dispatch_info":%s},"records":[%s]}'
)


class CounterValues:
    """All counter values of a source, sorted by op."""

    def __init__(self, source: TraceSource) -> None:
        columns = read_columns(source, COUNTERS, ("op", "name", "value"))
        order = np.argsort(columns["op"], kind="stable")
        self._ops = columns["op"][order]
        self._names = columns["name"][order]
        self._values = columns["value"][order]
        self._handles = {
            code: handle for handle, code in enumerate(np.unique(self._names).tolist(), 1)
        }
        self._strings = source.strings

    def descriptions(self) -> list[str]:
        """The `counters` list."""
        return [
            json_text({"size": 0, "id": {"handle": handle}, "name": self._strings[code]})
            for code, handle in self._handles.items()
        ]

    def records(self, batch: Batch, dispatches: list[str], correlations: list[int]) -> list[str]:
        """One record for each op of the batch that has counters."""
        first = np.searchsorted(self._ops, batch["id"], side="left")
        last = np.searchsorted(self._ops, batch["id"], side="right")
        found = []
        for row in np.flatnonzero(last > first).tolist():
            values = ",".join(
                f'{{"counter_id":{{"handle":{self._handles[name]}}},"value":{json_text(value)}}}'
                for name, value in zip(
                    self._names[first[row] : last[row]].tolist(),
                    self._values[first[row] : last[row]].tolist(),
                    strict=True,
                )
            )
            found.append(
                _RECORD
                % (
                    max(int(batch["thread"][row]), 0),
                    correlations[row],
                    batch["start_ns"][row],
                    batch["end_ns"][row],
                    dispatches[row],
                    values,
                )
            )
        return found
