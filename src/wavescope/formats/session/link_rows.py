"""Which call caused which op: both carry the same correlation.

The calls are looked up in parts by their correlation, so that memory stays bounded whatever the
number of calls; each part is a pass over the records.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.session.call_rows import CallRows
from wavescope.formats.session.op_rows import OpRows
from wavescope.model.source import Batch

CALLS_IN_MEMORY = 1 << 22


def link_batches(
    calls: CallRows, ops: OpRows, call_count: int, rows: int, calls_in_memory: int = CALLS_IN_MEMORY
) -> Iterator[Batch]:
    """Pairs of call id and op id of one process."""
    parts = -(-call_count // calls_in_memory)
    for part in range(parts):
        keys, ids = _calls_of_part(calls, part, parts, rows)
        if not len(keys):
            continue
        for batch in ops.batches(("id", "correlation"), rows):
            wanted = batch["correlation"]
            places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found = (keys[places] == wanted) & (wanted > 0)
            if found.any():
                yield {"call": ids[places[found]], "op": batch["id"][found]}


def _calls_of_part(calls: CallRows, part: int, parts: int, rows: int) -> tuple[Array, Array]:
    """Correlations in increasing order, and the ids of their calls."""
    keys, ids = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for block in calls.blocks(rows):
        correlations = block.records["correlation"].astype(np.int64)
        chosen = (correlations > 0) & (correlations % parts == part)
        keys.append(correlations[chosen])
        ids.append(block.places[chosen] + calls.first_id)
    all_keys, all_ids = np.concatenate(keys), np.concatenate(ids)
    order = np.argsort(all_keys, kind="stable")
    return all_keys[order], all_ids[order]
