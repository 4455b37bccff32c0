"""What the tracks of a Perfetto file stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from wavescope.formats.perfetto.protobuf import (
    Process,
    Thread,
    Track,
)
from wavescope.formats.protobuf_wire import (
    integers,
    messages,
    signed,
    texts,
)

UNKNOWN = -1
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True)
class TrackPlace:
    """Where events of a track lie: on a queue of a GPU, or on a thread of a process."""

    is_queue: bool = False
    gpu: int = UNKNOWN
    queue: int = UNKNOWN
    process: int = UNKNOWN
    pid: int = UNKNOWN
    thread: int = UNKNOWN


@dataclass(frozen=True)
class _Described:
    """A TrackDescriptor by another producer."""

    name: str
    parent: int | None
    pid: int
    process_name: str
    thread: int
    thread_name: str


class Tracks:
    """Places by track uuid, from our own details or from Perfetto's descriptors."""

    def __init__(self) -> None:
        self._places: dict[int, TrackPlace] = {}
        self._described: dict[int, _Described] = {}
        self.process_names: dict[int, str] = {}
        """Names of other producers' processes, by pid."""
        self.thread_names: dict[tuple[int, int], str] = {}
        """Names of other producers' threads and tracks, by pid and thread."""

    def describe(self, descriptor: memoryview, details: dict[str, Any] | None) -> None:
        """Take in a TrackDescriptor, with our details when the packet has them."""
        uuid = signed(integers(descriptor).get(Track.UUID, 0))
        if details is None:
            self._described[uuid] = _described(descriptor)
            self._places.pop(uuid, None)
        else:
            self._places[uuid] = TrackPlace(
                is_queue=details.get("track") == "queue",
                gpu=_number(details.get("gpu")),
                queue=_number(details.get("queue")),
                process=_number(details.get("process")),
                pid=_number(details.get("pid")),
                thread=_number(details.get("thread")),
            )

    def place(self, uuid: int) -> TrackPlace:
        """The place of a track; tracks nobody described are unknown threads."""
        if uuid not in self._places:
            self._places[uuid] = self._other_place(uuid)
        return self._places[uuid]

    def _other_place(self, uuid: int) -> TrackPlace:
        """A thread for every track of another producer, real or made up from its uuid."""
        described = self._described.get(uuid)
        if described is None:
            return TrackPlace()
        pid, thread = described.pid, described.thread
        for _ in range(len(self._described)):
            parent = self._described.get(described.parent) if described.parent is not None else None
            if pid != UNKNOWN or parent is None:
                break
            described = parent
            pid = described.pid
        own = self._described[uuid]
        if thread == UNKNOWN:
            thread = uuid & _LARGEST
        self.thread_names[pid, thread] = own.thread_name or own.name
        if pid != UNKNOWN:
            named = described.process_name or self.process_names.get(pid, "")
            self.process_names[pid] = named
        return TrackPlace(pid=pid, thread=thread)


def json_object(text: bytes | memoryview) -> dict[str, Any] | None:
    """A JSON object of ours, None when it is anything else."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _described(descriptor: memoryview) -> _Described:
    numbers = integers(descriptor)
    pid, process_name, thread, thread_name = UNKNOWN, "", UNKNOWN, ""
    for process in messages(descriptor, Track.PROCESS):
        pid = _number(integers(process).get(Process.PID))
        process_name = texts(process).get(Process.PROCESS_NAME, "")
    for message in messages(descriptor, Track.THREAD):
        pid = _number(integers(message).get(Thread.PID))
        thread = _number(integers(message).get(Thread.TID))
        thread_name = texts(message).get(Thread.THREAD_NAME, "")
    return _Described(
        name=texts(descriptor).get(Track.NAME, ""),
        parent=signed(numbers[Track.PARENT_UUID]) if Track.PARENT_UUID in numbers else None,
        pid=pid,
        process_name=process_name,
        thread=thread,
        thread_name=thread_name,
    )


def _number(value: object) -> int:
    """A number of a file as it may stand in a column, -1 for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST:
        return value
    return UNKNOWN
