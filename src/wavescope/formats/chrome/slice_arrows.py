"""Arrows from calls to ops in our own exports, which write each directly after its slice."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.formats.chrome.arrows import FLOW_END, FLOW_START
from wavescope.formats.chrome.event_batch import ID_NUMBER, EventBatch
from wavescope.formats.chrome.links import KeyedLinks, OpCauses, has_key
from wavescope.model.columns import UNKNOWN

_COMPLETE_PHASE = ord("X")
_LANE = ("process", "thread", "start_ns")

Int64s = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class SliceArrows:
    """Arrows that follow directly after the slice at their end, as our own exporter writes them."""

    def __init__(self, links: KeyedLinks) -> None:
        self._links = links
        self._last = dict.fromkeys(("call", "op", "name", *_LANE), UNKNOWN)
        """The last slice of the batch before."""

    def add(self, batch: EventBatch, call: Int64s, op: Int64s) -> Mask:
        """Take the arrows at slices; which events of the batch they are.

        `call` and `op` are the ids that the events became, UNKNOWN for what they are not.
        """
        phase = batch["phase"]
        before = np.arange(1, batch.rows + 1)
        before = np.maximum.accumulate(np.where(phase == _COMPLETE_PHASE, before, 0))
        slices = {"call": call, "op": op, **{name: batch[name] for name in ("name", *_LANE)}}
        slices = {
            name: np.concatenate(([self._last[name]], values)) for name, values in slices.items()
        }
        self._last = {name: int(values[before[-1]]) for name, values in slices.items()}
        is_arrow = (batch["id_kind"] == ID_NUMBER) & has_key(batch["id"])
        for name in _LANE:
            is_arrow &= slices[name][before] == batch[name]
        starts = np.flatnonzero(is_arrow & (phase == FLOW_START) & (slices["call"][before] >= 0))
        ends = np.flatnonzero(is_arrow & (phase == FLOW_END) & (slices["op"][before] >= 0))
        cause = OpCauses(
            *(slices[name][before[starts]] for name in ("call", "name", "process", "thread"))
        )
        self._links.add_calls(batch["id"][starts], np.zeros(len(starts), np.int8), cause)
        self._links.add_ops(batch["id"][ends], slices["op"][before[ends]])
        taken = np.zeros(batch.rows, np.bool_)
        taken[starts] = taken[ends] = True
        return taken
