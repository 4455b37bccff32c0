"""Events of the profilers of JAX and TensorFlow: what their args and the names of lanes tell.

Streams of a GPU are lanes of a process that is named after it; other lanes of that process show the
same work by module, operator or step. Numbers are texts in args.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.formats.chrome.event_batch import EventRows, EventTables, json_object
from wavescope.formats.xla_streams import (
    CORRELATION,
    OP_NUMBERS,
    REPEATED_LINES,
    STEP,
    StatValue,
    launch_numbers,
    op_type,
    whole_number,
)
from wavescope.model.builder import TraceBuilder

_INT64_LIMIT = 1 << 63


class XlaEvents:
    """What events of one file tell; `lanes` are the names of its threads and streams, by key."""

    def __init__(
        self, tables: EventTables, lanes: Mapping[tuple[str, str], str], builder: TraceBuilder
    ) -> None:
        self._tables = tables
        self._lanes = lanes
        self._builder = builder

    def on_repeated_lanes(self, rows: EventRows) -> npt.NDArray[np.bool_]:
        """For each row whether its lane shows work of streams another way."""
        keys, lanes = self._tables.keys, self._lanes
        codes = np.stack((rows["process"], rows["thread"]))
        pairs, place = np.unique(codes, axis=1, return_inverse=True)
        is_repeated = [
            min(process, thread) >= 0 and lanes.get((keys[process], keys[thread])) in REPEATED_LINES
            for process, thread in pairs.T.tolist()
        ]
        return np.array(is_repeated, np.bool_)[place.reshape(-1)]

    def op_columns(self, rows: EventRows, names: Array) -> dict[str, Array]:
        """Type, correlation, sizes and grid (in work-items) of what ran on streams."""
        strings, stats = self._builder.strings, self._stats(rows)
        types = [
            op_type(name, each) for name, each in zip(strings.decode(names), stats, strict=True)
        ]
        numbers = np.array([launch_numbers(each) for each in stats], np.int64)
        return {"type": strings.codes(types), **dict(zip(OP_NUMBERS, numbers.T, strict=True))}

    def correlations(self, rows: EventRows) -> npt.NDArray[np.int64]:
        """The number that each call shares with the work it caused, -1 for none."""
        found = [whole_number(each.get(CORRELATION)) for each in self._stats(rows)]
        return np.array(found, np.int64)

    def step_numbers(self, rows: EventRows) -> list[str]:
        """For each host event the number of the step that it is, empty for all others."""
        return [str(each.get(STEP, "")) for each in self._stats(rows)]

    def _stats(self, rows: EventRows) -> list[dict[str, StatValue]]:
        """What each event's args note, numbers that no column can hold left out."""
        return [
            {
                name: value
                for name, value in json_object(text).items()
                if isinstance(value, str) or (isinstance(value, int) and abs(value) < _INT64_LIMIT)
            }
            for text in self._builder.texts(rows.args)
        ]
