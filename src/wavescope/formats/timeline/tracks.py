"""The tracks of a timeline: GPUs with their queues and counters, processes with their threads.

All tracks get their names and places here, before the first slice is written. GPUs come first, in
order of their number; processes follow by rank; queues and threads are in order of their numbers.
Slices that overlap on one track are placed side by side, on further tracks: its lanes.
"""

from __future__ import annotations

import enum
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from wavescope.formats.timeline.survey import Survey, pid_of_key
from wavescope.model.columns import AGENTS, PROCESSES, QUEUES, THREADS, ColumnType, Table
from wavescope.model.source import TraceSource, read_columns
from wavescope.native import columns_library

_PROCESS_COLUMNS = ("id", "pid", "rank", "host", "name", "command")
_AGENT_COLUMNS = ("gpu", "host", "model", "chip")
_LARGEST = (1 << 31) - 1
MOST_TRACKS = 10_000
"""Queues (and threads) beyond this many share the last track."""
MOST_COUNTERS = 256
"""Counters are written for this many queues, and for this many GPUs, at most."""
_LARGEST_RANK = (1 << 31) - 1


def table_rows(
    source: TraceSource, table: Table, columns: tuple[str, ...]
) -> Iterator[tuple[int | str, ...]]:
    """The rows of a small table, names as text."""
    batch = read_columns(source, table, columns)
    values: list[list[int] | list[str]] = [
        source.strings.decode(batch[name])
        if table.column(name).type is ColumnType.STRING
        else batch[name].tolist()
        for name in columns
    ]
    return zip(*values, strict=True)


class TrackLabels:
    """Names by number, from the tables of a trace, or something readable where they are silent."""

    def __init__(self, source: TraceSource) -> None:
        self._processes = {row[0]: row for row in table_rows(source, PROCESSES, _PROCESS_COLUMNS)}
        self._threads = {
            (process, thread): str(name)
            for process, thread, name in table_rows(source, THREADS, ("process", "thread", "name"))
        }
        self._agents = {
            gpu: (str(host), str(model) or str(chip))
            for gpu, host, model, chip in table_rows(source, AGENTS, _AGENT_COLUMNS)
        }
        self._queues = {
            (gpu, queue): str(name)
            for gpu, queue, name in table_rows(source, QUEUES, ("gpu", "queue", "name"))
        }
        hosts = {host for host, _ in self._agents.values()}
        hosts |= {str(row[3]) for row in self._processes.values()}
        self._several_hosts = len(hosts - {""}) > 1

    @property
    def pids(self) -> list[int]:
        """The pids of all listed processes."""
        return [int(row[1]) for row in self._processes.values()]

    def gpu(self, gpu: int, digits: int) -> str:
        """A GPU; numbers are padded to `digits`, because viewers sort by name."""
        host, model = self._agents.get(gpu, ("", ""))
        number = f"GPU {gpu:0{digits}d}" if gpu >= 0 else "unknown GPU"
        parts = [number, model, f"on {host}" if host and self._several_hosts else ""]
        return " ".join(part for part in parts if part)

    def queue(self, gpu: int, queue: int) -> str:
        """A queue of a GPU."""
        return self._queues.get((gpu, queue), "") or f"queue {queue}"

    def process(self, key: int) -> str:
        """A process, by its key (see `ProcessKeys`)."""
        if key not in self._processes:
            unlisted = pid_of_key(key)
            return f"process {unlisted}" if unlisted >= 0 else "unknown process"
        _, pid, rank, host, name, command = self._processes[key]
        words = str(command).split()
        parts = [
            f"rank {rank}" if int(rank) >= 0 else "",
            str(name) or (words[0].rsplit("/", 1)[-1] if words else f"process {pid}"),
            f"on {host}" if host and self._several_hosts else "",
        ]
        return " ".join(part for part in parts if part)

    def process_rank(self, key: int) -> int:
        """Where a process stands among the others: its rank, else its id."""
        if key not in self._processes:
            return len(self._processes)
        rank = int(self._processes[key][2])
        return rank if rank >= 0 else key

    def pid(self, key: int) -> int:
        """The real pid of a process, -1 when unknown."""
        return int(self._processes[key][1]) if key in self._processes else pid_of_key(key)

    def thread(self, key: int, thread: int) -> str:
        """A thread of a process."""
        name = self._threads.get((key, thread), "")
        return name or (f"thread {thread}" if thread >= 0 else "unknown thread")


class ShownIds:
    """Gives every process and every thread (or lane) a number in 1 .. 2**31 - 1 of its own.

    Viewers take a thread whose id is 0 or the id of another process for something else, and ids of
    merged traces may collide or exceed 32 bits; such threads and processes get a made-up number.
    """

    def __init__(self, pids: Iterable[int], tids: Iterable[int]) -> None:
        self._pids = {pid for pid in pids if 0 < pid <= _LARGEST}
        self._reserved = self._pids | {tid for tid in tids if 0 < tid <= _LARGEST}
        self._shown_pids: set[int] = set()
        self._shown_tids: set[int] = set()
        self._next = 1

    def fresh(self) -> int:
        """A number that no process or thread of the trace has."""
        while self._next in self._reserved:
            self._next += 1
        self._next += 1
        return self._next - 1

    def process(self, pid: int) -> int:
        """The number to show for a process with this pid; the first of several keeps it."""
        if pid not in self._pids or pid in self._shown_pids:
            return self.fresh()
        self._shown_pids.add(pid)
        return pid

    def thread(self, tid: int, shown_pid: int) -> int:
        """The number to show for a thread of the process shown as `shown_pid`."""
        clashes = tid in self._shown_tids or (tid in self._pids and tid != shown_pid)
        if not 0 < tid <= _LARGEST or clashes:
            return self.fresh()
        self._shown_tids.add(tid)
        return tid


class TrackKind(enum.Enum):
    """What a track shows."""

    GPU = "gpu"
    QUEUE = "queue"
    GPU_BUSY = "gpu_busy"
    QUEUE_DEPTH = "queue_depth"
    PROCESS = "process"
    THREAD = "thread"


@dataclass(frozen=True)
class Track:
    """One track; `pid` and `tid` are the numbers to show, see `ShownIds`."""

    index: int
    kind: TrackKind
    name: str
    parent: int
    """Index of the track it belongs to, -1 at the top."""
    rank: int
    """Place among the tracks of the same parent."""
    pid: int
    tid: int = 0
    gpu: int = -1
    queue: int = -1
    process: int = -1
    """Process key, see `ProcessKeys`."""
    thread: int = -1
    lane: int = 0

    @property
    def unlisted_pid(self) -> int:
        """The pid of a process that the trace does not list, -1 for others."""
        return pid_of_key(self.process)

    @property
    def details(self) -> dict[str, int | str]:
        """What the track stands for, for our own readers."""
        if self.kind in (TrackKind.PROCESS, TrackKind.THREAD):
            return {
                "track": self.kind.value,
                "process": max(self.process, -1),
                "pid": self.unlisted_pid,
                "thread": self.thread,
            }
        return {"track": self.kind.value, "gpu": self.gpu, "queue": self.queue}

    @property
    def shown_name(self) -> str:
        """The name with the lane in it: for formats that do not merge lanes."""
        return self.name if self.lane == 0 else f"{self.name} (lane {self.lane + 1})"


class TrackLayout:
    """All tracks, and which of them each queue and thread of the survey has."""

    def __init__(self, source: TraceSource, survey: Survey) -> None:
        self._labels = TrackLabels(source)
        pids = [*self._labels.pids, *(self._labels.pid(key) for key, _ in survey.threads.keys)]
        self._ids = ShownIds(pids, (thread for _, thread in survey.threads.keys))
        self.tracks: list[Track] = []
        self.queue_tracks = np.zeros(len(survey.queues.keys), np.int64)
        """Index of each queue's track, by the queue's number in the survey."""
        self.thread_tracks = np.zeros(len(survey.threads.keys), np.int64)
        self.gpu_of_queue = np.zeros(len(survey.queues.keys), np.int32)
        """Place of each queue's GPU among `busy_tracks`."""
        self.busy_tracks: list[Track] = []
        self.depth_tracks: list[Track] = []
        self.depth_of_queue = np.full(len(survey.queues.keys), -1, np.int32)
        """Place of each queue's counter among `depth_tracks`, -1 for none."""
        self.without_track = 0
        """Queues and threads for which there are no tracks of their own."""
        self._add_queues(survey.queues.keys)
        self._add_threads(survey.threads.keys)
        self._count = len(self.tracks)

    def lane_track(self, track: Track, lane: int) -> Track:
        """A further track beside `track`, for slices that overlap those on it."""
        self._count += 1
        parent = track.index if track.kind is TrackKind.THREAD else track.parent
        return replace(
            track, index=self._count - 1, parent=parent, tid=self._ids.fresh(), lane=lane
        )

    def _add(self, kind: TrackKind, name: str, rank: int, pid: int, **values: int) -> Track:
        parent = values.pop("parent", -1)
        rank = min(rank, _LARGEST_RANK)
        track = Track(len(self.tracks), kind, name, parent, rank, pid, **values)
        self.tracks.append(track)
        return track

    def _add_queues(self, keys: list[tuple[int, ...]]) -> None:
        digits = len(str(max((gpu for gpu, _ in keys), default=0)))
        gpu_tracks: dict[int, Track] = {}
        order = sorted(range(len(keys)), key=keys.__getitem__)
        for rank, number in enumerate(order[:MOST_TRACKS]):
            gpu, queue = keys[number]
            if gpu not in gpu_tracks:
                gpu_tracks[gpu] = self._add_gpu(gpu, digits, len(gpu_tracks))
            track = self._add_queue(gpu_tracks[gpu], queue, number, 2 * rank + 1)
            self.queue_tracks[number] = track.index
            self.gpu_of_queue[number] = len(gpu_tracks) - 1
        self.without_track += len(order[MOST_TRACKS:])
        self.queue_tracks[order[MOST_TRACKS:]] = len(self.tracks) - 1
        self.gpu_of_queue[order[MOST_TRACKS:]] = MOST_COUNTERS

    def _add_gpu(self, gpu: int, digits: int, rank: int) -> Track:
        name = self._labels.gpu(gpu, digits)
        track = self._add(TrackKind.GPU, name, rank, self._ids.fresh(), gpu=gpu)
        if rank < MOST_COUNTERS:
            busy = self._add(
                TrackKind.GPU_BUSY, "GPU busy", 0, track.pid, parent=track.index, gpu=gpu
            )
            self.busy_tracks.append(busy)
        return track

    def _add_queue(self, gpu: Track, queue: int, number: int, rank: int) -> Track:
        name = self._labels.queue(gpu.gpu, queue)
        place = {"parent": gpu.index, "gpu": gpu.gpu, "queue": queue}
        if len(self.depth_tracks) < MOST_COUNTERS:
            self.depth_of_queue[number] = len(self.depth_tracks)
            depth = self._add(TrackKind.QUEUE_DEPTH, f"{name} depth", rank + 1, gpu.pid, **place)
            self.depth_tracks.append(depth)
        return self._add(TrackKind.QUEUE, name, rank, gpu.pid, tid=self._ids.fresh(), **place)

    def _add_threads(self, keys: list[tuple[int, ...]]) -> None:
        process_tracks: dict[int, Track] = {}
        order = sorted(range(len(keys)), key=keys.__getitem__)
        for rank, number in enumerate(order[:MOST_TRACKS]):
            key, thread = keys[number]
            if key not in process_tracks:
                process_tracks[key] = self._add_process(key)
            process = process_tracks[key]
            track = self._add(
                TrackKind.THREAD,
                self._labels.thread(key, thread),
                rank,
                process.pid,
                tid=self._ids.thread(thread, process.pid),
                parent=process.index,
                process=key,
                thread=thread,
            )
            self.thread_tracks[number] = track.index
        self.without_track += len(order[MOST_TRACKS:])
        self.thread_tracks[order[MOST_TRACKS:]] = len(self.tracks) - 1

    def _add_process(self, key: int) -> Track:
        rank = MOST_COUNTERS + self._labels.process_rank(key)
        pid = self._ids.process(self._labels.pid(key))
        return self._add(TrackKind.PROCESS, self._labels.process(key), rank, pid, process=key)


NESTED_LANES = 32
"""On so many lanes a slice is looked for a place inside another one; further lanes are flat."""
Int64s = npt.NDArray[np.int64]


class Lanes:
    """Assigns lanes per track; `nested` also allows a slice inside the one open on its lane.

    Rows come in order of their start over all calls (nested: of equal starts the longest first).
    """

    def __init__(self, *, nested: bool) -> None:
        self._library = columns_library()
        self._handle = self._library.wavescope_lanes_open(nested)
        if not self._handle:
            raise MemoryError
        weakref.finalize(self, self._library.wavescope_lanes_close, self._handle)

    def assign(
        self,
        tracks: npt.NDArray[np.int32],
        start_ns: npt.NDArray[np.int64],
        end_ns: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int32]:
        """The lane of each row, counted from 0 on each track."""
        lanes = np.empty(len(tracks), np.int32)
        if self._library.wavescope_lanes_assign(
            self._handle, len(tracks), tracks, start_ns, end_ns, lanes
        ):
            raise MemoryError
        return lanes


class LaneTracks:
    """Assigns slices to tracks and their lanes; `nested` as in `Lanes`."""

    def __init__(
        self, layout: TrackLayout, declare: Callable[[Track], None], *, nested: bool
    ) -> None:
        self._layout = layout
        self._declare = declare
        self._lanes = Lanes(nested=nested)
        self._indexes: dict[int, int] = {}

    def assign(self, tracks: Int64s, start_ns: Int64s, end_ns: Int64s) -> Int64s:
        """The track index of each slice, which is its own track's as long as nothing overlaps."""
        lanes = self._lanes.assign(tracks.astype(np.int32), start_ns, end_ns)
        beside = np.flatnonzero(lanes)
        if not len(beside):
            return tracks
        keys, which = np.unique(tracks[beside] << 32 | lanes[beside], return_inverse=True)
        indexes = np.array([self._index(key) for key in keys.tolist()], np.int64)
        assigned = tracks.copy()
        assigned[beside] = indexes[which]
        return assigned

    def _index(self, key: int) -> int:
        if key not in self._indexes:
            track = self._layout.tracks[key >> 32]
            lane = self._layout.lane_track(track, key & 0xFFFF_FFFF)
            self._declare(lane)
            self._indexes[key] = lane.index
        return self._indexes[key]
