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


@dataclass(frozen=True)
class Stream:
    """One kind of record file: its suffix, its number in the header and its records."""

    suffix: str
    number: int
    record: np.dtype[np.void]


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
)
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

EMPTY = 0
"""The kind of a record that was never completed."""
HOST_DEVICE = 0xFFFFFFFF
COPY_QUEUE = 0xFFFF


class OpRecordKind(enum.IntEnum):
    """What an op record is."""

    DISPATCH = 1
    COPY = 2
    FILL = 3
    BARRIER = 4


class OpFlag(enum.IntFlag):
    """What is special about an op record."""

    RAW_TICKS = 1
    APP_SIGNAL = 2
    TIMES_LOST = 4
    GRAPH = 8


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


COUNTER_KIND = 1

SKIP_REASONS = (
    "with a signal of the application, which lite mode leaves alone: use --mode standard",
    "replayed from graphs, which only full mode records: use --mode full",
    "while recording was paused",
    "whose name does not match --kernel",
    "on queues that could not be intercepted",
    "skipped for a reason that this version does not know",
)
"""By place in a counter record; each reads on after a number of dispatches."""
SKIP_PAUSED = 2
LOSS_REASONS = (
    "lost because the buffers were full",
    "still running when the process ended",
    "for which the GPU left no times",
    "after the size limit was reached: raise --max-size",
    "for which the disk, or the limit of a file's size, had no more room",
    "whose file in the session folder was gone, cut off or closed to the process",
)
