"""The records that collectors write: the Python side of native/format/chunk_format.h."""

from __future__ import annotations

import enum
import re
import struct
from dataclasses import dataclass

import numpy as np

MAGIC = b"WAVESCP1"
VERSION = 1
PAGE_BYTES = 4096
HEADER = struct.Struct("<8sIIIIQ")
"""magic, version, stream, record bytes, pid, start of recording in ns"""
TEXT_ENTRY = struct.Struct("<QQ")
"""id and bytes of a text; the text follows, padded to a multiple of 8"""
CONTROL_PAGE = struct.Struct("<8sII")
"""magic, version, whether it records"""
STILL_UNTIL_OFFSET, DROPPING_OFFSET = 16, 24
"""On the control page: until when no record may be dropped (8 bytes), whether one is (4 bytes)"""


@dataclass(frozen=True)
class Stream:
    """One kind of record file: its suffix, its number in the header and its records."""

    suffix: str
    number: int
    record: np.dtype[np.void]
    """What every record of the stream begins with."""
    appended: tuple[tuple[str, str], ...] = ()
    """Fields that follow in the records of some collectors: all of them, or none."""

    def record_of(self, record_bytes: int) -> np.dtype[np.void]:
        """Records in steps of `record_bytes`, with all fields that are so known of them."""
        assert self.record.fields is not None
        fields = {name: field[:2] for name, field in self.record.fields.items()}
        longer = np.dtype([("", self.record), *self.appended])
        assert longer.fields is not None
        if record_bytes >= longer.itemsize:
            fields |= {name: longer.fields[name][:2] for name, _ in self.appended}
        return np.dtype(
            {
                "names": list(fields),
                "formats": [form for form, _ in fields.values()],
                "offsets": [offset for _, offset in fields.values()],
                "itemsize": record_bytes,
            }
        )


OPS = Stream(
    "ops",
    1,
    np.dtype(
        [
            ("kind", "<u1"),
            ("flags", "<u1"),
            ("gpu", "<u2"),
            ("thread", "<u4"),
            ("start", "<u8"),
            ("end", "<u8"),
            ("correlation", "<u8"),
            ("kernel", "<u8"),
            ("grid", "<u4", (3,)),
            ("workgroup", "<u2", (3,)),
            ("queue", "<u2"),
            ("marker", "<u4"),
        ]
    ),
    appended=(("graph_node", "<u8"), ("graph", "<u8")),
)
"""The longer records are those of CUDA programs."""
CALLS = Stream(
    "calls",
    2,
    np.dtype(
        [
            ("kind", "<u1"),
            ("flags", "<u1"),
            ("function", "<u2"),
            ("thread", "<u4"),
            ("start", "<u8"),
            ("end", "<u8"),
            ("correlation", "<u8"),
            ("stream", "<u8"),
            ("result", "<i4"),
            ("marker", "<u4"),
            ("arguments", "<u8", (6,)),
        ]
    ),
)
MARKERS = Stream(
    "markers",
    3,
    np.dtype(
        [
            ("kind", "<u1"),
            ("flags", "<u1"),
            ("depth", "<u2"),
            ("thread", "<u4"),
            ("start", "<u8"),
            ("end", "<u8"),
            ("id", "<u4"),
            ("parent", "<u4"),
            ("text", "<u8"),
            ("correlation", "<u8"),
        ]
    ),
    appended=(
        ("domain", "<u4"),
        ("payload_kind", "<u1"),
        ("spare", "<u1"),
        ("category", "<u2"),
        ("payload", "<u8"),
    ),
)
COUNTERS = Stream(
    "counters",
    4,
    np.dtype(
        [
            ("kind", "<u1"),
            ("spare", "<u1"),
            ("gpu", "<u2"),
            ("queue", "<u4"),
            ("packets", "<u8"),
            ("seen", "<u8"),
            ("timed", "<u8"),
            ("skipped", "<u8", (6,)),
            ("lost", "<u8", (6,)),
        ]
    ),
)
STREAMS = (OPS, CALLS, MARKERS, COUNTERS)
_PENDING_SLOTS = 1024
PENDING = Stream(
    "pending",
    5,
    np.dtype(
        [
            ("filled", "<u8"),
            ("spare", "V4088"),
            ("places", "<u8", (_PENDING_SLOTS,)),
            (
                "signals",
                [
                    ("kind", "<i8"),
                    ("value", "<i8"),
                    ("mailbox", "<u8"),
                    ("event", "<u8"),
                    ("start", "<u8"),
                    ("end", "<u8"),
                    ("reserved", "<u8", (2,)),
                ],
                (_PENDING_SLOTS,),
            ),
            ("records", OPS.record, (_PENDING_SLOTS,)),
        ]
    ),
)
"""Blocks of dispatches in flight: no stream of records like the others."""
MOST_PENDING_BLOCKS = 512
NOWHERE = (1 << 64) - 1
"""The place of a record that was counted as lost."""
BASE_NAME = re.compile(r"(\d{1,10})-(\d{1,20})", re.ASCII)
"""Pid and start of recording: what the names of a process's files begin with."""
TEXT_SUFFIX, FACTS_SUFFIX, CONTROL_SUFFIX = "text", "facts", "control"
SUFFIXES = (
    *(stream.suffix for stream in (*STREAMS, PENDING)),
    TEXT_SUFFIX,
    FACTS_SUFFIX,
    CONTROL_SUFFIX,
)

DROPPED = np.dtype(
    [
        ("records", "<u8"),
        ("entries", "<u8"),
        ("ops", [("gpu", "<u2"), ("queue", "<u2"), ("kind", "<u4"), ("count", "<u8")], (252,)),
    ]
)
"""What follows the header of ops, calls and markers: which of them made room for newer ones."""
ANY_GPU = 0xFFFF
"""The GPU of dropped ops whose queue is not known any more."""

EMPTY = 0
"""The kind of a record that was never completed."""
HOST_DEVICE = 0xFFFFFFFF
COPY_QUEUE = 0xFFFF
ALL_QUEUES = 0xFFFE
"""The queue of counters that count the kernels of a GPU, whatever their queue."""


class OpRecordKind(enum.IntEnum):
    """What an op record is."""

    DISPATCH = 1
    COPY = 2
    FILL = 3
    BARRIER = 4
    GRAPH_RUN = 5


NOTED_OPS = {
    OpRecordKind.COPY: "copies",
    OpRecordKind.FILL: "fills",
    OpRecordKind.BARRIER: "barriers",
    OpRecordKind.GRAPH_RUN: "runs of graphs",
}
"""What ops are called that are not counted as coverage: notes say what is missing of them."""
NOTED_STREAMS = {"calls": CALLS, "markers": MARKERS}
"""The same of records of other streams."""


class OpFlag(enum.IntFlag):
    """What is special about an op record."""

    RAW_TICKS = 1
    APP_SIGNAL = 2
    TIMES_LOST = 4
    GRAPH = 8
    BLOCKS = 16


CALL_KIND = 1
CALL_OPEN = 1


class MarkerRecordKind(enum.IntEnum):
    """What a marker record is."""

    RANGE = 1
    MARK = 2
    OPEN = 3


class MarkerFlag(enum.IntFlag):
    """Where a marker comes from."""

    START_STOP = 1
    OTHER_THREAD = 2
    NVTX = 4
    ABANDONED = 8


PAYLOAD_TYPES = (None, "<u8", "<i8", "<f8", "<u4", "<i4", "<f4")
"""What the bits of a payload are, by its kind: None for none, else in its lowest bytes."""
COUNTER_KIND = 1

SKIP_REASONS = (
    "with a signal of the application, which lite mode leaves alone: use --mode standard",
    "that came in batches, as graph replays do, and were left alone: record again in standard mode",
    "while recording was paused",
    "whose name does not match --kernel",
    "on queues that could not be intercepted",
    "outside the slices of time that lite mode records: use --mode standard",
)
"""By place in a counter record; each reads on after a number of dispatches. Older collectors left
batches alone in standard mode, too."""
SKIP_REASONS_OF_CUDA = (
    SKIP_REASONS[0],
    "in graphs, which lite mode records as a whole: use --mode standard",
    *SKIP_REASONS[2:],
)
"""The same where counters are of all queues of a GPU: there standard mode records graphs, too."""
SKIP_SHARED_SIGNAL = (
    "with a signal that several dispatches count down, in a batch or with --interception own"
)
"""What the first reason is in other modes than lite."""
SKIP_PAUSED = 2
SKIP_FILTER = 3
"""Counted when records are read: collectors record every kernel."""
SKIP_OUTSIDE_SLICES = 5
LOSS_REASONS = (
    "lost because the buffers were full",
    "still running when the process ended",
    "for which the GPU left no times",
    "after the size limit was reached: raise --max-size",
    "for which the disk, or the limit of a file's size, had no more room",
    "whose file in the session folder was gone, cut off or closed to the process",
)
