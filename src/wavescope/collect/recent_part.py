"""Keeps the newest part of a recording and gives the space of what is older back.

This is done from outside of the program, a few times a second: records that were complete so long
ago that all of them are too old are taken out of the files. What was taken is noted beside them, so
that a trace can say how much there was.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import orjson

from wavescope.formats.session.folder import RECENT_PART, RECENT_PART_DRAFT, process_bases
from wavescope.formats.session.layout import (
    NOTED_OPS,
    NOTED_STREAMS,
    OPS,
    PAGE_BYTES,
    OpFlag,
    OpRecordKind,
)
from wavescope.formats.session.record_file import queue_keys
from wavescope.formats.session.spent_records import (
    can_forget,
    finished_blocks,
    forget_ops,
    opened_stream,
)
from wavescope.formats.session.stillness import LONGEST_NS, boottime_ns, kept_still

_MOST_TIME = (1 << 63) - 1
_LOOKS_PER_PERIOD = 8


@dataclass
class RecentPart:
    """The newest `last_ns` of every process of a session, up to its end."""

    session: Path
    last_ns: int | None = None
    """None keeps all."""
    end_ns: int | None = None
    """When recording ended; None while it goes on."""
    _looked_ns: int = 0
    _read_since_ns: int | None = None
    """When a reader was met that wants the session as it is, and still does."""
    _seen: dict[str, deque[tuple[int, int]]] = field(default_factory=dict)
    """By process: when there were how many op records, the oldest look first."""
    _forgotten: dict[str, int] = field(default_factory=dict)
    """By process: the place before which all op records are given back."""
    _fallen_out: dict[str, Counter[int]] = field(default_factory=dict)
    """By process: the dispatches of each queue that were given back."""
    _fallen_others: dict[str, Counter[str]] = field(default_factory=dict)
    """The same of what is not counted as coverage, by what it is called in notes."""

    _gives_back: bool = True
    """Where the file system cannot make holes all records stay, and readers leave old ones out."""

    def __post_init__(self) -> None:
        self._write(boottime_ns())
        self._gives_back = can_forget(self.session / RECENT_PART)

    def end_at(self, end_ns: int) -> None:
        """What starts from then on is not wanted; the first such moment counts."""
        self.end_ns = end_ns if self.end_ns is None else min(end_ns, self.end_ns)
        self._write(boottime_ns())

    def finish(self) -> None:
        """The program has ended: the newest part is what came before now."""
        self._write(boottime_ns())

    def keep(self, now_ns: int | None = None) -> None:
        """Forget what is too old by now; most calls have nothing to do."""
        now_ns = boottime_ns() if now_ns is None else now_ns
        if self.last_ns is None or self.end_ns is not None or not self._gives_back:
            return
        if now_ns - self._looked_ns < self.last_ns // _LOOKS_PER_PERIOD:
            return
        self._looked_ns = now_ns
        with suppress(OSError):
            self._forget_unless_read(now_ns, now_ns - self.last_ns)

    def _forget_unless_read(self, now_ns: int, before_ns: int) -> None:
        try:
            with kept_still(self.session, wait=False):
                self._read_since_ns = None
                self._forget(now_ns, before_ns)
        except BlockingIOError:
            since_ns = self._read_since_ns = self._read_since_ns or now_ns
            if now_ns - since_ns > LONGEST_NS:  # it may have been stopped
                self._forget(now_ns, before_ns)

    def _forget(self, now_ns: int, before_ns: int) -> None:
        for base in process_bases(path.name for path in self.session.iterdir()):
            self._keep_ops(base, now_ns, before_ns)
            self._keep_finished(base, now_ns, before_ns)
        self._write(now_ns)

    def _keep_ops(self, base: str, now_ns: int, before_ns: int) -> None:
        ops = opened_stream(self.session, base, OPS)
        if ops is None:
            return
        looks = self._seen.setdefault(base, deque())
        end_place = None
        while looks and looks[0][0] <= before_ns:
            end_place = looks.popleft()[1]
        looks.append((now_ns, ops.slot_count))
        first = max(self._forgotten.get(base, 0), ops.first_place)
        if end_place is None or end_place <= first:
            return
        # Whole pages hold whole records only together.
        together = PAGE_BYTES // math.gcd(PAGE_BYTES, ops.record_bytes)
        end_place = end_place // together * together
        fallen = self._fallen_out.setdefault(base, Counter())
        others = self._fallen_others.setdefault(base, Counter())
        for start in range(first, end_place, 1 << 16):
            records = ops.records_at(np.arange(start, min(end_place, start + (1 << 16))))
            # Dispatches without times are counted as lost.
            has_times = records["flags"] & OpFlag.TIMES_LOST == 0
            chosen = records[(records["kind"] == OpRecordKind.DISPATCH) & has_times]
            keys, counts = np.unique(queue_keys(chosen), return_counts=True)
            for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
                fallen[key] += count
            for kind, what in NOTED_OPS.items():
                others[what] += int((records["kind"] == kind).sum())
        self._forgotten[base] = end_place
        self._write(now_ns)
        forget_ops(self.session, base, end_place)

    def _keep_finished(self, base: str, now_ns: int, before_ns: int) -> None:
        found = {
            what: finished_blocks(self.session, base, stream, before_ns)
            for what, stream in NOTED_STREAMS.items()
        }
        if not any(each.blocks for each in found.values()):
            return
        others = self._fallen_others.setdefault(base, Counter())
        others.update({what: each.record_count for what, each in found.items()})
        self._write(now_ns)
        for each in found.values():
            each.forget()

    def _write(self, until_ns: int) -> None:
        state = {
            "last_ns": self.last_ns,
            "until_ns": until_ns if self.end_ns is None else self.end_ns,
            "end_ns": _MOST_TIME if self.end_ns is None else self.end_ns,
            "fallen_out": {
                base: {str(key): count for key, count in counts.items()}
                for base, counts in self._fallen_out.items()
            },
            "fallen_others": self._fallen_others,
        }
        draft = self.session / RECENT_PART_DRAFT
        draft.write_bytes(orjson.dumps(state))
        draft.replace(self.session / RECENT_PART)
